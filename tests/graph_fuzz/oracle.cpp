// SPDX-License-Identifier: Apache-2.0
#include "graph_fuzz/oracle.h"

#include <cmath>

#include "graph/define.h"
#include "graph_fuzz/rounding.h"
#include "onnx/import.h"
#include "onnx/tensor.h"

namespace tenon::graph_fuzz {
namespace {

proto::ModelProto model_of(const proto::ModelProto& around, const proto::NodeProto& node,
                           const Scope& scope) {
  proto::ModelProto m;
  m.set_ir_version(around.ir_version());
  *m.mutable_opset_import() = around.opset_import();
  proto::GraphProto* g = m.mutable_graph();
  g->set_name("node");
  *g->add_node() = node;
  for (const std::string& name : names_read(node)) {
    const Known& value = scope.at(name);
    if (value.constant) {
      *g->add_initializer() = make_tensor(name, value.data);
    } else {
      *g->add_input() = make_info(name, value.data);
    }
  }
  for (const std::string& name : node.output()) {
    if (!name.empty()) g->add_output()->set_name(name);
  }
  return m;
}

Scope initial_scope(const proto::ModelProto& m, const Arrays& inputs) {
  Scope scope;
  for (const auto& [name, data] : inputs) scope[name] = {data, false};
  for (const auto& t : m.graph().initializer())
    scope[t.name()] = {*onnx::to_data(t, nullptr), true};
  return scope;
}

void disturb_leaves(const proto::ModelProto& m, Scope& scope, Rng& rng) {
  std::set<std::string> arguments;
  for (const auto& node : m.graph().node()) {
    if (takes_arguments(node)) arguments.merge(names_read(node));
  }
  for (auto& [name, value] : scope) {
    const bool fixed = value.constant && arguments.contains(name);
    if (!fixed && !small_integers(value.data)) move_a_little(value.data, rng);
  }
}

}  // namespace

std::vector<Known> run_node(const proto::ModelProto& around, const proto::NodeProto& node,
                            const Scope& scope) {
  const onnx::Imported m =
      onnx::import_bytes(model_of(around, node, scope).SerializeAsString(), "");
  std::vector<ir::Array> inputs;
  for (const graph::ValueId v : m.graph.inputs) {
    inputs.push_back(scope.at(m.graph.value(v).name).data);
  }
  std::vector<ir::Array> got = graph::evaluate(m.graph, inputs);
  std::vector<Known> outputs;
  size_t at = 0;
  for (const std::string& name : node.output()) {
    if (name.empty()) {
      outputs.emplace_back();
      continue;
    }
    outputs.push_back({std::move(got[at]), m.graph.value(m.graph.outputs[at]).constant()});
    ++at;
  }
  return outputs;
}

Arrays evaluate(const proto::ModelProto& m, const Arrays& inputs, Rng* disturb) {
  Scope scope = initial_scope(m, inputs);
  if (disturb != nullptr) disturb_leaves(m, scope, *disturb);
  for (const auto& node : m.graph().node()) {
    std::vector<Known> outputs = run_node(m, node, scope);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string& name = node.output(static_cast<int>(i));
      if (name.empty()) continue;
      if (disturb != nullptr && rounds(node, scope, outputs[i].data)) {
        move_a_little(outputs[i].data, *disturb);
      }
      scope[name] = std::move(outputs[i]);
    }
  }
  Arrays all;
  for (auto& [name, value] : scope) all.emplace(name, std::move(value.data));
  return all;
}

void state_values(proto::ModelProto& m, const Arrays& values) {
  proto::GraphProto* g = m.mutable_graph();
  for (const auto& node : g->node()) {
    for (const std::string& name : node.output()) {
      if (!name.empty()) *g->add_value_info() = make_info(name, values.at(name));
    }
  }
}

}  // namespace tenon::graph_fuzz
