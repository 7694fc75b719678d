// SPDX-License-Identifier: Apache-2.0
#include "te/attention.h"

#include <gtest/gtest.h>

#include "te/text.h"

namespace tenon::te {
namespace {

constexpr const char* kInputs =
    "input Q: f32[3, 9, 4]\ninput K: f32[3, 11, 4]\ninput V: f32[3, 11, 8]\n";
constexpr const char* kScores = "S[h: 3, i: 9, j: 11] = sum(k: 4) Q[h, i, k] * K[h, j, k]\n";
constexpr const char* kRows =
    "M[h: 3, i: 9] = max(j: 11) S[h, i, j]\n"
    "E[h: 3, i: 9, j: 11] = exp(S[h, i, j] - M[h, i])\n"
    "Z[h: 3, i: 9] = sum(j: 11) E[h, i, j]\n"
    "P[h: 3, i: 9, j: 11] = E[h, i, j] / Z[h, i]\n";
constexpr const char* kResult = "O[h: 3, i: 9, d: 8] = sum(j: 11) P[h, i, j] * V[h, j, d]\n";

ComputeDag dag(const std::string& text) { return parse(text); }

TEST(FindAttention, SoftmaxBetweenTwoProducts) {
  const ComputeDag d = dag(std::string(kInputs) + kScores + kRows + kResult + "output O\n");
  const auto a = find_attention(d);
  ASSERT_TRUE(a);
  EXPECT_EQ(a->scores->name(), "S");
  EXPECT_EQ(a->rows.size(), 4U);
  EXPECT_EQ(a->rows.back()->name(), "P");
  EXPECT_EQ(a->result->name(), "O");
  EXPECT_EQ(a->final, a->result);
  EXPECT_EQ(a->k.tensor.name(), "K");
  EXPECT_EQ(a->k_dim, 1U);
  EXPECT_EQ(a->place, (std::vector<size_t>{0, 1, 2}));
}

TEST(FindAttention, AxesOfTheResultInAnotherOrder) {
  const ComputeDag d = dag(std::string(kInputs) + kScores + kRows + kResult +
                           "R[h: 3, i: 9, d: 8] = O[h, i, d] + 1.0\n"
                           "T[n: 1, i: 9, h: 3, d: 8] = R[h, i, d]\noutput T\n");
  const auto a = find_attention(d);
  ASSERT_TRUE(a);
  EXPECT_EQ(a->final->name(), "T");
  ASSERT_EQ(a->after.size(), 1U);
  EXPECT_EQ(a->after[0]->name(), "R");
  EXPECT_EQ(a->place, (std::vector<size_t>{2, 1, 3}));
}

TEST(FindAttention, OperandsMovedFromInputs) {
  const ComputeDag d = dag(std::string("input X: f32[11, 48]\n"
                                       "Q[h: 3, i: 9, k: 4] = X[i, h * 4 + k]\n"
                                       "K[h: 3, i: 11, k: 4] = X[i, h * 4 + k + 12]\n"
                                       "V[h: 3, i: 11, k: 8] = X[i, h * 8 + k + 24]\n") +
                           kScores + kRows + kResult + "output O\n");
  const auto a = find_attention(d);
  ASSERT_TRUE(a);
  EXPECT_EQ(a->moves.size(), 3U);
  EXPECT_TRUE(a->is_moved(a->v.tensor));
}

// What does not fit: each takes something else than the whole.
TEST(FindAttention, RefusesOtherForms) {
  const std::string head = std::string(kInputs) + kScores;
  const std::string whole = head + kRows + kResult;
  const std::string rest = "output O\n";
  // No reduction between the products.
  EXPECT_FALSE(
      find_attention(dag(head + "P[h: 3, i: 9, j: 11] = max(S[h, i, j], 0.0)\n" + kResult + rest)));
  // A row that reads another one.
  EXPECT_FALSE(find_attention(dag(head +
                                  "M[h: 3, i: 9] = max(j: 11) S[h, i, j]\n"
                                  "P[h: 3, i: 9, j: 11] = S[h, i, j] - M[h, 8 - i]\n" +
                                  kResult + rest)));
  // Scores that are summed along the rows.
  EXPECT_FALSE(find_attention(dag(head +
                                  "M[h: 3, j: 11] = max(i: 9) S[h, i, j]\n"
                                  "P[h: 3, i: 9, j: 11] = S[h, i, j] - M[h, j]\n" +
                                  kResult + rest)));
  // Scores that are an output themselves, or that the second product reads too.
  EXPECT_FALSE(find_attention(dag(whole + "output O\noutput P\n")));
  // The columns of the result are not innermost.
  EXPECT_FALSE(find_attention(dag(whole + "T[h: 3, d: 8, i: 9] = O[h, i, d]\noutput T\n")));
  // One product, three products.
  EXPECT_FALSE(find_attention(dag(head + kRows + "output P\n")));
  EXPECT_FALSE(find_attention(
      dag(whole + "Y[h: 3, i: 9, j: 4] = sum(d: 8) O[h, i, d] * V[h, j, d]\noutput Y\n")));
}

TEST(WithSingleMoves, JoinsMovesOnly) {
  const ComputeDag d = with_single_moves(
      dag("input X: f32[5, 12]\nA[i: 5, k: 6] = X[i, k + 2]\nB[k: 6, i: 5] = A[i, k]\n"
          "C[k: 6, i: 5] = B[k, i] + 1.0\noutput C\n"));
  ASSERT_EQ(d.ops.size(), 2U);
  EXPECT_EQ(d.ops[0]->name(), "B");
}

}  // namespace
}  // namespace tenon::te
