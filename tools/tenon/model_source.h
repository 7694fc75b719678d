// SPDX-License-Identifier: Apache-2.0
// The model that a command works on: an ONNX file ('-': standard input) or an artifact that was
// compiled before.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "artifact/model.h"
#include "compile/compile.h"
#include "compile/task_list.h"
#include "onnx/import.h"
#include "onnx/sizes.h"
#include "support/private_folder.h"
#include "tools/tenon/console.h"
#include "tools/tenon/instant_source.h"

namespace tenon::tools {

struct ModelOptions {
  std::string path;
  std::vector<std::string> dims;    // "batch=1", "batch=1..8"
  std::vector<std::string> shapes;  // "x:1x3x224x224" or "x[1..8,3,224,224]"
  onnx::Sizes batch = {1};          // of a batch that nothing is said about
  bool sizes_told = false;  // those of such a batch: a model for several targets tells them once
  std::vector<std::string> binds;  // "name=16000", "name=@file.npy"
  std::string target = "host";
  std::string lock;                // lock file, or the folder of an artifact
  plan::NetworkPlan records;       // used where the lock has no program
  std::string records_from;        // the database that they are of, for people
  std::set<std::string> judged;    // tasks that the run of the records has kept something for
  plan::LayoutTimes layout_times;  // of the same records; not used beside a lock
  bool frozen = false;
  bool no_fuse = false;
  std::string accuracy = "default";
  std::string optimize = "speed";  // or "memory"
  std::string schedules =
      "template";  // or "instant", for tasks without a program of the lock or the records
  InstantSource instant;
  int compile_threads = 0;
};

// What a command works on.
enum class Takes { kModel, kModelOrArtifact };
// The model itself (positional or -m; it is returned), --dims, --shape, --bind.
CLI::Option* add_import_options(CLI::App& command, ModelOptions& options,
                                Takes takes = Takes::kModelOrArtifact);
// --dims, --shape, --bind.
void add_shape_options(CLI::App& command, ModelOptions& options);
// --target, --lock, --no-fuse, --compile-threads.
void add_build_options(CLI::App& command, ModelOptions& options);
// The same and --frozen.
void add_compile_options(CLI::App& command, ModelOptions& options);

// "a=1,b=2..8" and repeated, a list as "a=1,2,4"; throws UserError.
std::map<std::string, onnx::Sizes> parse_dims(const std::vector<std::string>& texts);
// "a:1x3,b[2..8,4]" and repeated; a name may hold colons.
std::map<std::string, std::vector<onnx::Sizes>> parse_shapes(const std::vector<std::string>& texts);

// A model and the sizes that it is asked for. What is wrong with the file ends in exit code 3, what is wrong with the
// options in 2.
struct Opened {
  onnx::Source source;
  onnx::OpenSizes sizes;
};
Opened open_model(const ModelOptions& options);

// A folder, or a manifest in one.
bool is_artifact(const std::string& path);

// The inputs of an artifact at the sizes of --dims and --shape; open ones that are not said are the largest. Of a model that
// was compiled for this command: as it was compiled.
std::vector<artifact::TensorInfo> inputs_at(const artifact::Model& model,
                                            const ModelOptions& options);

// What is wrong with the model ends in exit code 3; one line per node goes to stderr.
onnx::Imported import_model(const ModelOptions& options, const Console& console);
// The same without the lines: nodes that cannot be imported are an onnx::ImportError.
onnx::Imported import_quietly(const ModelOptions& options);
// "  opset 17"; nothing where the file imports none of the standard's.
std::string opset_text(const onnx::ModelInfo& info);
void print_problems(const std::vector<onnx::Problem>& problems, const Console& console);

// `name`, or one made from the file's. Throws UserError if it is no C identifier, too long, or a name of the system's.
std::string model_name(const ModelOptions& options, const std::string& name);
// Says why the name is not the file's, where it is not: m.onnx does not become libm.so.
void tell_name(const ModelOptions& options, const std::string& name, const Console& console);
// What artifact::Program::provenance says of the model.
std::vector<std::pair<std::string, std::string>> provenance(const ModelOptions& options,
                                                            const onnx::ModelInfo& info);

templates::Accuracy accuracy_of(const ModelOptions& options);
// --target, with what only --accuracy fast makes use of.
target::Target target_of(const ModelOptions& options);

// A model that was decided about; nothing is lowered.
struct Planned {
  plan::Network network;
  compile::Options options;  // that it was decided by
  onnx::ModelInfo info;
  double import_s = 0;
  double decide_s = 0;
};
// A missing schedule under --frozen ends in exit code 8. `name` may be empty: made from the file's.
Planned plan_model(const ModelOptions& options, const std::string& name, const Console& console);

struct Compiled {
  artifact::Program program;
  onnx::ModelInfo info;
  double import_s = 0;
  double compile_s = 0;
};
// Plans and builds, for several sizes where they are asked for.
Compiled compile_model(const ModelOptions& options, const std::string& name,
                       const Console& console);

// The distinct computations of a model or an artifact.
compile::TaskList load_tasks(const ModelOptions& options, const Console& console);

// An artifact is loaded as it is; a model is compiled into a folder that lives as long as this.
class LoadedModel {
 public:
  LoadedModel(const ModelOptions& options, const Console& console);
  const artifact::Model& model() const { return *model_; }
  bool compiled_here() const { return folder_.has_value(); }

 private:
  std::optional<PrivateFolder> folder_;
  std::unique_ptr<artifact::Model> model_;
};

}  // namespace tenon::tools
