// SPDX-License-Identifier: Apache-2.0
// tenon check: can this model be imported, and what would become of it?
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <memory>
#include <set>

#include "artifact/sizes_text.h"
#include "compile/evaluator.h"
#include "files/file.h"
#include "graph/partition.h"
#include "graph/passes.h"
#include "tools/tenon/command.h"
#include "tools/tenon/json.h"
#include "tools/tenon/model_source.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

struct Tensor {
  std::string name;
  ir::DType dtype;
  graph::Shape shape;
};

struct Checked {
  onnx::Report report;
  std::vector<onnx::StatedInput> stated;  // inputs as the file has them
  std::vector<Tensor> inputs, outputs;
  std::vector<onnx::OpenSizes::Dim> sizes;  // open dimensions; tensors have the largest
  size_t tasks = 0;
  size_t calls = 0;
  std::vector<std::string> unchecked;   // nodes
  std::vector<std::string> task_names;  // "relu  3 calls: conv1/Conv, conv1/Relu": of the first
  double import_s = 0;
};

std::vector<Tensor> tensors(const graph::Graph& g, const std::vector<graph::ValueId>& ids) {
  std::vector<Tensor> list;
  for (const graph::ValueId id : ids) {
    list.push_back({g.value(id).name, g.value(id).dtype, g.value(id).shape});
  }
  return list;
}

// Nodes whose indices are known when the model runs only: what lies outside of the table is not refused then.
std::vector<std::string> unchecked_indices(const graph::Graph& g) {
  std::vector<std::string> names;
  for (const graph::Node& n : g.nodes) {
    if (!n.label.starts_with("gather") || n.inputs.size() < 2) continue;
    if (!g.value(n.inputs[1]).constant()) names.push_back(n.nodes.empty() ? n.label : n.nodes[0]);
  }
  return names;
}

// What would become of the graph: steps and distinct tasks.
void count_tasks(graph::Graph g, Checked& c) {
  graph::optimize(g, {compile::compiled_evaluator()});
  graph::own_outputs(g);
  const graph::Partition p = graph::partition(g);
  c.tasks = p.tasks.size();
  c.calls = p.calls.size();
  std::set<int32_t> named;
  for (const graph::Call& call : p.calls) {
    if (!named.insert(call.task).second) continue;
    const graph::Computation& t = p.tasks[static_cast<size_t>(call.task)];
    c.task_names.push_back(fmt::format("{}  {}: {}", t.dag->name, counted(t.calls, "call"),
                                       fmt::join(call.nodes, ", ")));
  }
}

Checked check_model(ModelOptions options) {
  Checked c;
  options.batch = onnx::parse_sizes("1..8", "");  // as tenon compile has it
  const Opened opened = open_model(options);
  c.sizes = opened.sizes.dims;
  std::vector<int64_t> largest;
  for (const onnx::OpenSizes::Dim& d : c.sizes) {
    largest.push_back(d.sizes.back());
  }
  c.stated = opened.source.inputs();
  try {
    const auto start = std::chrono::steady_clock::now();
    onnx::Imported imported = opened.source.import(opened.sizes.at(largest));
    c.import_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    c.report.info = imported.info;
    c.inputs = tensors(imported.graph, imported.graph.inputs);
    c.outputs = tensors(imported.graph, imported.graph.outputs);
    c.unchecked = unchecked_indices(imported.graph);
    count_tasks(std::move(imported.graph), c);
  } catch (const onnx::ImportError&) {
    c.report = opened.source.check(opened.sizes.at(largest));
  } catch (const onnx::RequestError&) {
    throw;
  } catch (const UserError& error) {
    throw CommandError(kExitImport, error.what());
  }
  return c;
}

Json to_json(const std::vector<Tensor>& list) {
  Json json = Json::array();
  for (const Tensor& t : list) {
    json.push_back({{"name", t.name}, {"dtype", ir::to_string(t.dtype)}, {"shape", t.shape}});
  }
  return json;
}

// As the file has them: names of dimensions where their sizes are open, null where these have no name.
Json to_json(const std::vector<onnx::StatedInput>& inputs) {
  Json json = Json::array();
  for (const onnx::StatedInput& in : inputs) {
    Json shape = Json::array();
    for (size_t a = 0; a < in.shape.size(); ++a) {
      shape.push_back(in.shape[a] >= 0          ? Json(in.shape[a])
                      : in.dim_names[a].empty() ? Json(nullptr)
                                                : Json(in.dim_names[a]));
    }
    json.push_back({{"name", in.name},
                    {"dtype", in.dtype ? Json(ir::to_string(*in.dtype)) : Json(nullptr)},
                    {"shape", in.has_shape ? shape : Json(nullptr)}});
  }
  return json;
}

// Inputs have none.
Json opset_json(int64_t opset) { return opset == 0 ? Json(nullptr) : Json(opset); }

Json sizes_json(const std::vector<onnx::OpenSizes::Dim>& dims) {
  Json json = Json::array();
  for (const onnx::OpenSizes::Dim& d : dims) {
    json.push_back({{"name", d.name}, {"values", d.sizes}});
  }
  return json;
}

Json to_json(const std::string& file, const Checked& c) {
  Json problems = Json::array();
  for (const onnx::Problem& p : c.report.problems) {
    problems.push_back({{"node", p.node},
                        {"op", p.op},
                        {"domain", p.domain},
                        {"opset", opset_json(p.opset)},
                        {"reason", p.reason},
                        {"hint", p.hint}});
  }
  const onnx::ModelInfo& info = c.report.info;
  return {{"schema", "tenon.check/1"},
          {"file", file},
          {"ok", c.report.problems.empty()},
          {"opset", opset_json(info.opset)},
          {"ir_version", info.ir_version},
          {"producer", info.producer},
          {"nodes", info.nodes},
          {"parameters", info.parameters},
          {"ops", info.ops},
          {"inputs", c.report.problems.empty() ? to_json(c.inputs) : to_json(c.stated)},
          {"outputs", to_json(c.outputs)},
          {"sizes", sizes_json(c.sizes)},
          {"steps", c.calls},
          {"tasks", c.tasks},
          {"unchecked_indices", c.unchecked},
          {"problems", problems}};
}

std::string to_text(const char* word, const std::vector<Tensor>& list) {
  std::string text;
  for (const Tensor& t : list) {
    text += fmt::format("{:<8} {}: {} {}\n", word, escaped(t.name), ir::to_string(t.dtype),
                        shape_text(t.shape));
  }
  return text;
}

std::string to_text(const std::string& file, const Checked& c) {
  const onnx::ModelInfo& info = c.report.info;
  std::string text = fmt::format("{}{}  {}  {}{}\n", escaped(file), opset_text(info),
                                 counted(info.nodes, "node"), counted(info.parameters, "parameter"),
                                 info.producer.empty() ? "" : "  from " + escaped(info.producer));
  if (!c.report.problems.empty()) {
    return text;
  }
  std::vector<std::string> ops;
  for (const auto& [op, count] : info.ops) {
    ops.push_back(count == 1 ? op : fmt::format("{} {}", count, op));
  }
  text += to_text("input", c.inputs) + to_text("output", c.outputs);
  for (const onnx::OpenSizes::Dim& d : c.sizes) {
    text += fmt::format("size     {}: {}; the tensors above have the largest\n", escaped(d.name),
                        artifact::values_text(d.sizes));
  }
  text += fmt::format("ops      {}\n", escaped(fmt::format("{}", fmt::join(ops, ", "))));
  return text + fmt::format("ok       {} -> {} of {}\n", counted(info.nodes, "node"),
                            counted(c.calls, "step"), counted(c.tasks, "distinct task"));
}

int check_command(const ModelOptions& options, const Console& console) {
  const Checked checked = check_model(options);
  if (checked.report.problems.empty()) {
    console.info(fmt::format("import   {} in {}", counted(checked.report.info.nodes, "node"),
                             time_text(checked.import_s)));
    for (const std::string& task : checked.task_names) console.info("task     " + escaped(task));
  }
  console.answer(console.json() ? tools::to_text(to_json(options.path, checked))
                                : to_text(options.path, checked));
  if (!checked.unchecked.empty() && !console.json()) {
    const size_t others = checked.unchecked.size() - 1;
    console.note(fmt::format(
        "note     {}{}: indices are known when the model runs only; those "
        "outside of the table read the nearest place inside",
        escaped(checked.unchecked[0]), others == 0 ? "" : fmt::format(" and {} more", others)));
  }
  const std::vector<onnx::Problem>& problems = checked.report.problems;
  if (problems.empty()) {
    return kExitOk;
  }
  if (!console.json()) {
    print_problems(problems, console);
  }
  throw CommandError(kExitImport, fmt::format("{}: {}", files::display_name(options.path),
                                              onnx::refusal_text(problems)));
}

}  // namespace

Run add_check(CLI::App& command, Console& console) {
  const auto options = std::make_shared<ModelOptions>();
  add_import_options(command, *options, Takes::kModel);
  return [options, &console] { return check_command(*options, console); };
}

}  // namespace tenon::tools
