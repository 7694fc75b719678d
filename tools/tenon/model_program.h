// SPDX-License-Identifier: Apache-2.0
// The program of the model that a command works on: decided about, compiled, or compiled and loaded.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "artifact/model.h"
#include "compile/compile.h"
#include "compile/task_list.h"
#include "onnx/import.h"
#include "support/private_folder.h"
#include "tools/tenon/console.h"
#include "tools/tenon/model_options.h"

namespace tenon::tools {

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
  double import_s = 0;  // of several sizes: of the first
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
