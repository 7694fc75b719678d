// SPDX-License-Identifier: Apache-2.0
// tenon compare: are a model's numbers right, and if not, where do they go wrong first?
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>

#include "compile/oracle.h"
#include "ir/arrays.h"
#include "support/private_folder.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/reference_command.h"
#include "tools/tenon/commands/same_tensors.h"
#include "tools/tenon/json.h"
#include "tools/tenon/model_program.h"
#include "tools/tenon/model_source.h"
#include "tools/tenon/tensors.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

struct CompareOptions {
  ModelOptions model;
  std::string package;
  std::vector<std::string> inputs;
  std::string reference = "auto";
  std::optional<double> rtol, atol;
  bool bisect = false;
  int threads = 0;
};

struct Compared {
  std::string reference;
  std::vector<artifact::TensorInfo> tensors;
  std::vector<ir::Difference> differences;
  bool matches() const { return std::ranges::all_of(differences, &ir::Difference::matches); }
  bool passes() const { return std::ranges::all_of(differences, &ir::Difference::passes); }
};

struct Bisected {
  size_t nodes = 0;
  int steps = 0;
  std::string node;  // name in the model; empty: no node differs on its own
  std::string label;
  std::optional<ir::Difference> difference;
};

bool is_recorded(const std::string& reference) {
  return reference.starts_with("file:") || reference.ends_with(".npz") ||
         reference.ends_with(".npy") ||
         (reference != "auto" && reference != "interp" && reference != "plain" &&
          !reference.starts_with("cmd:"));
}

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

// Recorded outputs, another program's, another artifact's, or those of the oracle.
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

// The value of node `i` computed by the compiler, against the oracle. Nothing: equal.
std::optional<ir::Difference> difference_at(const CompareOptions& options, const graph::Graph& g,
                                            size_t i, const std::vector<ir::Array>& inputs) {
  const graph::Graph part = compile::prefix(g, i);
  compile::RunGraphOptions run;
  run.fuse = !options.model.no_fuse;
  run.lock = !options.model.lock.empty() ? options.model.lock : options.package;
  run.target = options.model.target;
  run.threads = options.threads;
  const std::vector<ir::Array> got = compile::run_graph(part, inputs, run);
  const std::vector<ir::Array> want = run_oracle(oracle_of(options.reference, part), part, inputs);
  for (size_t o = 0; o < got.size(); ++o) {
    const ir::Difference d =
        differ(got[o], want[o], tolerance_of(got[o].dtype(), options.rtol, options.atol));
    if (!d.matches()) {
      return d;
    }
  }
  return std::nullopt;
}

// Halves the list of nodes in the order of running. Only the values of one node are held at a time.
Bisected bisect(const CompareOptions& options, const graph::Graph& g,
                const std::vector<ir::Array>& inputs, const Console& console) {
  if (!g.flow.empty()) {
    throw UserError("models with branches or loops at run time cannot be bisected",
                    "make the inputs that decide about them constants with --bind");
  }
  Bisected b;
  b.nodes = g.nodes.size();
  Progress progress(console, "bisect");
  size_t good = 0;  // nodes before this one are right
  size_t bad = g.nodes.size();
  while (good < bad) {
    const size_t middle = (good + bad) / 2;
    progress.at(0, fmt::format("step {}: node {} of {}", ++b.steps, middle + 1, b.nodes));
    if (const auto d = difference_at(options, g, middle, inputs)) {
      bad = middle;
      b.difference = d;
    } else {
      good = middle + 1;
    }
  }
  if (bad < g.nodes.size() && b.difference) {
    const graph::Node& node = g.nodes[bad];
    b.node = node.nodes.empty() ? g.value(node.outputs[0]).name : node.nodes.front();
    b.label = node.label;
  }
  return b;
}

int64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

// JSON has no infinity.
Json number(double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); }

Json to_json(const ir::Difference& d) {
  return {{"passes", d.passes()},
          {"elements", d.elements},
          {"failing", d.failing},
          {"nan", d.nan},
          {"finite", d.finite},
          {"max_abs", number(d.max_abs)},
          {"largest", d.largest},
          {"rtol", d.rtol},
          {"atol", d.atol},
          {"passing_atol", number(d.passing_atol)},
          {"passing_rtol", number(d.passing_rtol)}};
}

Json to_json(const Compared& c, const std::optional<Bisected>& b) {
  Json outputs = Json::array();
  for (size_t i = 0; i < c.differences.size(); ++i) {
    Json output = {{"name", c.tensors[i].name},
                   {"dtype", ir::to_string(c.tensors[i].dtype)},
                   {"shape", c.tensors[i].shape}};
    output.update(to_json(c.differences[i]));
    outputs.push_back(output);
  }
  Json answer = {{"schema", "tenon.compare/1"},
                 {"reference", c.reference},
                 {"passes", c.passes()},
                 {"outputs", outputs}};
  if (b) {
    answer["bisect"] = {{"nodes", b->nodes},
                        {"steps", b->steps},
                        {"peak_bytes", peak_bytes()},
                        {"node", b->node.empty() ? Json(nullptr) : Json(b->node)},
                        {"difference", b->difference ? to_json(*b->difference) : Json(nullptr)}};
  }
  return answer;
}

std::string to_text(const artifact::TensorInfo& t, const ir::Difference& d) {
  std::string text =
      fmt::format("output   \"{}\" {} {}  max|d| {:.3g} of {:.3g}  {} rtol={:.3g} atol={:.3g}",
                  escaped(t.name), ir::to_string(t.dtype), shape_text(t.shape), d.max_abs,
                  d.largest, d.passes() ? "pass" : "FAIL", d.rtol, d.atol);
  text +=
      fmt::format("   would pass at atol={:.3g} or rtol={:.3g}\n", d.passing_atol, d.passing_rtol);
  if (d.nan > 0) {
    text += fmt::format("         {} of {} elements are NaN, in the reference too\n",
                        grouped(d.nan), grouped(d.elements));
  }
  if (!d.decides()) {
    text +=
        "         there is nothing to compare: the reference has no finite number here; give "
        "inputs "
        "with --inputs for which it has\n";
  }
  if (!d.matches()) {
    text += fmt::format(
        "         {} of {} elements differ; worst at {}: {:.6g}, reference {:.6g}\n",
        grouped(d.failing), grouped(d.elements), d.worst, d.worst_got, d.worst_reference);
  }
  return text;
}

std::string to_text(const Compared& c, const std::optional<Bisected>& b) {
  std::string text = fmt::format("against  {}\n", escaped(c.reference));
  for (size_t i = 0; i < c.differences.size(); ++i) {
    text += to_text(c.tensors[i], c.differences[i]);
  }
  if (!b) {
    return text;
  }
  text += fmt::format("bisect   {}, {}, peak {}\n", counted(b->nodes, "node"),
                      counted(b->steps, "step"), bytes_text(static_cast<double>(peak_bytes())));
  return text +
         (b->node.empty()
              ? "first    no node differs when the model is cut there\n"
              : fmt::format("first    {} ({}): {} of {} elements differ, max|d| {:.3g} of {:.3g}\n",
                            escaped(b->node), escaped(b->label), grouped(b->difference->failing),
                            grouped(b->difference->elements), b->difference->max_abs,
                            b->difference->largest));
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
  console.answer(console.json() ? tools::to_text(to_json(compared, bisected))
                                : to_text(compared, bisected));
  return compared.passes() ? kExitOk : kExitMismatch;
}

}  // namespace

namespace {

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
