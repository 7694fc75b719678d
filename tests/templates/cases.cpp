// SPDX-License-Identifier: Apache-2.0
#include "templates/cases.h"

#include <algorithm>
#include <optional>

#include "te/ops.h"
#include "te/splice.h"
#include "te/text.h"

namespace tenon::templates {
namespace {

te::ComputeDag conv_dag(std::vector<int64_t> x, std::vector<int64_t> w, te::ConvParams p,
                        bool epilogue) {
  te::Builder b;
  const auto in = b.input("X", ir::kF32, x);
  const auto weights = b.constant("W", ir::kF32, w);
  auto y = te::conv(b, "Y", in, weights, p);
  if (epilogue) y = te::relu(b, "R", y);
  b.output(y);
  return b.finish();
}

// Convolution, bias, residual, ReLU.
te::ComputeDag residual_dag() {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {1, 8, 9, 7});
  const auto w = b.constant("W", ir::kF32, {24, 8, 3, 3});
  const auto bias = b.constant("B", ir::kF32, {24, 1, 1});
  const auto r = b.input("R", ir::kF32, {1, 24, 9, 7});
  const auto y = te::conv(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, 1});
  const auto z = te::elementwise(b, "Z", {y, bias, r}, [](auto v) { return v[0] + v[1] + v[2]; });
  b.output(te::relu(b, "O", z));
  return b.finish();
}

te::ComputeDag matmul_dag(int64_t m, int64_t n, int64_t k, bool constant, bool ta, bool tb) {
  te::Builder b;
  const auto a =
      b.input("A", ir::kF32, ta ? std::vector<int64_t>{k, m} : std::vector<int64_t>{m, k});
  const std::vector<int64_t> shape = tb ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n};
  const auto w = constant ? b.constant("B", ir::kF32, shape) : b.input("B", ir::kF32, shape);
  b.output(te::matmul(b, "C", a, w, ta, tb));
  return b.finish();
}

template <class Fn>
te::ComputeDag unary_dag(std::vector<int64_t> shape, Fn&& fn) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, std::move(shape));
  b.output(fn(b, x));
  return b.finish();
}

te::ComputeDag layer_norm_dag(int64_t rows, int64_t n) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {rows, n});
  const auto g = b.constant("G", ir::kF32, {n});
  const auto h = b.constant("H", ir::kF32, {n});
  b.output(te::layer_norm(b, "Y", x, g, h, 1e-5));
  return b.finish();
}

te::ComputeDag depthwise_dag(int64_t c, int64_t h, int64_t w, int64_t stride) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {1, c, h, w});
  const auto k = b.constant("W", ir::kF32, {c, 1, 3, 3});
  b.output(te::depthwise_conv2d(b, "Y", x, k, {{stride, stride}, {1, 1}, {1, 1}, {}, 1}));
  return b.finish();
}

te::ComputeDag capsule_dag() {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {1, 5, 6, 3, 4, 4});
  const auto w = b.constant("W", ir::kF32, {3, 3, 3, 4, 4, 18});
  b.output(te::capsule_conv2d(b, "Y", x, w, {{2, 2}, {1, 1}, {1, 1}, {}, 1}));
  return b.finish();
}

te::ComputeDag transpose_dag(int64_t c, int64_t k, int64_t h, int64_t stride, int64_t kernel) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {1, c, h, h});
  const auto w = b.constant("W", ir::kF32, {c, k, kernel, kernel});
  b.output(te::conv_transpose(b, "Y", x, w, {{stride, stride}, {1, 1}, {1, 1}, {}, 1}));
  return b.finish();
}

// Layer normalisation op by op, over the last `over` dimensions, with a residual before and a scale after it.
te::ComputeDag layer_norm_ops_dag(std::vector<int64_t> shape, int64_t over, bool pair) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, shape);
  const auto r = b.input("R", ir::kF32, shape);
  const auto rank = static_cast<int64_t>(shape.size());
  std::vector<int64_t> dims, inner;
  double n = 1;
  for (int64_t d = rank - over; d < rank; ++d) {
    dims.push_back(d);
    inner.push_back(shape[static_cast<size_t>(d)]);
    n *= static_cast<double>(inner.back());
  }
  const auto g = b.constant("G", ir::kF32, inner);
  const auto h = b.constant("H", ir::kF32, inner);
  const auto mean = [&](const std::string& name, const te::Tensor& t) {
    const auto s = te::reduce_dims(b, name + ".sum", t, ir::BinaryOp::kAdd, dims, true);
    return te::elementwise(b, name, {s},
                           [n](auto v) { return v[0] / ir::make_float(ir::kF32, n); });
  };
  const auto a = pair ? te::elementwise(b, "A", {x, r}, [](auto v) { return v[0] + v[1]; }) : x;
  const auto centred =
      te::elementwise(b, "C", {a, mean("M", a)}, [](auto v) { return v[0] - v[1]; });
  const auto square = te::elementwise(b, "Q", {centred}, [](auto v) { return v[0] * v[0]; });
  const auto deviation = te::elementwise(b, "D", {mean("V", square)}, [](auto v) {
    return ir::call(ir::Intrinsic::kSqrt, {v[0] + ir::make_float(ir::kF32, 1e-5)});
  });
  const auto y = te::elementwise(b, "Y", {centred, deviation, g, h, r},
                                 [](auto v) { return v[0] / v[1] * v[2] + v[3] + v[4]; });
  b.output(y);
  return b.finish();
}

// Normalised over channels, the second dimension.
te::ComputeDag channel_norm_dag(std::vector<int64_t> shape) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, shape);
  const auto g = b.constant("G", ir::kF32, {shape[1], 1, 1});
  const auto s = te::reduce_dims(b, "S", x, ir::BinaryOp::kAdd, {1}, true);
  const double n = static_cast<double>(shape[1]);
  const auto c = te::elementwise(b, "C", {x, s},
                                 [n](auto v) { return v[0] - v[1] / ir::make_float(ir::kF32, n); });
  const auto q = te::elementwise(b, "Q", {c}, [](auto v) { return v[0] * v[0]; });
  const auto w = te::reduce_dims(b, "V", q, ir::BinaryOp::kAdd, {1}, true);
  b.output(te::elementwise(b, "Y", {c, w, g}, [](auto v) {
    return v[0] / ir::call(ir::Intrinsic::kSqrt, {v[1] + ir::make_float(ir::kF32, 1e-3)}) * v[2];
  }));
  return b.finish();
}

// Softmax over dimension 1 of three: exp is kept for the sum and the quotient.
te::ComputeDag middle_softmax_dag(std::vector<int64_t> shape) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, shape);
  const auto m = te::reduce_dims(b, "M", x, ir::BinaryOp::kMax, {1}, true);
  const auto e = te::elementwise(
      b, "E", {x, m}, [](auto v) { return ir::call(ir::Intrinsic::kExp, {v[0] - v[1]}); });
  const auto s = te::reduce_dims(b, "S", e, ir::BinaryOp::kAdd, {1}, true);
  b.output(te::elementwise(b, "Y", {e, s}, [](auto v) { return v[0] / v[1]; }));
  return b.finish();
}

// Scaled, masked scores.
te::ComputeDag masked_softmax_dag() {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {2, 3, 5, 41});
  const auto mask = b.input("K", ir::kF32, {2, 1, 1, 41});
  const auto z = te::elementwise(
      b, "Z", {x, mask}, [](auto v) { return v[0] * ir::make_float(ir::kF32, 0.125) + v[1]; });
  b.output(te::softmax(b, "Y", z));
  return b.finish();
}

te::ComputeDag concat_dag(const std::vector<int64_t>& channels, bool epilogue) {
  te::Builder b;
  std::vector<te::Tensor> parts;
  for (const int64_t c : channels)
    parts.push_back(b.input("X" + std::to_string(parts.size()), ir::kF32, {1, c, 5, 7}));
  auto y = te::concat(b, "Y", parts, 1);
  if (epilogue) {
    const auto g = b.constant("G", ir::kF32, {y.shape()[1], 1, 1});
    y = te::elementwise(b, "Z", {y, g}, [](auto v) { return v[0] * v[1]; });
  }
  b.output(y);
  return b.finish();
}

te::ComputeDag typed_conv_dag(ir::DType t, int64_t groups) {
  te::Builder b;
  const auto x = b.input("X", t, {1, 16, 6, 5});
  const auto w = b.constant("W", t, {16, 16 / groups, 3, 3});
  const auto y = te::conv(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, groups});
  b.output(te::elementwise(b, "O", {y}, [t](auto v) { return ir::cast(t, v[0]); }));
  return b.finish();
}

te::ComputeDag typed_matmul_dag(ir::DType t) {
  te::Builder b;
  const auto x = b.input("X", t, {9, 20});
  const auto w = b.constant("W", t, {20, 19});
  b.output(te::matmul(b, "Y", x, w));
  return b.finish();
}

te::ComputeDag typed_pool_dag(ir::DType t) {
  te::Builder b;
  const auto x = b.input("X", t, {1, 18, 6, 9});
  b.output(te::pool(b, "Y", x, te::Pool::kMax, {3, 3}, {{2, 2}, {1, 1}, {1, 1}, {}, 1}));
  return b.finish();
}

te::ComputeDag typed_softmax_dag(ir::DType t) {
  te::Builder b;
  b.output(te::softmax(b, "Y", b.input("X", t, {5, 70})));
  return b.finish();
}

te::ComputeDag typed_sum_dag(ir::DType t) {
  te::Builder b;
  const auto x = b.input("X", t, {2, 20, 4, 3});
  const auto y = b.input("Y", t, {2, 20, 4, 3});
  b.output(te::elementwise(
      b, "Z", {x, y}, [](auto v) { return ir::select(ir::lt(v[0], v[1]), v[0], v[0] + v[1]); }));
  return b.finish();
}

te::ComputeDag bool_dag() {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {2, 20, 4, 3});
  const auto y = b.input("Y", ir::kBool, {2, 20, 4, 3});
  const auto z = te::elementwise(b, "Z", {x, y}, [](auto v) {
    return ir::logical_and(v[1], ir::lt(v[0], ir::make_float(ir::kF32, 0.25)));
  });
  b.output(te::reduce_dims(b, "A", z, ir::BinaryOp::kOr, {3}, false));
  return b.finish();
}

// Convolution, bias [1, K, 1, 1], a scale per channel that is computed, hard-swish, a residual.
te::ComputeDag excited_dag() {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {2, 12, 6, 7});
  const auto w = b.constant("W", ir::kF32, {20, 12, 1, 1});
  const auto bias = b.constant("B", ir::kF32, {1, 20, 1, 1});
  const auto s = b.input("S", ir::kF32, {2, 20, 1, 1});
  const auto r = b.input("R", ir::kF32, {2, 20, 6, 7});
  const auto f = [](double v) { return ir::make_float(ir::kF32, v); };
  const auto y = te::conv(b, "Y", x, w, {});
  const auto z = te::elementwise(b, "Z", {y, bias, s}, [](auto v) { return (v[0] + v[1]) * v[2]; });
  const auto h = te::elementwise(
      b, "H", {z}, [f](auto v) { return v[0] * ir::min(ir::max(v[0] + f(3), f(0)), f(6)) / f(6); });
  b.output(te::elementwise(b, "O", {h, r}, [](auto v) { return v[0] + v[1]; }));
  return b.finish();
}

te::ComputeDag copy_dag(std::vector<int64_t> shape) {
  te::Builder b;
  b.output(te::elementwise(b, "Y", {b.input("X", ir::kF32, std::move(shape))},
                           [](auto v) { return v[0]; }));
  return b.finish();
}

// Poses of capsules, their rows to the front: whole lines of X are far apart in Y.
te::ComputeDag poses_dag(int64_t h, int64_t w, int64_t c, int64_t size) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {h, w, c, size, size});
  b.output(te::transpose(b, "Y", x, {3, 2, 4, 0, 1}));
  return b.finish();
}

// Both operands are contiguous along the sum.
te::ComputeDag scores_dag(int64_t rows, int64_t columns, int64_t depth) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {rows, depth});
  const auto w = b.input("W", ir::kF32, {columns, depth});
  b.output(te::matmul(b, "Y", x, te::transpose(b, "T", w, {1, 0})));
  return te::inlined(b.finish(), [](const te::ComputeOp& op) { return op.name() == "T"; });
}

// Every type that a family can be written in.
void add_typed(std::vector<Case>& all) {
  const std::pair<const char*, ir::DType> kTypes[] = {
      {"f16", ir::kF16}, {"bf16", ir::kBF16}, {"f64", ir::kF64}, {"i8", ir::kI8},
      {"u8", ir::kU8},   {"i32", ir::kI32},   {"i64", ir::kI64}};
  for (const auto& [name, t] : kTypes) {
    const std::string n = name;
    const ir::DType type = t;
    all.push_back({"", "conv_" + n, [type] { return typed_conv_dag(type, 1); }});
    all.push_back({"", "depthwise_" + n, [type] { return typed_conv_dag(type, 16); }});
    all.push_back({"", "matmul_" + n, [type] { return typed_matmul_dag(type); }});
    all.push_back({"", "pool_" + n, [type] { return typed_pool_dag(type); }});
    all.push_back({"", "sum_" + n, [type] { return typed_sum_dag(type); }});
    if (type.is_float())
      all.push_back({"", "softmax_" + n, [type] { return typed_softmax_dag(type); }});
  }
  all.push_back({"", "bool", [] { return bool_dag(); }});
}

// A pointwise convolution whose weights are scaled per input channel, with a bias behind it.
te::ComputeDag scaled_weights_dag() {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {1, 20, 9, 7});
  const auto w = b.constant("W", ir::kF32, {24, 20, 1, 1});
  const auto s = b.input("S", ir::kF32, {1, 20, 1, 1});
  const auto bias = b.constant("B", ir::kF32, {24, 1, 1});
  const auto ws = te::elementwise(b, "V", {w, s}, [](auto v) { return v[0] * v[1]; });
  const auto y = te::conv(b, "Y", x, ws, {});
  b.output(te::elementwise(b, "Z", {y, bias}, [](auto v) { return v[0] + v[1]; }));
  return b.finish();
}

// softmax(q k / 3) v of `heads` products: `rows` queries, `columns` keys. `moved`: all three are parts of one tensor,
// and the heads of the result stand behind its rows.
te::ComputeDag attention_dag(int64_t heads, int64_t rows, int64_t columns, int64_t depth,
                             bool moved, bool scale) {
  te::Builder b;
  const auto operand = [&](const std::string& name, int64_t n, int64_t part,
                           const te::Tensor* all) {
    if (all == nullptr) return b.input(name, ir::kF32, {heads, n, depth});
    return b.compute(name, {heads, n, depth}, [&](std::span<const ir::Var> at) {
      return ir::load(*all, {at[1], at[0] * depth + at[2] + part * heads * depth});
    });
  };
  std::optional<te::Tensor> all;
  if (moved) all = b.input("X", ir::kF32, {std::max(rows, columns), 3 * heads * depth});
  const te::Tensor* from = moved ? &*all : nullptr;
  const auto q = operand("Q", rows, 0, from);
  const auto k = operand("K", columns, 1, from);
  const auto v = operand("V", columns, 2, from);
  auto s = te::batch_matmul(b, "S", q, k, false, true);
  if (scale) {
    s = te::elementwise(b, "D", {s}, [](auto e) { return e[0] / ir::make_float(ir::kF32, 3); });
  }
  auto o = te::batch_matmul(b, "O", te::softmax(b, "P", s), v);
  if (moved) o = te::transpose(b, "T", o, {1, 0, 2});
  b.output(o);
  return b.finish();
}

// Two batch dimensions, a mask, softmax written out, and work on the result.
te::ComputeDag masked_attention_dag() {
  return te::parse(
      "input Q: f32[2, 11, 3, 8]\ninput K: f32[2, 3, 8, 21]\ninput V: f32[2, 3, 21, 8]\n"
      "input M: f32[2, 21]\n"
      "S[b: 2, h: 3, i: 11, j: 21] = sum(k: 8) Q[b, i, h, k] * K[b, h, k, j]\n"
      "A[b: 2, h: 3, i: 11, j: 21] = S[b, h, i, j] * 0.5 + M[b, j]\n"
      "X[b: 2, h: 3, i: 11, one: 1] = max(j: 21) A[b, h, i, j]\n"
      "D[b: 2, h: 3, i: 11, j: 21] = A[b, h, i, j] - X[b, h, i, 0]\n"
      "E[b: 2, h: 3, i: 11, j: 21] = exp(D[b, h, i, j])\n"
      "Z[b: 2, h: 3, i: 11, one: 1] = sum(j: 21) E[b, h, i, j]\n"
      "P[b: 2, h: 3, i: 11, j: 21] = E[b, h, i, j] / Z[b, h, i, 0]\n"
      "O[b: 2, h: 3, i: 11, d: 8] = sum(j: 21) P[b, h, i, j] * V[b, h, j, d]\n"
      "R[b: 2, h: 3, i: 11, d: 8] = max(O[b, h, i, d], 0.0)\n"
      "T[b: 2, i: 11, h: 3, d: 8] = R[b, h, i, d]\noutput T\n");
}

}  // namespace

std::vector<Case> cases() {
  using te::ConvParams;
  const ConvParams same{{1, 1}, {1, 1}, {1, 1}, {}, 1};
  const ConvParams half{{2, 2}, {1, 1}, {1, 1}, {}, 1};
  std::vector<Case> all{
      {"conv", "conv3x3",
       [=] {
         return conv_dag({1, 16, 7, 7}, {32, 16, 3, 3}, same, false);
       }},
      {"conv", "conv3x3_relu",
       [=] {
         return conv_dag({1, 16, 5, 9}, {32, 16, 3, 3}, same, true);
       }},
      {"conv", "conv3x3_odd",
       [=] {
         return conv_dag({2, 5, 7, 11}, {19, 5, 3, 3}, same, true);
       }},
      {"conv", "conv3x3_s2",
       [=] {
         return conv_dag({1, 8, 13, 15}, {24, 8, 3, 3}, half, false);
       }},
      {"conv", "stem",
       [=] {
         return conv_dag({1, 3, 17, 17}, {32, 3, 7, 7}, {{2, 2}, {3, 3}, {3, 3}, {}, 1}, false);
       }},
      {"conv", "pointwise",
       [=] {
         return conv_dag({1, 20, 7, 7}, {40, 20, 1, 1}, {}, true);
       }},
      {"conv", "conv1d",
       [=] {
         return conv_dag({1, 8, 23}, {16, 8, 5}, {{2}, {2}, {1}, {}, 1}, false);
       }},
      {"conv", "conv3d",
       [=] {
         return conv_dag({1, 4, 5, 5, 6}, {16, 4, 3, 3, 3},
                         {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}, 1}, false);
       }},
      {"conv", "dilated",
       [=] {
         return conv_dag({1, 8, 9, 9}, {16, 8, 3, 3}, {{1, 1}, {2, 2}, {2, 2}, {2, 2}, 1}, false);
       }},
      {"conv", "residual", [=] { return residual_dag(); }},
      {"conv", "grouped",
       [=] {
         return conv_dag({1, 8, 6, 6}, {24, 4, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {}, 2}, false);
       }},
      {"conv", "grouped_pointwise",
       [=] {
         return conv_dag({1, 12, 5, 5}, {48, 4, 1, 1}, {{}, {}, {}, {}, 3}, true);
       }},
      {"plain", "small_groups",
       [=] {
         return conv_dag({1, 8, 6, 6}, {6, 4, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {}, 2}, false);
       }},
      {"depthwise", "depthwise", [=] { return depthwise_dag(32, 7, 7, 1); }},
      {"depthwise", "depthwise_odd", [=] { return depthwise_dag(19, 8, 9, 2); }},
      {"depthwise", "depthwise_by_groups",
       [=] {
         return conv_dag({2, 20, 9, 10}, {20, 1, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {}, 20}, true);
       }},
      {"depthwise", "depthwise_1d",
       [=] {
         return conv_dag({1, 17, 29}, {17, 1, 5}, {{1}, {2}, {2}, {}, 17}, true);
       }},
      {"depthwise", "depthwise_3d",
       [=] {
         return conv_dag({1, 16, 4, 5, 6}, {16, 1, 3, 3, 3},
                         {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}, 16}, false);
       }},
      {"depthwise", "depthwise_wide", [=] { return depthwise_dag(5, 16, 32, 1); }},
      {"depthwise", "depthwise_wide_s2", [=] { return depthwise_dag(5, 15, 31, 2); }},
      {"conv", "pointwise_wide",
       [=] {
         return conv_dag({1, 24, 16, 9}, {16, 24, 1, 1}, {}, true);
       }},
      {"elementwise", "copy",
       [=] {
         return copy_dag({2, 48, 5, 7});
       }},
      {"elementwise", "copy_sequence",
       [=] {
         return copy_dag({1, 32, 16});
       }},
      {"elementwise", "poses", [=] { return poses_dag(3, 16, 2, 4); }},
      {"elementwise", "poses_odd", [=] { return poses_dag(5, 8, 3, 3); }},
      {"matmul", "scores", [=] { return scores_dag(9, 35, 24); }},
      {"matmul", "scores_odd", [=] { return scores_dag(7, 18, 13); }},
      {"conv", "scaled_weights", [=] { return scaled_weights_dag(); }},
      {"attention", "attention", [=] { return attention_dag(2, 19, 33, 24, true, true); }},
      {"attention", "attention_odd", [=] { return attention_dag(3, 13, 17, 7, true, false); }},
      {"attention", "attention_inputs", [=] { return attention_dag(4, 9, 48, 16, false, true); }},
      {"attention", "attention_one_head", [=] { return attention_dag(1, 40, 21, 32, true, true); }},
      {"attention", "attention_masked", [=] { return masked_attention_dag(); }},
      {"conv_transpose", "transposed", [=] { return transpose_dag(16, 32, 4, 2, 4); }},
      {"conv_transpose", "transposed_odd", [=] { return transpose_dag(6, 3, 5, 2, 3); }},
      {"matmul", "matmul", [=] { return matmul_dag(33, 64, 20, true, false, false); }},
      {"matmul", "matmul_plain", [=] { return matmul_dag(17, 48, 19, false, false, false); }},
      {"matmul", "matmul_odd", [=] { return matmul_dag(13, 37, 11, false, false, true); }},
      {"matmul", "matmul_ta", [=] { return matmul_dag(7, 33, 5, true, true, false); }},
      {"matmul", "matvec", [=] { return matmul_dag(1, 35, 9, true, false, false); }},
      {"contraction", "capsule", [=] { return capsule_dag(); }},
      {"rows", "softmax",
       [=] {
         return unary_dag({5, 7, 50}, [](te::Builder& b, const te::Tensor& x) {
           return te::softmax(b, "Y", x);
         });
       }},
      {"rows", "layer_norm", [=] { return layer_norm_dag(9, 67); }},
      {"rows", "row_sum",
       [=] {
         return unary_dag({37, 300}, [](te::Builder& b, const te::Tensor& x) {
           return te::reduce_dims(b, "Y", x, ir::BinaryOp::kAdd, {1}, false);
         });
       }},
      {"", "fewer_axes_than_the_sum",
       [=] {
         return te::parse(
             "input X: f32[4, 5, 6]\nS[i: 4, j: 5] = sum(k: 6) X[i, j, k]\nY[i: 4] = S[i, 2] + "
             "1.0\noutput Y\n");
       }},
      {"", "inner_product",
       [=] {
         return te::parse(
             "input A: f32[61]\ninput B: f32[61]\nY[] = sum(k: 61) A[k] * B[k]\noutput Y\n");
       }},
      {"reduce_all", "norm2",
       [=] {
         return unary_dag({1, 61, 67},
                          [](te::Builder& b, const te::Tensor& x) { return te::norm2(b, "Y", x); });
       }},
      {"elementwise", "gelu",
       [=] {
         return unary_dag({5, 83},
                          [](te::Builder& b, const te::Tensor& x) { return te::gelu(b, "Y", x); });
       }},
      {"elementwise", "transpose",
       [=] {
         return unary_dag({5, 7, 33}, [](te::Builder& b, const te::Tensor& x) {
           return te::transpose(b, "Y", x, {2, 0, 1});
         });
       }},
      {"elementwise", "transpose2d",
       [=] {
         return unary_dag({37, 21}, [](te::Builder& b, const te::Tensor& x) {
           return te::transpose(b, "Y", x, {1, 0});
         });
       }},
      {"pool", "max_pool",
       [=] {
         return unary_dag({1, 3, 21, 37}, [](te::Builder& b, const te::Tensor& x) {
           return te::pool(b, "Y", x, te::Pool::kMax, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, {}, 1});
         });
       }},
      {"pool", "max_pool_same",
       [=] {
         return unary_dag({2, 19, 7, 9}, [](te::Builder& b, const te::Tensor& x) {
           return te::pool(b, "Y", x, te::Pool::kMax, {3, 3}, {{2, 2}, {1, 1}, {1, 1}, {}, 1});
         });
       }},
      {"pool", "average_pool",
       [=] {
         return unary_dag({1, 20, 8, 21}, [](te::Builder& b, const te::Tensor& x) {
           return te::pool(b, "Y", x, te::Pool::kAverage, {3, 2}, {{1, 2}, {1, 1}, {1, 0}, {}, 1});
         });
       }},
      {"", "average_pool_1d",
       [=] {
         return unary_dag({1, 5, 40}, [](te::Builder& b, const te::Tensor& x) {
           return te::pool(b, "Y", x, te::Pool::kAverageIncludePad, {4}, {{2}, {1}, {1}, {}, 1});
         });
       }},
      {"", "global_average",
       [=] {
         return unary_dag({2, 35, 7, 6}, [](te::Builder& b, const te::Tensor& x) {
           const auto s = te::reduce_dims(b, "S", x, ir::BinaryOp::kAdd, {2, 3}, false);
           return te::elementwise(b, "Y", {s},
                                  [](auto v) { return v[0] / ir::make_float(ir::kF32, 42.0); });
         });
       }},
      {"", "global_average_kept",
       [=] {
         return unary_dag({1, 32, 5, 5}, [](te::Builder& b, const te::Tensor& x) {
           const auto r = te::relu(b, "R", x);
           const auto s = te::reduce_dims(b, "S", r, ir::BinaryOp::kAdd, {2, 3}, true);
           return te::elementwise(b, "Y", {s},
                                  [](auto v) { return v[0] / ir::make_float(ir::kF32, 25.0); });
         });
       }},
      {"rows", "layer_norm_ops",
       [=] {
         return layer_norm_ops_dag({3, 5, 43}, 1, true);
       }},
      {"rows", "layer_norm_pairs",
       [=] {
         return layer_norm_ops_dag({28, 530}, 1, false);
       }},
      {"rows", "layer_norm_two_dims",
       [=] {
         return layer_norm_ops_dag({6, 5, 9}, 2, true);
       }},
      {"rows", "channel_norm",
       [=] {
         return channel_norm_dag({2, 13, 5, 19});
       }},
      {"rows", "middle_softmax",
       [=] {
         return middle_softmax_dag({3, 11, 37});
       }},
      {"rows", "masked_softmax", [=] { return masked_softmax_dag(); }},
      {"rows", "one_softmax",
       [=] {
         return unary_dag(
             {1, 1001}, [](te::Builder& b, const te::Tensor& x) { return te::softmax(b, "Y", x); });
       }},
      {"matmul", "attention_scores",
       [=] {
         return te::parse(
             "input X: f32[3, 1, 2, 21, 8]\nM[b: 1, h: 2, i: 21, j: 21] = sum(k: 8) X[0, 0, h, i, "
             "k] "
             "* X[1, 0, h, j, k]\nY[b: 1, h: 2, i: 21, j: 21] = M[0, h, i, j] / 8.0\noutput Y\n");
       }},
      {"matmul", "attention_from_rows",
       [=] {
         return te::parse(
             "input X: f32[1, 19, 12]\ninput Y: f32[1, 19, 12]\nM[b: 1, h: 3, i: 19, j: 19] = "
             "sum(k: "
             "4) X[b, i, h * 4 + k] * Y[b, j, h * 4 + k]\noutput M\n");
       }},
      {"matmul", "step", [=] { return matmul_dag(3, 131, 33, true, false, true); }},
      {"elementwise", "concat",
       [=] {
         return concat_dag({16, 32, 16}, false);
       }},
      {"elementwise", "concat_many",
       [=] {
         return concat_dag({16, 8, 8, 16, 8, 8, 4, 12}, true);
       }},
      {"elementwise", "concat_odd",
       [=] {
         return concat_dag({5, 24, 3}, true);
       }},
      {"elementwise", "slice",
       [=] {
         return unary_dag({2, 40, 6, 5}, [](te::Builder& b, const te::Tensor& x) {
           return te::slice(b, "Y", x, {0, 16, 1, 0}, {2, 16, 4, 5});
         });
       }},
      {"elementwise", "channel_shuffle",
       [=] {
         return unary_dag({1, 24, 5, 6}, [](te::Builder& b, const te::Tensor& x) {
           const auto r = te::reshape(b, "R", x, {1, 2, 12, 5, 6});
           const auto t = te::transpose(b, "T", r, {0, 2, 1, 3, 4});
           return te::reshape(b, "Y", t, {1, 24, 5, 6});
         });
       }},
      {"elementwise", "pad",
       [=] {
         return unary_dag({1, 20, 6, 9}, [](te::Builder& b, const te::Tensor& x) {
           return te::pad(b, "Y", x, {0, 0, 1, 2}, {0, 4, 2, 1}, 1.5);
         });
       }},
      {"matmul", "rows_in_front",
       [=] {
         return te::parse(
             "input X: f32[13, 1, 20]\nconst W: f32[20, 37]\nconst B: f32[37]\nM[t: 13, b: "
             "1, "
             "j: 37] = sum(k: 20) X[t, 0, k] * W[k, j]\nY[t: 13, b: 1, j: 37] = M[t, 0, j] + "
             "B[j]\noutput Y\n");
       }},
      {"matmul", "batched_rows",
       [=] {
         return te::parse(
             "input X: f32[3, 7, 11]\ninput W: f32[11, 18]\nM[b: 3, i: 7, j: 18] = sum(k: 11) X[b, "
             "i, "
             "k] * W[k, j]\noutput M\n");
       }},
      {"matmul", "batch_of_rows",
       [=] {
         return te::parse(
             "input X: f32[5, 11]\ninput W: f32[5, 11, 18]\nM[b: 5, j: 18] = sum(k: 11) X[b, k] * "
             "W[b, "
             "k, j]\noutput M\n");
       }},
      {"conv", "excited", [=] { return excited_dag(); }},
      {"conv", "wide_image",
       [=] {
         return conv_dag({1, 8, 6, 67}, {20, 8, 3, 3}, same, true);
       }},
      {"conv", "wide_image_s2",
       [=] {
         return conv_dag({2, 5, 7, 131}, {16, 5, 3, 3}, half, false);
       }},
      {"conv", "long_sequence",
       [=] {
         return conv_dag({1, 8, 150}, {24, 8, 7}, {{1}, {3}, {3}, {}, 1}, true);
       }},
      {"conv", "video_stem",
       [=] {
         return conv_dag({1, 3, 3, 10, 14}, {16, 3, 3, 7, 7},
                         {{1, 2, 2}, {1, 3, 3}, {1, 3, 3}, {}, 1}, true);
       }},
      {"conv", "grouped_wide",
       [=] {
         return conv_dag({1, 16, 5, 66}, {32, 4, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, {}, 4}, true);
       }},
      {"", "depthwise_7x7",
       [=] {
         return conv_dag({1, 18, 9, 11}, {18, 1, 7, 7}, {{1, 1}, {3, 3}, {3, 3}, {}, 18}, true);
       }},
      {"elementwise", "resize_nearest",
       [=] {
         return te::parse(
             "input X: f32[2, 20, 4, 5]\nY[n: 2, c: 20, y: 8, x: 15] = X[n, c, y // 2, x // "
             "3]\noutput Y\n");
       }},
      {"elementwise", "depth_to_space",
       [=] {
         return te::parse(
             "input X: f32[1, 12, 4, 5]\nY[n: 1, c: 3, y: 8, x: 10] = X[n, c * 4 + y % 2 * 2 + x % "
             "2, y "
             "// 2, x // 2]\noutput Y\n");
       }},
      {"conv", "few_channels",
       [=] {
         return conv_dag({1, 16, 6, 9}, {3, 16, 3, 3}, same, true);
       }},
      {"", "one_channel",
       [=] {
         return conv_dag({1, 16, 6, 9}, {1, 16, 3, 3}, same, false);
       }},
  };
  add_typed(all);
  return all;
}

}  // namespace tenon::templates
