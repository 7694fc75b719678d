// SPDX-License-Identifier: Apache-2.0
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

}  // namespace

std::vector<ir::Array> evaluate(const Graph& g, const std::vector<ir::Array>& inputs,
                                const Evaluator& run, const Watch& watch) {
  TENON_CHECK(inputs.size() == g.inputs.size()) << inputs.size() << " arrays given";
  Run state(g, run);
  for (size_t i = 0; i < inputs.size(); ++i) state.set(g.inputs[i], inputs[i]);
  for (const Node& n : g.nodes) state.step(n, watch);
  std::vector<ir::Array> out;
  for (const ValueId v : g.outputs) out.push_back(state.get(v));
  return out;
}

}  // namespace tenon::graph
