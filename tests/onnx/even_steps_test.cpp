// SPDX-License-Identifier: Apache-2.0
#include "onnx/ops/even_steps.h"

#include <gtest/gtest.h>

#include <vector>

#include "arith/simplify.h"
#include "ir/build.h"

namespace tenon::onnx {
namespace {

TEST(EvenSteps, AreFoundForRatiosOfSmallNumbers) {
  struct Row {
    std::vector<int64_t> index;
    int64_t period, advance;
  };
  const Row rows[] = {
      {{-1, 0, 0, 1, 1, 2}, 2, 1},           // twice as large
      {{-1, 0, 0, 0, 1, 1, 1, 2}, 3, 1},     // three times
      {{-1, 0, 1, 1, 2, 3, 3, 4, 5}, 3, 2},  // one and a half times
      {{0, 2, 4, 6}, 1, 2},                  // half as large
      {{5}, 1, 0},
  };
  for (const Row& row : rows) {
    const auto s = find_even_steps(row.index);
    ASSERT_TRUE(s);
    EXPECT_EQ(s->period, row.period);
    EXPECT_EQ(s->advance, row.advance);
    for (size_t i = 0; i < row.index.size(); ++i) {
      const ir::Expr at = step_of(*s, ir::Expr(static_cast<int64_t>(i)));
      EXPECT_EQ(ir::const_int(arith::simplify(at)), row.index[i]);
    }
  }
}

TEST(EvenSteps, UnevenOnesHaveNone) {
  const int64_t squares[] = {0, 1, 4, 9, 16, 25};
  EXPECT_FALSE(find_even_steps(squares));
  const int64_t rarely[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1};  // a period of nine or more
  EXPECT_FALSE(find_even_steps(rarely));
}

}  // namespace
}  // namespace tenon::onnx
