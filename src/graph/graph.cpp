// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "graph/define.h"

namespace tenon::graph {

int64_t Value::elements() const {
  int64_t n = 1;
  for (const int64_t e : shape) n *= e;
  return n;
}

bool makes_real(const Graph& g, const Node& n) {
  if (!std::holds_alternative<Dequantize>(n.op)) return false;
  const Value& x = g.value(n.inputs[0]);
  return x.dtype.bits == 8 && x.elements() > 1;
}

std::string Graph::unique(const std::string& wanted) {
  const std::string base = wanted.empty() ? "value" : wanted;
  const auto [it, first] = names_.emplace(base, 1);
  if (first) return base;
  std::string name;
  int& last = it->second;  // stays valid: references survive a rehash
  do {
    name = fmt::format("{}.{}", base, ++last);
  } while (!names_.emplace(name, 1).second);
  return name;
}

ValueId Graph::add_value(Value v) {
  v.name = unique(v.name);
  values.push_back(std::move(v));
  return static_cast<ValueId>(values.size()) - 1;
}

void Graph::rename(ValueId v, const std::string& name) {
  if (value(v).name != name) value(v).name = unique(name);
}

void Graph::add_output(ValueId v, const std::string& name) {
  outputs.push_back(v);
  output_names.push_back(name);
}

std::vector<bool> Graph::output_flags() const {
  std::vector<bool> flags(values.size(), false);
  for (const ValueId v : outputs) flags[static_cast<size_t>(v)] = true;
  return flags;
}

std::vector<NodeId> Graph::producers() const {
  std::vector<NodeId> p(values.size(), -1);
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (const ValueId v : nodes[n].outputs) p[static_cast<size_t>(v)] = static_cast<NodeId>(n);
  }
  return p;
}

std::vector<std::vector<NodeId>> Graph::readers() const {
  std::vector<std::vector<NodeId>> r(values.size());
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (const ValueId v : nodes[n].inputs) {
      auto& list = r[static_cast<size_t>(v)];
      if (list.empty() || list.back() != static_cast<NodeId>(n))
        list.push_back(static_cast<NodeId>(n));
    }
  }
  return r;
}

std::vector<ValueId> Graph::views() const {
  std::vector<ValueId> of(values.size());
  std::iota(of.begin(), of.end(), 0);
  for (const Node& n : nodes) {
    if (!std::holds_alternative<Reshape>(n.op)) continue;
    of[static_cast<size_t>(n.outputs[0])] = of[static_cast<size_t>(n.inputs[0])];
  }
  return of;
}

namespace {

// Nodes that the outputs need, each after those it reads. Iterative: models are deep.
std::vector<NodeId> needed_in_order(const Graph& g) {
  const auto producers = g.producers();
  std::vector<char> state(g.nodes.size(), 0);  // 1: on the way, 2: done
  std::vector<NodeId> order;
  struct Visit {
    NodeId node;
    size_t next;
  };
  std::vector<Visit> stack;
  const auto enter = [&](ValueId v) {
    const NodeId n = producers[static_cast<size_t>(v)];
    if (n < 0 || state[static_cast<size_t>(n)] == 2) return;
    TENON_CHECK(state[static_cast<size_t>(n)] == 0) << "the graph has a cycle";
    state[static_cast<size_t>(n)] = 1;
    stack.push_back({n, 0});
  };
  std::vector<ValueId> wanted = g.outputs;
  for (const FlowOp& op : g.flow) {
    for (const ValueId v : op.reads()) wanted.push_back(v);
  }
  for (const ValueId out : wanted) {
    enter(out);
    while (!stack.empty()) {
      Visit& top = stack.back();
      const Node& node = g.nodes[static_cast<size_t>(top.node)];
      if (top.next < node.inputs.size()) {
        enter(node.inputs[top.next++]);
        continue;
      }
      state[static_cast<size_t>(top.node)] = 2;
      order.push_back(top.node);
      stack.pop_back();
    }
  }
  return order;
}

// Per value: whether an output or a decision of the flow needs it.
std::vector<bool> needed_values(const Graph& g) {
  std::vector<bool> needed(g.values.size(), false);
  std::vector<ValueId> open = g.outputs;
  std::unordered_map<ValueId, std::vector<ValueId>> sources;  // of what instructions write
  for (const FlowOp& op : g.flow) {
    std::vector<ValueId> read = op.reads();
    if (op.to < 0) open.insert(open.end(), read.begin(), read.end());
    if (op.to >= 0) sources[op.to].insert(sources[op.to].end(), read.begin(), read.end());
  }
  const auto producers = g.producers();
  while (!open.empty()) {
    const ValueId v = open.back();
    open.pop_back();
    if (needed[static_cast<size_t>(v)]) continue;
    needed[static_cast<size_t>(v)] = true;
    const NodeId n = producers[static_cast<size_t>(v)];
    if (n >= 0) {
      const std::vector<ValueId>& in = g.nodes[static_cast<size_t>(n)].inputs;
      open.insert(open.end(), in.begin(), in.end());
    }
    const auto written = sources.find(v);
    if (written == sources.end()) continue;
    open.insert(open.end(), written->second.begin(), written->second.end());
  }
  return needed;
}

// Drops instructions that write what nobody needs.
void drop_unneeded(Graph& g) {
  if (g.flow.empty()) return;
  const std::vector<bool> needed = needed_values(g);
  std::vector<bool> gone;
  for (const FlowOp& op : g.flow) gone.push_back(op.to >= 0 && !needed[static_cast<size_t>(op.to)]);
  erase_ops(g.flow, gone);
}

}  // namespace

void Graph::shrink(size_t node_count, size_t value_count, size_t flow_count) {
  nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(node_count), nodes.end());
  for (size_t v = value_count; v < values.size(); ++v) names_.erase(values[v].name);
  values.erase(values.begin() + static_cast<std::ptrdiff_t>(value_count), values.end());
  flow.resize(flow_count);
}

void Graph::compact() {
  drop_unneeded(*this);
  const std::vector<NodeId> order = needed_in_order(*this);
  std::vector<ValueId> renumbered(values.size(), -1);
  std::vector<Value> kept;
  const auto keep = [&](ValueId& v) {
    ValueId& to = renumbered[static_cast<size_t>(v)];
    if (to < 0) {
      to = static_cast<ValueId>(kept.size());
      kept.push_back(std::move(values[static_cast<size_t>(v)]));
    }
    v = to;
  };
  for (ValueId& v : inputs) keep(v);
  std::vector<Node> sorted;
  for (const NodeId n : order) {
    sorted.push_back(std::move(nodes[static_cast<size_t>(n)]));
    for (ValueId& v : sorted.back().inputs) keep(v);
    for (ValueId& v : sorted.back().outputs) keep(v);
  }
  for (ValueId& v : outputs) keep(v);
  for (FlowOp& op : flow) {
    for (ValueId* v : {&op.to, &op.from, &op.at}) {
      if (*v >= 0) keep(*v);
    }
  }
  nodes = std::move(sorted);
  values = std::move(kept);
}

void Graph::verify() const {
  std::vector<char> known(values.size(), 0);
  for (const ValueId v : inputs) known[static_cast<size_t>(v)] = 1;
  for (size_t v = 0; v < values.size(); ++v) known[v] = known[v] || values[v].constant();
  for (const FlowOp& op : flow) {
    if (op.writes() >= 0) known[static_cast<size_t>(op.writes())] = 1;
  }
  for (const Node& n : nodes) {
    for (const ValueId v : n.inputs) {
      TENON_CHECK(known[static_cast<size_t>(v)])
          << n.label << " reads " << value(v).name << " too early";
    }
    const auto types = infer(*this, n.op, n.inputs);
    TENON_CHECK(types.size() == n.outputs.size())
        << n.label << " has " << types.size() << " outputs";
    for (size_t i = 0; i < types.size(); ++i) {
      const Value& out = value(n.outputs[i]);
      TENON_CHECK(types[i].shape == out.shape && types[i].dtype == out.dtype)
          << out.name << " is not what " << n.label << " computes";
      known[static_cast<size_t>(n.outputs[i])] = 1;
    }
  }
  TENON_CHECK(output_names.size() == outputs.size()) << "outputs without names";
  for (const ValueId v : outputs) {
    TENON_CHECK(known[static_cast<size_t>(v)]) << "output " << value(v).name << " is not computed";
  }
}

std::string to_string(const Graph& g) {
  const auto type = [](const Value& v) {
    return fmt::format("{}[{}]", ir::to_string(v.dtype), fmt::join(v.shape, ","));
  };
  std::string text;
  for (const ValueId v : g.inputs) {
    text += fmt::format("input %{} {}: {}\n", v, g.value(v).name, type(g.value(v)));
  }
  for (const Node& n : g.nodes) {
    std::vector<std::string> in;
    for (const ValueId v : n.inputs) {
      in.push_back(fmt::format("{}%{}", g.value(v).constant() ? "const " : "", v));
    }
    for (const ValueId v : n.outputs) {
      text += fmt::format("%{} {}: {} = {}({}) <{}>\n", v, g.value(v).name, type(g.value(v)),
                          n.label, fmt::join(in, ", "), fmt::join(n.nodes, ", "));
    }
  }
  for (size_t i = 0; i < g.flow.size(); ++i) {
    text += fmt::format("{} {}\n", i,
                        to_string(g.flow[i], [](int32_t v) { return fmt::format("%{}", v); }));
  }
  for (size_t i = 0; i < g.outputs.size(); ++i) {
    text += fmt::format("output %{} {}\n", g.outputs[i], g.output_names[i]);
  }
  return text;
}

}  // namespace tenon::graph
