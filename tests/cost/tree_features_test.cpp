// SPDX-License-Identifier: Apache-2.0
// The tree that TreeGRU sees, of nests small enough to count by hand.
#include "cost/tree_features.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "cost/columns.h"
#include "schedule/scheduled.h"

namespace tenon::cost {
namespace {

constexpr const char* kProduct = R"(
input A: f32[4, 16]
input B: f32[16, 8]
C[i: 4, j: 8] = sum(k: 16) A[i, k] * B[k, j]
output C
)";

Row tree_of(const std::string& trace) {
  const schedule::State s = schedule::scheduled(kProduct, trace);
  return tree_features(s, *schedule::infer_bounds(s));
}

float at(const Row& tree, size_t node, size_t column) {
  return tree.values[node * tree.width + column];
}

TEST(TreeFeatures, OfAMatmulByHand) {
  const Row tree = tree_of("");
  ASSERT_EQ(tree.rows(), 4U);
  EXPECT_EQ(tree.width, kTreeColumns);
  EXPECT_EQ(tree.parent, (std::vector<int32_t>{-1, 0, 1, 2}));
  const double loops[3][3] = {{4, 4, 512}, {8, 32, 128}, {16, 512, 16}};  // length, products
  for (size_t n = 0; n < 3; ++n) {
    for (size_t c = 0; c < 3; ++c) EXPECT_EQ(at(tree, n + 1, c), slog(loops[n][c]) / 8);
    for (size_t a = 0; a < kAnnotations; ++a) EXPECT_EQ(at(tree, n + 1, 3 + a), a == 9 ? 1 : 0);
  }
  // Of loop j: stride, elements and reuse of C, A and B; nothing is parallel, no fourth access.
  const double touched[] = {1, 8, 16, 0, 0, 0, 16, 8, 0, 0, 1, 128, 1, 0, 0, 0, 0, 0, 0, 0};
  for (size_t c = 0; c < 20; ++c) {
    EXPECT_EQ(at(tree, 2, 3 + kAnnotations + c), slog(touched[c]) / 8) << c;
  }
}

TEST(TreeFeatures, TheRootHasTheFactsOfTheWholeProgram) {
  const schedule::State s = schedule::scheduled(kProduct, "");
  const LoopContext c = loop_context(s, *schedule::infer_bounds(s));
  const Row tree = tree_of("");
  for (size_t i = 0; i < kLoopStatistics; ++i) EXPECT_EQ(at(tree, 0, i), 0);
  for (size_t i = 0; i < kTail; ++i) {
    EXPECT_EQ(at(tree, 0, kLoopStatistics + i), c.tail[i] / 8);
    EXPECT_EQ(at(tree, 1, kLoopStatistics + i), 0);
  }
}

TEST(TreeFeatures, LoopsOfOneIterationAreDropped) {
  EXPECT_EQ(tree_of("split C i [4]\n").values.size(), 4U * kTreeColumns);
  EXPECT_EQ(tree_of("split C i [2]\n").values.size(), 5U * kTreeColumns);
}

}  // namespace
}  // namespace tenon::cost
