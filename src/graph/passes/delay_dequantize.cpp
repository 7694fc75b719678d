// SPDX-License-Identifier: Apache-2.0
//   reshape(dequantize(x))              ->  dequantize(reshape(x)); transposes, slices and maxima over windows too
//   quantize(dequantize(x, s, z), s, z) ->  x
// Both are exact for one positive scale: it keeps the order of numbers, and x * s / s is x for integers of 8 bits.
#include <algorithm>
#include <optional>

#include "graph/passes.h"
#include "graph/passes/rewriter.h"
#include "ir/equal.h"

namespace tenon::graph {
namespace {

constexpr double kLeastScale = 1e-30;  // products with it are far from the ends of f32

// Nothing but elements of what is read, or the largest of some; -inf beside the image.
bool picks(const te::ComputeOp& op) {
  if (op.combiner && *op.combiner != ir::BinaryOp::kMax && *op.combiner != ir::BinaryOp::kMaximum)
    return false;
  if (op.body.as<ir::Load>() != nullptr) return true;
  const auto* s = op.body.as<ir::Select>();
  if (s == nullptr || s->on_true.as<ir::Load>() == nullptr) return false;
  return ir::equal(s->on_false, ir::identity_of(ir::BinaryOp::kMax, s->on_false.dtype()));
}

// The same dag on numbers of type t.
te::ComputeDag retyped(const te::ComputeDag& dag, ir::DType t) {
  te::Builder b;
  std::vector<std::pair<te::Tensor, te::Tensor>> made;
  const te::Tensor& x = dag.inputs[0].tensor;
  made.emplace_back(x, b.input(x.name(), t, x.shape()));
  const auto at = [&](const ir::Expr& e) -> ir::Expr {
    const auto* l = e.as<ir::Load>();
    for (const auto& [from, to] : made) {
      if (l->buffer.same_as(from)) return ir::load(to, l->indices);
    }
    return e;
  };
  for (const te::OpRef& op : dag.ops) {
    te::ComputeOp again = *op;
    const auto* s = op->body.as<ir::Select>();
    again.body = s == nullptr ? at(op->body)
                              : ir::select(s->condition, at(s->on_true),
                                           ir::identity_of(ir::BinaryOp::kMax, t));
    if (again.combiner) again.combiner = ir::BinaryOp::kMax;
    again.output = te::Tensor::make(op->name(), t, op->output.shape());
    made.emplace_back(op->output, b.add(std::move(again)));
  }
  b.output(made.back().second);
  return b.finish(dag.name);
}

class DelayDequantize : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool run() {
    bool any = each_node([&](size_t n) { return delay(n); });
    return each_node([&](size_t n) { return cancel(n); }) || any;
  }

 private:
  // The Dequantize that makes v, by one positive scale and one zero point that are known.
  const Node* maker(ValueId v) const {
    const Node* p = producer(v);
    if (p == nullptr || !makes_real(g_, *p) || value(p->inputs[0]).constant()) return nullptr;
    return has_one_scale(*p) ? p : nullptr;
  }
  bool has_one_scale(const Node& n) const {
    for (size_t i = 1; i < n.inputs.size(); ++i) {
      const Value& v = value(n.inputs[i]);
      if (!v.constant() || v.elements() != 1) return false;
    }
    const double scale = value(n.inputs[1]).data->get_double(0);
    return scale > kLeastScale && scale < 1 / kLeastScale;
  }

  // The op of node n for numbers of type t, if it only picks.
  static std::optional<Op> picking(const Node& n, ir::DType t) {
    if (std::holds_alternative<Reshape>(n.op) || std::holds_alternative<Transpose>(n.op))
      return n.op;
    const auto* c = std::get_if<Compute>(&n.op);
    if (c == nullptr || n.inputs.size() != 1 || c->dag->outputs.size() != 1) return std::nullopt;
    const bool all = std::all_of(c->dag->ops.begin(), c->dag->ops.end(),
                                 [](const te::OpRef& op) { return picks(*op); });
    if (!all) return std::nullopt;
    return Compute{std::make_shared<const te::ComputeDag>(retyped(*c->dag, t))};
  }

  bool delay(size_t at) {
    const Node n = g_.nodes[at];
    const Node* p = n.inputs.empty() ? nullptr : maker(n.inputs[0]);
    if (p == nullptr || n.outputs.size() != 1) return false;
    const Node real = *p;
    const ir::DType t = value(real.inputs[0]).dtype;
    const auto op = picking(n, t);
    if (!op) return false;
    const Value y = value(n.outputs[0]);
    const ValueId picked = add_value({y.name, t, y.shape, nullptr});
    add_node({*op, {real.inputs[0]}, {picked}, n.label, n.nodes, n.segment});
    std::vector<ValueId> inputs = real.inputs;
    inputs[0] = picked;
    g_.nodes[at].op = real.op;
    g_.nodes[at].label = real.label;
    set_inputs(at, std::move(inputs));
    return true;
  }

  bool same(ValueId a, ValueId b) const {
    return value(a).dtype == value(b).dtype &&
           value(a).data->get_double(0) == value(b).data->get_double(0);
  }

  bool cancel(size_t at) {
    const Node n = g_.nodes[at];
    const auto* q = std::get_if<Quantize>(&n.op);
    const Node* p = q == nullptr ? nullptr : maker(n.inputs[0]);
    if (p == nullptr || !has_one_scale(n) || value(p->inputs[0]).dtype != q->to ||
        n.inputs.size() != p->inputs.size())
      return false;
    for (size_t i = 1; i < n.inputs.size(); ++i) {
      if (!same(n.inputs[i], p->inputs[i])) return false;
    }
    replace_uses(n.outputs[0], p->inputs[0]);
    return true;
  }
};

}  // namespace

void delay_dequantize(Graph& g, const PassContext&) {
  if (DelayDequantize(g).run()) g.compact();
}

}  // namespace tenon::graph
