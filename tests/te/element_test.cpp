// SPDX-License-Identifier: Apache-2.0
#include "te/element.h"

#include <gtest/gtest.h>

#include "te/arrays.h"

namespace tenon::te {
namespace {

constexpr double kMuch = 1e6;

// Every element of every output, one at a time, is what the whole evaluation gives, to the bit.
void expect_all_elements(const std::string& text) {
  const ComputeDag dag = parse(text);
  Rng rng(7);
  std::vector<ir::Array> inputs;
  for (const Input& in : dag.inputs) {
    inputs.push_back(to_array(random_nd(rng, in.tensor.shape(), 0, 4), in.tensor.dtype()));
  }
  const std::vector<ir::Array> want = evaluate(dag, inputs);
  for (size_t o = 0; o < want.size(); ++o) {
    int64_t offset = 0;
    for_each(want[o].shape(), [&](const Index& at) {
      const auto got = evaluate_element(dag, inputs, o, at, kMuch);
      ASSERT_TRUE(got) << text;
      EXPECT_EQ(*got, want[o].get_double(offset)) << text << "element " << offset;
      ++offset;
    });
  }
}

TEST(Element, IsThatOfTheWhole) {
  expect_all_elements(
      "input A: f32[3, 5]\ninput B: f32[5, 4]\nC[i: 3, j: 4] = sum(k: 5) A[i, k] * B[k, j]\n"
      "R[i: 3, j: 4] = max(C[i, j], 2.0)\noutput R\noutput C\n");
}

TEST(Element, ReadsBehindConditions) {
  expect_all_elements(
      "input X: f32[2, 5]\n"
      "P[c: 2, y: 7] = select(1 <= y and y < 6, X[c, y - 1], 0.0)\n"
      "C[y: 3] = sum(c: 2, r: 3) P[c, y * 2 + r]\noutput C\n");
  // No element of P is read for the first and the last of C.
  expect_all_elements(
      "input X: f32[3]\nP[i: 3] = X[i] + 1.0\n"
      "C[i: 7] = select(2 <= i and i < 5, P[i - 2], 0.5)\noutput C\n");
}

TEST(Element, ReadsWhatOtherElementsSay) {
  expect_all_elements(
      "input X: f32[5, 2]\ninput I: i64[4]\n"
      "G[i: 4, j: 2] = X[min(max(I[i], 0), 4), j]\noutput G\n");
}

TEST(Element, NeedsRowsOfReductionsBefore) {
  expect_all_elements(
      "input X: f32[3, 6]\nM[i: 3] = max(k: 6) X[i, k]\nE[i: 3, j: 6] = exp(X[i, j] - M[i])\n"
      "S[i: 3] = sum(k: 6) E[i, k]\nO[i: 3, j: 6] = E[i, j] / S[i]\noutput O\n");
}

TEST(Element, SaysWhenItIsTooMuch) {
  const ComputeDag dag = parse("input A: f32[100]\nS[i: 1] = sum(k: 100) A[k]\noutput S\n");
  const std::vector<ir::Array> inputs = {ir::Array(ir::kF32, {100})};
  const int64_t first[] = {0};
  EXPECT_FALSE(evaluate_element(dag, inputs, 0, first, 99));
  EXPECT_TRUE(evaluate_element(dag, inputs, 0, first, 100));
}

}  // namespace
}  // namespace tenon::te
