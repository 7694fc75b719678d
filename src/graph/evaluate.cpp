// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <map>
#include <optional>

#include "graph/define.h"

namespace tenon::graph {

Evaluator interpreter() {
  return [](const te::ComputeDag& dag, const std::vector<ir::Array>& inputs) {
    return te::evaluate(dag, inputs);
  };
}

ir::Array reshaped(const ir::Array& a, const Shape& shape) {
  ir::Array out(a.dtype(), shape);
  TENON_CHECK(out.bytes() == a.bytes()) << "reshape to another size";
  std::copy(a.data(), a.data() + a.bytes(), out.data());
  return out;
}

namespace {

class Run {
 public:
  Run(const Graph& g, const Evaluator& run) : g_(g), run_(run), arrays_(g.values.size()) {
    uses_.assign(g.values.size(), 0);
    for (const Node& n : g.nodes) {
      for (const ValueId v : n.inputs) ++uses_[static_cast<size_t>(v)];
    }
    for (const ValueId v : g.outputs) ++uses_[static_cast<size_t>(v)];
    // Loops read values again: nothing is dropped there.
    if (!g.flow.empty()) uses_.assign(g.values.size(), std::numeric_limits<int>::max() / 2);
  }

  void set(ValueId v, ir::Array a) {
    const Value& value = g_.value(v);
    TENON_CHECK(a.shape() == value.shape && a.dtype() == value.dtype)
        << "array does not fit " << value.name;
    arrays_[static_cast<size_t>(v)] = std::move(a);
  }

  ir::Array get(ValueId v) const {
    const Value& value = g_.value(v);
    if (value.constant()) return *value.data;
    const auto& a = arrays_[static_cast<size_t>(v)];
    TENON_CHECK(a.has_value()) << value.name << " has no value";
    return *a;
  }

  ir::Array& stored(ValueId v) {
    auto& a = arrays_[static_cast<size_t>(v)];
    TENON_CHECK(a.has_value()) << g_.value(v).name << " has no value";
    return *a;
  }
  const ir::Array& look(ValueId v) {
    return g_.value(v).constant() ? *g_.value(v).data : stored(v);
  }

  void step(const Node& n, const Watch& watch) {
    std::vector<ir::Array> in;
    for (const ValueId v : n.inputs) in.push_back(get(v));
    for (const ValueId v : n.inputs) {
      if (--uses_[static_cast<size_t>(v)] == 0) arrays_[static_cast<size_t>(v)].reset();
    }
    std::vector<ir::Array> out;
    if (const auto* r = std::get_if<Reshape>(&n.op)) {
      out.push_back(reshaped(in[0], r->shape));
    } else {
      out = run_(define(g_, n), in);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      if (watch) watch(n, i, out[i]);
      if (uses_[static_cast<size_t>(n.outputs[i])] > 0) set(n.outputs[i], std::move(out[i]));
    }
  }

 private:
  const Graph& g_;
  const Evaluator& run_;
  std::vector<std::optional<ir::Array>> arrays_;
  std::vector<int> uses_;
};

// Walks through the instructions of a flow.
class Walk {
 public:
  Walk(const Graph& g, Run& state, const Watch& watch) : g_(g), state_(state), watch_(watch) {
    for (const Node& n : g.nodes) segments_[n.segment].push_back(&n);
  }

  void run() {
    for (size_t at = 0; at < g_.flow.size();) at = step(at);
  }

  // An output of which fewer elements are there than it has place for.
  ir::Array output(ValueId v) const {
    ir::Array a = state_.get(v);
    const auto it = counts_.find(v);
    if (it == counts_.end() || it->second >= a.shape()[0]) return a;
    Shape shape = a.shape();
    shape[0] = it->second;
    ir::Array part(a.dtype(), shape);
    std::copy(a.data(), a.data() + part.bytes(), part.data());
    return part;
  }

 private:
  int64_t number(ValueId v) const { return state_.look(v).get(0).i; }

  // Where element `at` of the first axis of `whole` begins, in bytes.
  int64_t offset(const FlowOp& op, const ir::Array& whole, int64_t element_bytes) const {
    const int64_t i = number(op.at);
    const int64_t place = op.number == 1 ? whole.shape()[0] - 1 - i : i;
    TENON_CHECK(place >= 0 && place < whole.shape()[0]) << "element " << place;
    return place * element_bytes;
  }

  void put(const FlowOp& op) {
    const ir::Array& element = state_.look(op.from);
    ir::Array& whole = state_.stored(op.to);
    std::copy(element.data(), element.data() + element.bytes(),
              whole.data() + offset(op, whole, element.bytes()));
  }

  void take(const FlowOp& op) {
    const ir::Array& whole = state_.look(op.from);
    ir::Array element(g_.value(op.to).dtype, g_.value(op.to).shape);
    const std::byte* from = whole.data() + offset(op, whole, element.bytes());
    std::copy(from, from + element.bytes(), element.data());
    state_.set(op.to, std::move(element));
  }

  void set(ValueId v, int64_t n) {
    ir::Array a(g_.value(v).dtype, g_.value(v).shape);
    a.set(0, {n, 0});
    state_.set(v, std::move(a));
  }

  // The instruction that follows.
  size_t step(size_t at) {
    const FlowOp& op = g_.flow[at];
    const auto target = static_cast<size_t>(op.target);
    switch (op.kind) {
      case FlowKind::kRun:
        for (const Node* n : segments_[static_cast<int32_t>(op.number)]) state_.step(*n, watch_);
        break;
      case FlowKind::kCopy:
        state_.set(op.to, state_.get(op.from));
        break;
      case FlowKind::kSet:
        set(op.to, op.number);
        break;
      case FlowKind::kAdd:
        set(op.to, number(op.to) + op.number);
        break;
      case FlowKind::kClear:
        state_.set(op.to, ir::Array(g_.value(op.to).dtype, g_.value(op.to).shape));
        break;
      case FlowKind::kTake:
        take(op);
        break;
      case FlowKind::kPut:
        put(op);
        break;
      case FlowKind::kUnless:
        return number(op.from) == 0 ? target : at + 1;
      case FlowKind::kReached:
        return number(op.at) >= number(op.from) ? target : at + 1;
      case FlowKind::kJump:
        return target;
      case FlowKind::kCount:
        counts_[op.to] = number(op.at);
        break;
    }
    return at + 1;
  }

  const Graph& g_;
  Run& state_;
  const Watch& watch_;
  std::map<int32_t, std::vector<const Node*>> segments_;
  std::map<ValueId, int64_t> counts_;
};

}  // namespace

std::vector<ir::Array> evaluate(const Graph& g, const std::vector<ir::Array>& inputs,
                                const Evaluator& run, const Watch& watch) {
  TENON_CHECK(inputs.size() == g.inputs.size()) << inputs.size() << " arrays given";
  Run state(g, run);
  for (size_t i = 0; i < inputs.size(); ++i) state.set(g.inputs[i], inputs[i]);
  std::vector<ir::Array> out;
  if (g.flow.empty()) {
    for (const Node& n : g.nodes) state.step(n, watch);
    for (const ValueId v : g.outputs) out.push_back(state.get(v));
  } else {
    Walk walk(g, state, watch);
    walk.run();
    for (const ValueId v : g.outputs) out.push_back(walk.output(v));
  }
  return out;
}

}  // namespace tenon::graph
