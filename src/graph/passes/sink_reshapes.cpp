// SPDX-License-Identifier: Apache-2.0
// add(reshape(y), x)  ->  reshape(add(y, reshape(x)))  where only dimensions of one element come or go and y is a matrix
// product: the map then is its epilogue, which a view between them would prevent.
#include <algorithm>
#include <optional>

#include "graph/classify.h"
#include "graph/passes.h"
#include "graph/passes/rewriter.h"

namespace tenon::graph {
namespace {

Shape without_ones(const Shape& s) {
  Shape out;
  std::copy_if(s.begin(), s.end(), std::back_inserter(out), [](int64_t e) { return e != 1; });
  return out;
}

// Maps between a product and the view: longer epilogues are cut apart when groups are made.
constexpr int kMostMaps = 24;

class Sink : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool run() {
    return each_node([&](size_t n) {
      const auto from = product_behind_view(n);
      if (from) rewrite(n, *from);
      return from.has_value();
    });
  }

 private:
  // A map whose operands are all of its own shape, or constants of one element.
  bool is_plain_map(const Node& n) const {
    const auto* c = std::get_if<Compute>(&n.op);
    if (c == nullptr || c->dag->ops.size() != 1 || classify(*c->dag) != Kind::kMap) return false;
    return std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) {
      const bool one = value(v).constant() && value(v).elements() == 1;
      return one || (!value(v).constant() && shape(v) == shape(n.outputs[0]));
    });
  }

  // What is under the view that one operand of node n is, if it is a product with maps behind it that n could join.
  std::optional<ValueId> product_behind_view(size_t at) const {
    const Node& n = g_.nodes[at];
    if (!is_plain_map(n)) return std::nullopt;
    for (const ValueId v : n.inputs) {
      const Node* view = producer(v);
      if (view == nullptr || !std::holds_alternative<Reshape>(view->op) || !read_once(v)) continue;
      const ValueId y = view->inputs[0];
      if (without_ones(shape(y)) != without_ones(shape(v)) || !read_once(y)) continue;
      if (keeps_rank(n, y) && behind_product(y)) return y;
    }
    return std::nullopt;
  }

  // Its constants have no more dimensions than y, with which they are to stand.
  bool keeps_rank(const Node& n, ValueId y) const {
    return std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) {
      return !value(v).constant() || shape(v).size() <= shape(y).size();
    });
  }

  bool behind_product(ValueId y) const {
    const Node* p = producer(y);
    for (int maps = 0; maps < kMostMaps && p != nullptr && is_map(*p); ++maps) {
      const auto main = std::find_if(p->inputs.begin(), p->inputs.end(), [&](ValueId v) {
        return !value(v).constant() && shape(v) == shape(y) && read_once(v);
      });
      p = main == p->inputs.end() ? nullptr : producer(*main);
    }
    return p != nullptr && std::holds_alternative<MatMul>(p->op);
  }

  bool is_map(const Node& n) const {
    return std::holds_alternative<Compute>(n.op) && classify(define(g_, n)) == Kind::kMap;
  }

  void rewrite(size_t at, ValueId like) {
    const Node n = g_.nodes[at];
    const Shape to = shape(like);
    std::vector<ValueId> inputs;
    for (const ValueId v : n.inputs) inputs.push_back(viewed(v, to));
    const Value& out = value(n.outputs[0]);
    const ValueId inner = add_value({out.name + ".flat", out.dtype, to, nullptr});
    add_node({map_at_shape(n, to, places_in(to)), inputs, {inner}, n.label, n.nodes});
    g_.nodes[at].op = Reshape{shape(n.outputs[0])};
    set_inputs(at, {inner});
    g_.nodes[at].label = "reshape";
  }

  ValueId viewed(ValueId v, const Shape& to) {
    if (value(v).constant()) return v;
    const Node* p = producer(v);
    if (p != nullptr && std::holds_alternative<Reshape>(p->op) && shape(p->inputs[0]) == to)
      return p->inputs[0];
    const Value& of = value(v);
    const ValueId view = add_value({of.name + ".flat", of.dtype, to, nullptr});
    add_node({Reshape{to}, {v}, {view}, "reshape", {}});
    return view;
  }

  // Axes of more than one element are the same in order.
  static Places places_in(const Shape& to) {
    return [&to](const te::ComputeOp& op, std::span<const ir::Var> axes) {
      ir::VarMap map;
      size_t d = 0;
      for (const te::Axis& a : op.axes) {
        while (a.extent > 1 && to[d] == 1) ++d;
        map.emplace(a.var.node(), a.extent > 1 ? ir::Expr(axes[d++]) : ir::Expr(0));
      }
      return map;
    };
  }
};

}  // namespace

void sink_reshapes(Graph& g, const PassContext&) {
  while (Sink(g).run()) g.compact();
}

}  // namespace tenon::graph
