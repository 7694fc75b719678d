// SPDX-License-Identifier: Apache-2.0
//   sum over positions of dequantize(x)  ->  f32(sum of x - count * zero) * scale
// The mean of an image's channels reads 8 bits and adds integers, which is exact.
#include <algorithm>

#include "graph/passes.h"
#include "graph/passes/rewriter.h"

namespace tenon::graph {
namespace {

constexpr size_t kImageRank =
    4;  // shorter ones are rows, whose work is fused with what surrounds them
constexpr int64_t kMostCount = int64_t{1} << 22;  // numbers of 8 bits whose sum fits i32

// The first op adds up elements of the only input as they are, and no other op reads that.
bool sums_input(const te::ComputeDag& dag) {
  const te::ComputeOp& sum = *dag.ops[0];
  const te::Tensor& x = dag.inputs[0].tensor;
  if (sum.combiner != ir::BinaryOp::kAdd || x.rank() < kImageRank) return false;
  const auto* l = sum.body.as<ir::Load>();
  if (l == nullptr || !l->buffer.same_as(x)) return false;
  return std::none_of(dag.ops.begin() + 1, dag.ops.end(),
                      [&](const te::OpRef& op) { return ir::reads(op->body, x); });
}

class IntegerSums : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool run() {
    return each_node([&](size_t n) { return rewrite(n); });
  }

 private:
  bool rewrite(size_t at) {
    const auto* c = std::get_if<Compute>(&g_.nodes[at].op);
    if (c == nullptr || g_.nodes[at].inputs.size() != 1 || !sums_input(*c->dag)) return false;
    const Node* p = producer(g_.nodes[at].inputs[0]);
    if (p == nullptr || !makes_real(g_, *p) || std::get<Dequantize>(p->op).to != ir::kF32)
      return false;
    for (size_t i = 1; i < p->inputs.size(); ++i) {
      if (!value(p->inputs[i]).constant() || value(p->inputs[i]).elements() != 1) return false;
    }
    int64_t count = 1;
    for (const te::Axis& a : c->dag->ops[0]->reduce_axes) count *= a.extent;
    if (count > kMostCount) return false;
    const double zero = p->inputs.size() > 2 ? value(p->inputs[2]).data->get_double(0) : 0;
    const Terms terms{value(p->inputs[0]).dtype, count * static_cast<int64_t>(zero),
                      value(p->inputs[1]).data->get_double(0)};
    const ValueId stored = p->inputs[0];
    g_.nodes[at].op = Compute{std::make_shared<const te::ComputeDag>(whole(*c->dag, terms))};
    set_inputs(at, {stored});
    return true;
  }

  struct Terms {
    ir::DType type;  // of x
    int64_t zeros;   // all of them together
    double scale;
  };

  static te::ComputeDag whole(const te::ComputeDag& dag, const Terms& t) {
    te::Builder b;
    const te::ComputeOp& given = *dag.ops[0];
    const te::Tensor x = b.input(dag.inputs[0].tensor.name(), t.type, dag.inputs[0].tensor.shape());
    te::ComputeOp sum = given;
    sum.body = ir::cast(ir::kI32, ir::load(x, given.body.as<ir::Load>()->indices));
    sum.output = te::Tensor::make(given.name() + ".whole", ir::kI32, given.output.shape());
    const te::Tensor made = b.add(sum);
    const te::Tensor real =
        te::elementwise(b, given.name(), {made}, [&](std::span<const ir::Expr> v) {
          return ir::cast(ir::kF32, v[0] - ir::make_int(ir::kI32, t.zeros)) *
                 ir::make_float(ir::kF32, t.scale);
        });
    std::vector<std::pair<te::Tensor, te::Tensor>> renamed{{given.output, real}};
    for (size_t i = 1; i < dag.ops.size(); ++i)
      renamed.emplace_back(again(b, *dag.ops[i], renamed));
    for (const te::Tensor& out : dag.outputs) {
      for (const auto& [from, to] : renamed) {
        if (from.same_as(out)) b.output(to);
      }
    }
    return b.finish(dag.name);
  }

  // The op with its reads renamed; what it was and what it is.
  static std::pair<te::Tensor, te::Tensor> again(
      te::Builder& b, const te::ComputeOp& op,
      const std::vector<std::pair<te::Tensor, te::Tensor>>& renamed) {
    te::ComputeOp copy = op;
    copy.body = ir::rewrite(op.body, [&](const ir::Expr& e) -> ir::Expr {
      const auto* l = e.as<ir::Load>();
      if (l == nullptr) return e;
      for (const auto& [from, to] : renamed) {
        if (l->buffer.same_as(from)) return ir::load(to, l->indices);
      }
      return e;
    });
    copy.output = te::Tensor::make(op.name(), op.output.dtype(), op.output.shape());
    return {op.output, b.add(std::move(copy))};
  }
};

}  // namespace

void integer_sums(Graph& g, const PassContext&) {
  if (IntegerSums(g).run()) g.compact();
}

}  // namespace tenon::graph
