// SPDX-License-Identifier: Apache-2.0
#include "graph/random_attention.h"

#include "graph/builder.h"
#include "graph/random_graph.h"

namespace tenon::graph {
namespace {

using Exprs = std::span<const ir::Expr>;

class Maker {
 public:
  Maker(Rng& rng, const AttentionForm& form) : rng_(rng), f_(form), b_(g_) {}

  Graph run() {
    const int64_t width = f_.heads * f_.depth;
    const ValueId x = b_.input("x", ir::kF32, {f_.batch, f_.tokens, width});
    ValueId q, k, v;
    if (f_.packed) {
      const ValueId all = dense(x, 3 * width);
      q = slice(all, 0, width), k = slice(all, width, width), v = slice(all, 2 * width, width);
    } else {
      q = dense(x, width), k = dense(x, width), v = dense(x, width);
    }
    ValueId y = attend(heads(q, false), heads(k, true), heads(v, false));
    if (f_.transposed) y = b_.reshape(b_.transpose(y, {0, 2, 1, 3}), {f_.batch, f_.tokens, width});
    g_.add_output(y, "y");
    g_.compact();
    return std::move(g_);
  }

 private:
  ValueId dense(ValueId x, int64_t width) {
    const int64_t from = b_.shape(x).back();
    const ValueId w = b_.constant(random_array(rng_, ir::kF32, {from, width}));
    return b_.elementwise(
        "add",
        {b_.add("matmul", MatMul{}, {x, w}), b_.constant(random_array(rng_, ir::kF32, {width}))},
        [](Exprs e) { return e[0] + e[1]; });
  }

  ValueId slice(ValueId x, int64_t begin, int64_t width) {
    return b_.compute("slice", {x}, [&](te::Builder& t, std::span<const te::Tensor> in) {
      return te::slice(t, "slice", in[0], {0, 0, begin}, {f_.batch, f_.tokens, width});
    });
  }

  ValueId heads(ValueId x, bool turned) {
    x = b_.reshape(x, {f_.batch, f_.tokens, f_.heads, f_.depth});
    return b_.transpose(
        x, turned ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3});
  }

  ValueId scaled(ValueId x, double by) {
    if (rng_.chance(0.5)) {
      return b_.elementwise("div", {x, b_.scalar(ir::kF32, by)},
                            [](Exprs e) { return e[0] / e[1]; });
    }
    return b_.elementwise("mul", {b_.scalar(ir::kF32, 1 / by), x},
                          [](Exprs e) { return e[0] * e[1]; });
  }

  ValueId attend(ValueId q, ValueId k, ValueId v) {
    if (f_.scale >= 2) q = scaled(q, 2);
    if (f_.scale == 3) k = scaled(k, 1.5);
    ValueId s = b_.add("matmul", MatMul{}, {q, k});
    if (f_.scale == 1) s = scaled(s, 3);
    if (f_.mask) {
      const ValueId m = b_.input("mask", ir::kF32, {f_.batch, 1, 1, f_.tokens});
      s = b_.elementwise("add", {s, m}, [](Exprs e) { return e[0] + e[1]; });
    }
    return b_.add("matmul", MatMul{}, {f_.op_by_op ? softmax_ops(s) : softmax(s), v});
  }

  ValueId softmax(ValueId s) {
    return b_.compute("softmax", {s}, [](te::Builder& t, std::span<const te::Tensor> in) {
      return te::softmax(t, "softmax", in[0]);
    });
  }

  ValueId softmax_ops(ValueId s) {
    const auto reduce = [&](ValueId x, ir::BinaryOp op) {
      return b_.compute("reduce", {x}, [&](te::Builder& t, std::span<const te::Tensor> in) {
        return te::reduce_dims(t, "reduce", in[0], op, {-1}, true);
      });
    };
    const ValueId d = b_.elementwise("sub", {s, reduce(s, ir::BinaryOp::kMax)},
                                     [](Exprs e) { return e[0] - e[1]; });
    const ValueId p =
        b_.elementwise("exp", {d}, [](Exprs e) { return ir::call(ir::Intrinsic::kExp, {e[0]}); });
    return b_.elementwise("div", {p, reduce(p, ir::BinaryOp::kAdd)},
                          [](Exprs e) { return e[0] / e[1]; });
  }

  Rng& rng_;
  const AttentionForm& f_;
  Graph g_;
  GraphBuilder b_;
};

}  // namespace

AttentionForm random_form(Rng& rng) {
  AttentionForm f;
  f.batch = rng.between(1, 2);
  f.tokens = rng.between(8, 47);
  f.heads = rng.between(1, 4);
  f.depth = rng.between(2, 34);
  f.packed = rng.chance(0.5);
  f.scale = static_cast<int>(rng.between(0, 3));
  f.mask = rng.chance(0.5);
  f.op_by_op = rng.chance(0.5);
  f.transposed = rng.chance(0.75);
  return f;
}

Graph attention_graph(Rng& rng, const AttentionForm& form) { return Maker(rng, form).run(); }

}  // namespace tenon::graph
