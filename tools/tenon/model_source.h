// SPDX-License-Identifier: Apache-2.0
// The model that a command works on: an ONNX file ('-': standard input) or an artifact that was
// compiled before.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "artifact/model.h"
#include "onnx/import.h"
#include "onnx/sizes.h"
#include "tools/tenon/console.h"
#include "tools/tenon/model_options.h"

namespace tenon::tools {

// A model and the sizes that it is asked for. What is wrong with the file ends in exit code 3, what is wrong with the
// options in 2.
struct Opened {
  onnx::Source source;
  onnx::OpenSizes sizes;
};
Opened open_model(const ModelOptions& options);

// Throws UserError where there is no such file.
void check_readable(const std::string& path);
// A folder, or a manifest in one.
bool is_artifact(const std::string& path);

// The inputs of an artifact at the sizes of --dims and --shape; open ones that are not said are the largest. Of a model that
// was compiled for this command: as it was compiled.
std::vector<artifact::TensorInfo> inputs_at(const artifact::Model& model,
                                            const ModelOptions& options);

// One size of each dimension; throws UserError where there are several.
onnx::ImportOptions sole_sizes(const onnx::OpenSizes& sizes);
// What is wrong with the file ends in exit code 3; nodes that cannot be imported are an onnx::ImportError.
onnx::Imported import_sizes(const Opened& opened, const onnx::ImportOptions& sizes);
// One line per node goes to stderr, and the command ends in exit code 3. `where` is the sizes that it was imported at, if
// there are several: " at seq=600".
[[noreturn]] void end_import(const onnx::ImportError& error, const ModelOptions& options,
                             const Console& console, const std::string& where = "");

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

}  // namespace tenon::tools
