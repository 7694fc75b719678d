// SPDX-License-Identifier: Apache-2.0
#include "templates/case_tables.h"

#include "te/ops.h"

namespace tenon::templates {
namespace {

te::ComputeDag layer_norm_dag(int64_t rows, int64_t n) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {rows, n});
  const auto g = b.constant("G", ir::kF32, {n});
  const auto h = b.constant("H", ir::kF32, {n});
  b.output(te::layer_norm(b, "Y", x, g, h, 1e-5));
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

}  // namespace

std::vector<Case> row_cases() {
  return {
      unary("rows", "softmax", {5, 7, 50},
            [](te::Builder& b, const te::Tensor& x) { return te::softmax(b, "Y", x); }),
      unary("rows", "softmax_of_31", {3, 5, 31},
            [](te::Builder& b, const te::Tensor& x) { return te::softmax(b, "Y", x); }),
      unary("rows", "softmax_of_7", {3, 9, 7},
            [](te::Builder& b, const te::Tensor& x) { return te::softmax(b, "Y", x); }),
      {"rows", "layer_norm", [] { return layer_norm_dag(9, 67); }},
      {"rows", "layer_norm_of_13", [] { return layer_norm_dag(9, 13); }},
      unary("rows", "row_sum", {37, 300},
            [](te::Builder& b, const te::Tensor& x) {
              return te::reduce_dims(b, "Y", x, ir::BinaryOp::kAdd, {1}, false);
            }),
      parsed("", "fewer_axes_than_the_sum",
             "input X: f32[4, 5, 6]\n"
             "S[i: 4, j: 5] = sum(k: 6) X[i, j, k]\n"
             "Y[i: 4] = S[i, 2] + 1.0\n"
             "output Y\n"),
      unary("reduce_all", "norm2", {1, 61, 67},
            [](te::Builder& b, const te::Tensor& x) { return te::norm2(b, "Y", x); }),
      {"rows", "layer_norm_ops",
       [] {
         return layer_norm_ops_dag({3, 5, 43}, 1, true);
       }},
      {"rows", "layer_norm_pairs",
       [] {
         return layer_norm_ops_dag({28, 530}, 1, false);
       }},
      {"rows", "layer_norm_two_dims",
       [] {
         return layer_norm_ops_dag({6, 5, 9}, 2, true);
       }},
      {"rows", "channel_norm",
       [] {
         return channel_norm_dag({2, 13, 5, 19});
       }},
      {"rows", "middle_softmax",
       [] {
         return middle_softmax_dag({3, 11, 37});
       }},
      {"rows", "masked_softmax", [] { return masked_softmax_dag(); }},
      unary("rows", "one_softmax", {1, 1001},
            [](te::Builder& b, const te::Tensor& x) { return te::softmax(b, "Y", x); }),
      unary("columns", "sum_of_rows", {9, 7, 37},
            [](te::Builder& b, const te::Tensor& x) {
              return te::reduce_dims(b, "Y", x, ir::BinaryOp::kAdd, {0, 1}, false);
            }),
      unary("columns", "largest_of_channels", {2, 13, 5, 19},
            [](te::Builder& b, const te::Tensor& x) {
              const auto s = te::reduce_dims(b, "S", x, ir::BinaryOp::kMax, {1}, true);
              return te::relu(b, "Y", s);
            }),
      unary("columns", "sum_of_narrow_rows", {130, 5},
            [](te::Builder& b, const te::Tensor& x) {
              return te::reduce_dims(b, "Y", x, ir::BinaryOp::kAdd, {0}, false);
            }),
      parsed("fused", "neighbours_mixed",
             "input X: f32[3, 8, 21]\n"
             "const W: f32[7, 2]\n"
             "S[c: 3, i: 7, j: 21] = sum(k: 2) X[c, i + k, j] * W[i, k]\n"
             "Y[c: 3, i: 7, j: 21] = max(S[c, i, j], 0.0)\n"
             "output Y\n"),
      parsed("fused", "resized_rows",
             "input X: f32[2, 3, 29]\n"
             "const W: f32[2, 87]\n"
             "S[c: 2, i: 3, j: 87] = sum(k: 2) "
             "X[c, i, min(max((j - 1) // 3 + k, 0), 28)] * W[k, j]\n"
             "Y[c: 2, i: 3, j: 87] = max(S[c, i, j], 0.0)\n"
             "output Y\n"),
      parsed("fused", "resized_short_rows",
             "input X: f32[2, 3, 14]\n"
             "const W: f32[2, 21]\n"
             "S[c: 2, i: 3, j: 21] = sum(k: 2) "
             "X[c, i, min(max((j * 2 - 1) // 3 + k, 0), 13)] * W[k, j]\n"
             "Y[c: 2, i: 3, j: 21] = max(S[c, i, j], 0.0)\n"
             "output Y\n"),
  };
}

std::vector<Case> pool_cases() {
  return {
      unary("pool", "max_pool", {1, 3, 21, 37},
            [](te::Builder& b, const te::Tensor& x) {
              return te::pool(b, "Y", x, te::Pool::kMax, {3, 3}, {{1, 1}, {1, 1}, {1, 1}, {}, 1});
            }),
      unary("pool", "max_pool_same", {2, 19, 7, 9},
            [](te::Builder& b, const te::Tensor& x) {
              return te::pool(b, "Y", x, te::Pool::kMax, {3, 3}, {{2, 2}, {1, 1}, {1, 1}, {}, 1});
            }),
      unary(
          "pool", "average_pool", {1, 20, 8, 21},
          [](te::Builder& b, const te::Tensor& x) {
            return te::pool(b, "Y", x, te::Pool::kAverage, {3, 2}, {{1, 2}, {1, 1}, {1, 0}, {}, 1});
          }),
      unary("", "average_pool_1d", {1, 5, 40},
            [](te::Builder& b, const te::Tensor& x) {
              return te::pool(b, "Y", x, te::Pool::kAverageIncludePad, {4}, {{2}, {1}, {1}, {}, 1});
            }),
      unary("", "global_average", {2, 35, 7, 6},
            [](te::Builder& b, const te::Tensor& x) {
              const auto s = te::reduce_dims(b, "S", x, ir::BinaryOp::kAdd, {2, 3}, false);
              return te::elementwise(b, "Y", {s},
                                     [](auto v) { return v[0] / ir::make_float(ir::kF32, 42.0); });
            }),
      unary("", "global_average_kept", {1, 32, 5, 5},
            [](te::Builder& b, const te::Tensor& x) {
              const auto r = te::relu(b, "R", x);
              const auto s = te::reduce_dims(b, "S", r, ir::BinaryOp::kAdd, {2, 3}, true);
              return te::elementwise(b, "Y", {s},
                                     [](auto v) { return v[0] / ir::make_float(ir::kF32, 25.0); });
            }),
      unary("pool", "max_pool_s3", {1, 5, 20, 43},
            [](te::Builder& b, const te::Tensor& x) {
              return te::pool(b, "Y", x, te::Pool::kMax, {7, 7}, {{3, 3}, {3, 3}, {3, 3}, {}, 1});
            }),
      unary("pool", "max_pool_s2", {1, 3, 19, 19},
            [](te::Builder& b, const te::Tensor& x) {
              return te::pool(b, "Y", x, te::Pool::kMax, {3, 3}, {{2, 2}, {1, 1}, {1, 1}, {}, 1});
            }),
      unary("pool", "max_pool_s4", {1, 3, 17, 25},
            [](te::Builder& b, const te::Tensor& x) {
              return te::pool(b, "Y", x, te::Pool::kMax, {5, 5}, {{4, 4}, {2, 2}, {2, 2}, {}, 1});
            }),
  };
}

}  // namespace tenon::templates
