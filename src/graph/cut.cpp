// SPDX-License-Identifier: Apache-2.0
#include "graph/cut.h"

#include <algorithm>
#include <map>
#include <set>

#include "support/check.h"

namespace tenon::graph {

int64_t Variable::elements() const {
  int64_t n = 1;
  for (const int64_t e : shape) n *= e;
  return n;
}

namespace {

class Cutter {
 public:
  explicit Cutter(Graph& g) : g_(g), producers_(g.producers()) {}

  Segments run() {
    out_.flow = g_.flow;
    for (size_t i = 0; i < g_.inputs.size(); ++i) {
      out_.model_inputs.push_back(variable(g_.inputs[i]));
      out_.variables.back().input = static_cast<int32_t>(i);
    }
    for (FlowOp& op : out_.flow) {
      for (int32_t* v : {&op.to, &op.from, &op.at}) {
        if (*v >= 0) *v = read_by_flow(*v);
      }
    }
    for (size_t i = 0; i < g_.outputs.size(); ++i) give_output(i);
    cut_nodes();
    finish();
    return std::move(out_);
  }

 private:
  int32_t variable(ValueId v) {
    const auto [it, first] = variables_.try_emplace(v, static_cast<int32_t>(out_.variables.size()));
    const Value& value = g_.value(v);
    if (first) out_.variables.push_back({value.name, value.dtype, value.shape, value.data});
    return it->second;
  }

  // What a node computes leaves its segment.
  int32_t read_by_flow(ValueId v) {
    if (producers_[static_cast<size_t>(v)] >= 0) leaving_.insert(v);
    return variable(v);
  }

  // The variable lies in the caller's memory, unless it does already or cannot.
  void give_output(size_t i) {
    const ValueId v = g_.outputs[i];
    if (g_.value(v).elements() == 0) return give_nothing(i);
    const int32_t from = read_by_flow(v);
    const Variable source = out_.variables[static_cast<size_t>(from)];
    int32_t to = from;
    if (source.input >= 0 || source.output >= 0 || source.data != nullptr) {
      to = static_cast<int32_t>(out_.variables.size());
      out_.variables.push_back({source.name, source.dtype, source.shape});
      out_.flow.push_back({.kind = FlowKind::kCopy, .to = to, .from = from});
      for (size_t k = 0; k < g_.flow.size(); ++k) {
        if (g_.flow[k].kind != FlowKind::kCount || g_.flow[k].to != v) continue;
        out_.flow.push_back({.kind = FlowKind::kCount, .to = to, .at = out_.flow[k].at});
      }
    }
    out_.variables[static_cast<size_t>(to)].output = static_cast<int32_t>(i);
    out_.model_outputs.push_back(to);
  }

  // Nothing has to be written to an output without elements.
  void give_nothing(size_t i) {
    const Value& v = g_.value(g_.outputs[i]);
    out_.model_outputs.push_back(static_cast<int32_t>(out_.variables.size()));
    out_.variables.push_back({v.name, v.dtype, v.shape});
    out_.variables.back().output = static_cast<int32_t>(i);
  }

  // The value as nodes of a segment read it.
  ValueId inside(ValueId v, int32_t segment) {
    const NodeId n = producers_[static_cast<size_t>(v)];
    if (g_.value(v).constant() || (n >= 0 && segment_of(n) == segment)) return v;
    const auto [it, first] = inputs_.try_emplace({segment, v}, -1);
    if (first) {
      const Value source = g_.value(v);
      it->second = g_.add_value({source.name, source.dtype, source.shape, nullptr});
      out_.inputs.push_back({variable(v), segment});
      new_inputs_.push_back(it->second);
      if (n >= 0) leaving_.insert(v);
    }
    return it->second;
  }

  int32_t segment_of(NodeId n) const { return g_.nodes[static_cast<size_t>(n)].segment; }

  void cut_nodes() {
    for (Node& n : g_.nodes) {
      for (ValueId& v : n.inputs) v = inside(v, n.segment);
    }
  }

  void finish() {
    out_.model_output_names = std::move(g_.output_names);
    g_.inputs = std::move(new_inputs_);
    g_.outputs.clear();
    g_.output_names.clear();
    g_.flow.clear();
    for (const ValueId v : leaving_) {
      g_.add_output(v, g_.value(v).name);
      out_.outputs.push_back({variable(v), segment_of(producers_[static_cast<size_t>(v)])});
    }
  }

  Graph& g_;
  std::vector<NodeId> producers_;
  Segments out_;
  std::map<ValueId, int32_t> variables_;
  std::map<std::pair<int32_t, ValueId>, ValueId> inputs_;
  std::vector<ValueId> new_inputs_;
  std::set<ValueId> leaving_;  // computed by a node, and needed outside of its segment
};

// Lets segments write what would be copied from what they write: copy y = y1  =>  the segment writes y.
class Sharer {
 public:
  explicit Sharer(Segments& s) : s_(s) {
    for (size_t i = 0; i < s.flow.size(); ++i) {
      if (s.flow[i].kind == FlowKind::kRun) run_of_[s.flow[i].number] = i;
      if (s.flow[i].goes()) targets_.insert(static_cast<size_t>(s.flow[i].target));
    }
  }

  void run() {
    std::vector<bool> gone(s_.flow.size(), false);
    for (size_t i = 0; i < s_.flow.size(); ++i) {
      Port* from = s_.flow[i].kind == FlowKind::kCopy ? sole_writer(i) : nullptr;
      if (from == nullptr || !is_untouched(s_.flow[i].to, *from, i, gone)) continue;
      from->variable = s_.flow[i].to;
      gone[i] = true;
    }
    erase_ops(s_.flow, gone);
  }

 private:
  // The segment's output that this copy alone reads.
  Port* sole_writer(size_t copy) {
    const int32_t v = s_.flow[copy].from;
    const Variable& var = s_.variables[static_cast<size_t>(v)];
    if (var.input >= 0 || var.output >= 0 || var.data != nullptr) return nullptr;
    for (size_t i = 0; i < s_.flow.size(); ++i) {
      const std::vector<int32_t> reads = s_.flow[i].reads();
      const bool read = std::find(reads.begin(), reads.end(), v) != reads.end();
      if ((i != copy && read) || s_.flow[i].writes() == v) return nullptr;
    }
    for (const Port& p : s_.inputs) {
      if (p.variable == v) return nullptr;
    }
    for (Port& p : s_.outputs) {
      if (p.variable == v) return &p;
    }
    return nullptr;
  }

  // Nothing between the segment and the copy looks at the variable, and nothing comes or goes there.
  bool is_untouched(int32_t v, const Port& writer, size_t copy, const std::vector<bool>& gone) {
    const size_t begin = run_of_.at(writer.segment);
    if (begin >= copy || s_.variables[static_cast<size_t>(v)].input >= 0) return false;
    for (const Port& p : s_.inputs) {
      if (p.segment == writer.segment && p.variable == v) return false;
    }
    for (const Port& p : s_.outputs) {
      if (p.segment == writer.segment && p.variable == v) return false;
    }
    for (size_t i = begin + 1; i <= copy; ++i) {
      if (targets_.contains(i)) return false;
      const FlowOp& op = s_.flow[i];
      if (i == copy || gone[i]) continue;
      const std::vector<int32_t> reads = op.reads();
      if (op.goes() || op.kind == FlowKind::kRun || op.writes() == v ||
          std::find(reads.begin(), reads.end(), v) != reads.end()) {
        return false;
      }
    }
    return true;
  }

  Segments& s_;
  std::map<int64_t, size_t> run_of_;
  std::set<size_t> targets_;
};

}  // namespace

Segments cut(Graph& g) {
  if (g.flow.empty()) return {};
  Segments s = Cutter(g).run();
  Sharer(s).run();
  return s;
}

void separate(Graph& g, const Segments& segments) {
  if (segments.empty()) return;
  TENON_CHECK(g.outputs.size() == segments.outputs.size());
  std::vector<std::set<int32_t>> needed(g.values.size());  // by value: the segments that need it
  for (size_t i = 0; i < g.outputs.size(); ++i) {
    needed[static_cast<size_t>(g.outputs[i])].insert(segments.outputs[i].segment);
  }
  std::vector<std::set<int32_t>> of_node(g.nodes.size());
  for (size_t n = g.nodes.size(); n-- > 0;) {
    for (const ValueId v : g.nodes[n].outputs) {
      of_node[n].insert(needed[static_cast<size_t>(v)].begin(),
                        needed[static_cast<size_t>(v)].end());
    }
    for (const ValueId v : g.nodes[n].inputs) {
      needed[static_cast<size_t>(v)].insert(of_node[n].begin(), of_node[n].end());
    }
  }
  for (size_t i = 0; i < g.inputs.size(); ++i) {
    for (const int32_t s : needed[static_cast<size_t>(g.inputs[i])]) {
      TENON_CHECK(s == segments.inputs[i].segment) << "segments share a value";
    }
  }
  std::map<std::pair<int32_t, ValueId>, ValueId> renamed;
  const auto rename = [&](int32_t segment, ValueId& v) {
    const auto it = renamed.find({segment, v});
    if (it != renamed.end()) v = it->second;
  };
  std::map<int32_t, std::vector<Node>> sorted;
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    for (const int32_t s : of_node[n]) {
      Node copy = g.nodes[n];
      copy.segment = s;
      for (ValueId& v : copy.inputs) rename(s, v);
      for (ValueId& v : copy.outputs) {
        if (s == *of_node[n].begin()) continue;
        const Value like = g.value(v);
        v = renamed[{s, v}] = g.add_value(like);
      }
      sorted[s].push_back(std::move(copy));
    }
  }
  for (size_t i = 0; i < g.outputs.size(); ++i) rename(segments.outputs[i].segment, g.outputs[i]);
  g.nodes.clear();
  for (auto& [segment, nodes] : sorted) {
    for (Node& n : nodes) g.nodes.push_back(std::move(n));
  }
}

std::vector<int32_t> segments_of_values(const Graph& g, const Segments& segments) {
  std::vector<int32_t> of(g.values.size(), -1);
  for (size_t i = 0; i < g.inputs.size(); ++i) {
    of[static_cast<size_t>(g.inputs[i])] = segments.inputs[i].segment;
  }
  for (const Node& n : g.nodes) {
    for (const ValueId v : n.outputs) of[static_cast<size_t>(v)] = n.segment;
  }
  return of;
}

}  // namespace tenon::graph
