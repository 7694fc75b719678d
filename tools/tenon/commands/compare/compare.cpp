// SPDX-License-Identifier: Apache-2.0
// tenon compare: are a model's numbers right, and if not, where do they go wrong first?
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "tools/tenon/command.h"
#include "tools/tenon/commands/compare/parts.h"
#include "tools/tenon/commands/compare/same_tensors.h"
#include "tools/tenon/model_program.h"
#include "tools/tenon/model_source.h"
#include "tools/tenon/tensors.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

Compared compare_arrays(const CompareOptions& options,
                        const std::vector<artifact::TensorInfo>& tensors,
                        const std::vector<ir::Array>& got,
                        const std::vector<ir::Array>& reference) {
  Compared c;
  c.tensors = tensors;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].dtype() != reference[i].dtype() || got[i].shape() != reference[i].shape()) {
      throw CommandError(
          kExitMismatch,
          fmt::format("output '{}' has another type or shape than its reference", tensors[i].name));
    }
    c.differences.push_back(
        differ(got[i], reference[i], tolerance_of(got[i].dtype(), options.rtol, options.atol)));
  }
  return c;
}

// The model at the sizes of the artifact where none are given; open ones at the largest.
ModelOptions sized_like(const CompareOptions& options, const artifact::Model& model) {
  ModelOptions sized = options.model;
  const bool given = !sized.dims.empty() || !sized.shapes.empty() || sized.path == "-";
  if (options.package.empty() || given || is_artifact(sized.path)) return sized;
  const std::vector<onnx::StatedInput> inputs = open_model(sized).source.inputs();
  for (const artifact::TensorInfo& t : model.inputs()) {
    const bool open = std::any_of(inputs.begin(), inputs.end(), [&](const onnx::StatedInput& in) {
      return in.name == t.name && std::count(in.shape.begin(), in.shape.end(), -1) > 0;
    });
    if (!open) continue;
    sized.shapes.push_back(fmt::format("{}[{}]", t.name, fmt::join(t.shape, ",")));
  }
  return sized;
}

// Open sizes of an artifact are those that the model was imported with.
std::vector<artifact::TensorInfo> tested_inputs(const artifact::Model& model,
                                                const ModelOptions& options,
                                                const graph::Graph* g) {
  if (g == nullptr) return inputs_at(model, options);
  std::vector<artifact::TensorInfo> inputs = model.inputs();
  for (size_t i = 0; i < inputs.size() && i < g->inputs.size(); ++i) {
    const graph::Shape& asked = g->value(g->inputs[i]).shape;
    const bool open = !inputs[i].dims.empty() || !inputs[i].sums.empty();
    if (open && inputs[i].shape.size() == asked.size()) inputs[i].shape = asked;
  }
  return inputs;
}

int compare_command(const CompareOptions& options, const Console& console) {
  if (options.bisect && is_artifact(options.model.path)) {
    throw UserError("--bisect needs the ONNX model", "tenon compare MODEL.onnx ARTIFACT --bisect");
  }
  ModelOptions tested = options.model;
  tested.path = options.package.empty() ? options.model.path : options.package;
  const LoadedModel loaded(tested, console);
  std::optional<onnx::Imported> imported;
  if (needs_graph(options)) {
    imported = import_model(sized_like(options, loaded.model()), console);
  }
  const graph::Graph* g = imported ? &imported->graph : nullptr;
  const std::vector<artifact::TensorInfo> taken = tested_inputs(loaded.model(), tested, g);
  if (g != nullptr) {
    require_same_tensors("input", side_of(options.model.path, *g, g->inputs), {tested.path, taken});
  }
  const std::vector<ir::Array> inputs = load_inputs(options.inputs, taken, loaded.model().dims());
  artifact::Session session(loaded.model(), options.threads);
  std::string name;
  const std::vector<ir::Array> got = session.run(inputs);
  std::vector<artifact::TensorInfo> outputs;
  for (size_t i = 0; i < got.size(); ++i) {
    outputs.push_back(session.output_given(i));
  }
  if (g != nullptr) {
    require_same_tensors("output", side_of(options.model.path, *g, g->outputs),
                         {tested.path, outputs});
  }
  const std::vector<ir::Array> want =
      reference_outputs(options, g, loaded.model(), outputs, inputs, name);
  Compared compared = compare_arrays(options, outputs, got, want);
  compared.reference = name;
  std::optional<Bisected> bisected;
  if (options.bisect && !compared.matches()) {
    bisected = bisect(options, *g, inputs, console);
  }
  console.answer(answer_text(compared, bisected, console.json()));
  return compared.passes() ? kExitOk : kExitMismatch;
}

// The parser's own check names the largest double, all of its digits.
std::string not_negative(const std::string& text) {
  double value = 0;
  const bool fine = CLI::detail::lexical_cast(text, value) && value >= 0;
  return fine ? "" : fmt::format("'{}' is no tolerance: 0 or more is wanted", text);
}

}  // namespace

Run add_compare(CLI::App& command, Console& console) {
  const auto options = std::make_shared<CompareOptions>();
  add_import_options(command, options->model);
  command.add_option("artifact", options->package,
                     "What to test (default: the model, compiled now)");
  command
      .add_option("--reference", options->reference,
                  "interp, plain, FILE.npz, a folder with output_N.pb, or cmd:'COMMAND {inputs} "
                  "{outputs}'; auto "
                  "is interp for small models and plain for others")
      ->capture_default_str()
      ->type_name("WHAT");
  add_input_options(command, options->inputs);
  command
      .add_option("--rtol", options->rtol,
                  "Allowed difference, relative (default: 1e-3; 0 for integers)")
      ->check(CLI::Validator(not_negative, ""))
      ->type_name("R");
  command
      .add_option(
          "--atol", options->atol,
          "Allowed difference, absolute (default: 1e-4 of the largest value; 0 for integers)")
      ->check(CLI::Validator(not_negative, ""))
      ->type_name("A");
  command.add_flag("--bisect", options->bisect, "Name the first node whose value differs");
  command.add_option("--threads", options->threads, "Threads (default: one per core)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  add_compile_options(command, options->model);
  return [options, &console] { return compare_command(*options, console); };
}

}  // namespace tenon::tools
