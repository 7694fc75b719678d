// SPDX-License-Identifier: Apache-2.0
// Where `tenon compare` takes the right answers from.
#include "artifact/model.h"
#include "support/private_folder.h"
#include "tools/tenon/commands/compare/parts.h"
#include "tools/tenon/commands/compare/reference_command.h"
#include "tools/tenon/commands/compare/same_tensors.h"
#include "tools/tenon/model_source.h"
#include "tools/tenon/tensors.h"

namespace tenon::tools {
namespace {

bool is_recorded(const std::string& reference) {
  return reference.starts_with("file:") || reference.ends_with(".npz") ||
         reference.ends_with(".npy") ||
         (reference != "auto" && reference != "interp" && reference != "plain" &&
          !reference.starts_with("cmd:"));
}

}  // namespace

bool needs_graph(const CompareOptions& options) {
  const std::string& r = options.reference;
  const bool oracle = r == "auto" || r == "interp" || r == "plain";
  return options.bisect || (oracle && !is_artifact(options.model.path));
}

compile::Oracle oracle_of(const std::string& reference, const graph::Graph& g) {
  return reference == "interp"  ? compile::Oracle::kInterpreter
         : reference == "plain" ? compile::Oracle::kPlain
                                : compile::choose_oracle(g);
}

std::vector<ir::Array> reference_outputs(const CompareOptions& options, const graph::Graph* g,
                                         const artifact::Model& model,
                                         const std::vector<artifact::TensorInfo>& outputs,
                                         const std::vector<ir::Array>& inputs, std::string& name) {
  name = options.reference;
  if (is_recorded(options.reference)) {
    const size_t skip = options.reference.starts_with("file:") ? 5 : 0;
    return load_outputs(options.reference.substr(skip), outputs);
  }
  if (options.reference.starts_with("cmd:")) {
    const auto folder = PrivateFolder::temporary("compare");
    const std::string in = (folder.path() / "inputs.npz").string();
    const std::string out = (folder.path() / "outputs.npz").string();
    save_outputs(in, model.inputs(), inputs);
    run_reference_command(options.reference.substr(4), in, out);
    return load_outputs(out, outputs);
  }
  if (g != nullptr) {
    const compile::Oracle oracle = oracle_of(options.reference, *g);
    name = to_string(oracle);
    return run_oracle(oracle, *g, inputs);
  }
  if (options.package.empty() || options.reference != "auto") {
    throw UserError("an artifact alone has no reference",
                    "give the ONNX model first, or --reference FILE.npz, a folder, or cmd:'...'");
  }
  name = options.model.path;
  artifact::Session session(artifact::Model::load(options.model.path), options.threads);
  std::vector<ir::Array> results = session.run(inputs);
  Side reference{options.model.path, {}};
  for (size_t i = 0; i < results.size(); ++i) reference.tensors.push_back(session.output(i));
  require_same_tensors("output", reference, {options.package, outputs});
  return results;
}

}  // namespace tenon::tools
