// SPDX-License-Identifier: Apache-2.0
#include "templates/case_tables.h"

#include <algorithm>
#include <optional>

#include "te/ops.h"
#include "te/splice.h"
#include "te/text.h"

namespace tenon::templates {
namespace {

te::ComputeDag matmul_dag(int64_t m, int64_t n, int64_t k, bool constant, bool ta, bool tb) {
  te::Builder b;
  const auto a =
      b.input("A", ir::kF32, ta ? std::vector<int64_t>{k, m} : std::vector<int64_t>{m, k});
  const std::vector<int64_t> shape = tb ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n};
  const auto w = constant ? b.constant("B", ir::kF32, shape) : b.input("B", ir::kF32, shape);
  b.output(te::matmul(b, "C", a, w, ta, tb));
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

std::vector<Case> product_cases() {
  return {
      {"matmul", "scores", [] { return scores_dag(9, 35, 24); }},
      {"matmul", "scores_odd", [] { return scores_dag(7, 18, 13); }},
      {"attention", "attention", [] { return attention_dag(2, 19, 33, 24, true, true); }},
      {"attention", "attention_odd", [] { return attention_dag(3, 13, 17, 7, true, false); }},
      {"attention", "attention_inputs", [] { return attention_dag(4, 9, 48, 16, false, true); }},
      {"attention", "attention_one_head", [] { return attention_dag(1, 40, 21, 32, true, true); }},
      {"attention", "attention_masked", [] { return masked_attention_dag(); }},
      {"matmul", "matmul", [] { return matmul_dag(33, 64, 20, true, false, false); }},
      {"matmul", "matmul_plain", [] { return matmul_dag(17, 48, 19, false, false, false); }},
      {"matmul", "matmul_odd", [] { return matmul_dag(13, 37, 11, false, false, true); }},
      {"matmul", "matmul_ta", [] { return matmul_dag(7, 33, 5, true, true, false); }},
      {"matmul", "matvec", [] { return matmul_dag(1, 35, 9, true, false, false); }},
      parsed("", "inner_product",
             "input A: f32[61]\n"
             "input B: f32[61]\n"
             "Y[] = sum(k: 61) A[k] * B[k]\n"
             "output Y\n"),
      parsed("matmul", "attention_scores",
             "input X: f32[3, 1, 2, 21, 8]\n"
             "M[b: 1, h: 2, i: 21, j: 21] = sum(k: 8) X[0, 0, h, i, k] * X[1, 0, h, j, k]\n"
             "Y[b: 1, h: 2, i: 21, j: 21] = M[0, h, i, j] / 8.0\n"
             "output Y\n"),
      parsed("matmul", "attention_from_rows",
             "input X: f32[1, 19, 12]\n"
             "input Y: f32[1, 19, 12]\n"
             "M[b: 1, h: 3, i: 19, j: 19] = sum(k: 4) X[b, i, h * 4 + k] * Y[b, j, h * 4 + k]\n"
             "output M\n"),
      {"matmul", "step", [] { return matmul_dag(3, 131, 33, true, false, true); }},
      parsed("matmul", "rows_in_front",
             "input X: f32[13, 1, 20]\n"
             "const W: f32[20, 37]\n"
             "const B: f32[37]\n"
             "M[t: 13, b: 1, j: 37] = sum(k: 20) X[t, 0, k] * W[k, j]\n"
             "Y[t: 13, b: 1, j: 37] = M[t, 0, j] + B[j]\n"
             "output Y\n"),
      parsed("matmul", "batched_rows",
             "input X: f32[3, 7, 11]\n"
             "input W: f32[11, 18]\n"
             "M[b: 3, i: 7, j: 18] = sum(k: 11) X[b, i, k] * W[k, j]\n"
             "output M\n"),
      parsed("matmul", "batch_of_rows",
             "input X: f32[5, 11]\n"
             "input W: f32[5, 11, 18]\n"
             "M[b: 5, j: 18] = sum(k: 11) X[b, k] * W[b, k, j]\n"
             "output M\n"),
      {"dots", "to_one_column", [] { return matmul_dag(11, 1, 70, true, false, false); }},
      {"dots", "to_three_columns", [] { return matmul_dag(9, 3, 133, false, false, true); }},
      parsed("dots", "batched_to_two",
             "input X: f32[3, 5, 67]\n"
             "input W: f32[3, 67, 2]\n"
             "const B: f32[2]\n"
             "M[b: 3, i: 5, j: 2] = sum(k: 67) X[b, i, k] * W[b, k, j]\n"
             "Y[b: 3, i: 5, j: 2] = max(M[b, i, j] + B[j], 0.0)\n"
             "output Y\n"),
      // the second operand where it lies, or packed for many rows
      {"matmul", "few_rows", [] { return matmul_dag(3, 37, 19, false, false, false); }},
      {"matmul", "many_rows", [] { return matmul_dag(203, 21, 9, false, false, false); }},
      parsed("matmul", "few_batched_rows",
             "input X: f32[3, 5, 17]\n"
             "input W: f32[3, 17, 45]\n"
             "const B: f32[45]\n"
             "M[b: 3, i: 5, j: 45] = sum(k: 17) X[b, i, k] * W[b, k, j]\n"
             "Y[b: 3, i: 5, j: 45] = max(M[b, i, j] + B[j], 0.0)\n"
             "output Y\n"),
      // tiles of rows whose last vector is cut off
      {"matmul", "one_constant_panel", [] { return matmul_dag(29, 21, 31, true, false, false); }},
      {"matmul", "one_panel", [] { return matmul_dag(29, 40, 31, false, false, false); }},
  };
}

}  // namespace tenon::templates
