// SPDX-License-Identifier: Apache-2.0
// x Wq + bq, x Wk + bk, x Wv + bv  ->  slices of x [Wq Wk Wv] + [bq bk bv], where every slice ends up as an operand of a
// product, which reads it in place. One product has fewer tails and is dealt out to the cores once.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>

#include "graph/classify.h"
#include "graph/passes.h"
#include "graph/passes/rewriter.h"
#include "te/ops.h"

namespace tenon::graph {
namespace {

// A product with constant weights, and the constant row that is added to it.
struct Projection {
  size_t product = 0;
  std::optional<size_t> bias;  // the node that adds it
  ValueId row = -1;            // what is added
  ValueId result = -1;
  int64_t width = 0;
};

// Along the columns of every row.
Data join_columns(const std::vector<Data>& parts, int64_t rows, const Shape& shape) {
  ir::Array all(ir::kF32, shape);
  const int64_t total = all.bytes() / rows;
  int64_t at = 0;
  for (const Data& part : parts) {
    const int64_t bytes = part->bytes() / rows;
    for (int64_t r = 0; r < rows; ++r)
      std::memcpy(all.data() + r * total + at, part->data() + r * bytes,
                  static_cast<size_t>(bytes));
    at += bytes;
  }
  return std::make_shared<const ir::Array>(std::move(all));
}

class Merge : public Rewriter {
 public:
  Merge(Graph& g, JoinedConstants* known) : Rewriter(g), known_(known) {}

  void run() {
    std::map<std::tuple<ValueId, bool, bool>, std::vector<Projection>> alike;
    for (size_t n = 0; n < g_.nodes.size(); ++n) {
      if (const auto p = projection(n)) {
        const bool turned = std::get<MatMul>(g_.nodes[n].op).trans_b;
        alike[{g_.nodes[n].inputs[0], turned, p->bias.has_value()}].push_back(*p);
      }
    }
    for (const auto& [key, projections] : alike) {
      if (projections.size() > 1) merge(projections);
    }
  }

 private:
  const Node& node(size_t n) const { return g_.nodes[n]; }

  std::optional<Projection> projection(size_t n) const {
    const auto* m = std::get_if<MatMul>(&node(n).op);
    if (m == nullptr || m->trans_a) return std::nullopt;
    const ValueId w = node(n).inputs[1];
    if (value(node(n).inputs[0]).constant() || !value(w).constant() || shape(w).size() != 2 ||
        value(w).dtype != ir::kF32)
      return std::nullopt;
    Projection p;
    p.product = n;
    p.result = node(n).outputs[0];
    p.width = shape(w)[m->trans_b ? 0 : 1];
    add_bias(p);
    if (!feeds_product(p.result)) return std::nullopt;
    return p;
  }

  void add_bias(Projection& p) const {
    const auto r = only_reader(p.result);
    if (!r || node(*r).inputs.size() != 2) return;
    const auto* c = std::get_if<Compute>(&node(*r).op);
    if (c == nullptr || c->dag->ops.size() != 1) return;
    const auto* sum = c->dag->ops[0]->body.as<ir::Binary>();
    if (sum == nullptr || sum->op != ir::BinaryOp::kAdd || sum->a.as<ir::Load>() == nullptr ||
        sum->b.as<ir::Load>() == nullptr)
      return;
    const ValueId row = node(*r).inputs[node(*r).inputs[0] == p.result ? 1 : 0];
    const bool same = shape(node(*r).outputs[0]) == shape(p.result);
    if (!same || !value(row).constant() || shape(row) != Shape{p.width} ||
        classify(*c->dag) != Kind::kMap)
      return;
    p.bias = *r;
    p.row = row;
    p.result = node(*r).outputs[0];
  }

  // Through views, moves and maps of one operand to a product of activations.
  bool feeds_product(ValueId v) const {
    for (auto r = only_reader(v); r; r = only_reader(v)) {
      const Node& n = node(*r);
      if (std::holds_alternative<MatMul>(n.op))
        return !value(n.inputs[0]).constant() && !value(n.inputs[1]).constant();
      const bool moves =
          std::holds_alternative<Reshape>(n.op) || std::holds_alternative<Transpose>(n.op);
      if (!moves) return false;
      v = n.outputs[0];
    }
    return false;
  }

  ValueId joined(const std::vector<ValueId>& values, int64_t rows, const Shape& shape) {
    std::vector<Data> parts;
    for (const ValueId v : values) parts.push_back(value(v).data);
    const auto join = [&] { return join_columns(parts, rows, shape); };
    Data all = known_ != nullptr ? known_->find_or(parts, shape, join) : join();
    return add_value({value(values[0]).name + ".joined", ir::kF32, shape, std::move(all)});
  }

  ValueId add(const std::string& label, Op op, const std::vector<ValueId>& inputs,
              const std::vector<std::string>& names) {
    const ValueType t = infer(g_, op, inputs)[0];
    const ValueId out = add_value({value(inputs[0]).name + "." + label, t.dtype, t.shape, nullptr});
    add_node({std::move(op), inputs, {out}, label, names});
    return out;
  }

  void merge(const std::vector<Projection>& parts) {
    const Node first = node(parts[0].product);
    const MatMul product = std::get<MatMul>(first.op);
    const Shape w = shape(first.inputs[1]);
    std::vector<ValueId> weights, rows;
    std::vector<std::string> names;
    int64_t width = 0;
    for (const Projection& p : parts) {
      weights.push_back(node(p.product).inputs[1]);
      rows.push_back(p.row);
      width += p.width;
      const auto& of = node(p.product).nodes;
      names.insert(names.end(), of.begin(), of.end());
      if (p.bias) names.insert(names.end(), node(*p.bias).nodes.begin(), node(*p.bias).nodes.end());
    }
    const Shape shape = product.trans_b ? Shape{width, w[1]} : Shape{w[0], width};
    ValueId y = add(first.label, product,
                    {first.inputs[0], joined(weights, product.trans_b ? 1 : w[0], shape)}, names);
    if (parts[0].bias) y = add_row(y, joined(rows, 1, {width}), names);
    int64_t begin = 0;
    for (const Projection& p : parts) {
      replace_uses(p.result, slice(y, begin, p.width));
      begin += p.width;
    }
  }

  ValueId add_row(ValueId y, ValueId row, const std::vector<std::string>& names) {
    te::Builder b;
    const te::Tensor x = b.input("x0", ir::kF32, shape(y));
    const te::Tensor r = b.input("x1", ir::kF32, shape(row));
    b.output(te::elementwise(b, "bias", {x, r},
                             [](std::span<const ir::Expr> e) { return e[0] + e[1]; }));
    return add("bias", Compute{std::make_shared<const te::ComputeDag>(b.finish("bias"))}, {y, row},
               names);
  }

  ValueId slice(ValueId y, int64_t begin, int64_t width) {
    Shape part = shape(y);
    Shape from(part.size(), 0);
    from.back() = begin;
    te::Builder b;
    const te::Tensor x = b.input("x0", ir::kF32, part);
    part.back() = width;
    b.output(te::slice(b, "slice", x, from, part));
    return add("slice", Compute{std::make_shared<const te::ComputeDag>(b.finish("slice"))}, {y},
               {});
  }

  JoinedConstants* known_;  // may be null
};

}  // namespace

Data JoinedConstants::find_or(const std::vector<Data>& parts, const Shape& shape,
                              const std::function<Data()>& join) {
  const std::scoped_lock held(lock_);
  Data& known = known_[{parts, shape}];
  if (known == nullptr) known = join();
  return known;
}

void merge_products(Graph& g, const PassContext& context) {
  Merge(g, context.joined.get()).run();
  g.compact();
}

}  // namespace tenon::graph
