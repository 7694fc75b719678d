// SPDX-License-Identifier: Apache-2.0
#include "ir/build.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/visit.h"

namespace tenon::ir {
namespace {

TEST(Build, OperatorsTakeVariablesAndIntegers) {
  const Var i("i");
  const Var j("j");
  const int64_t n = 16;
  const size_t m = 3;
  EXPECT_EQ(to_string(i * n + j), "i * 16 + j");
  EXPECT_EQ(to_string(1 + i * (j - 2)), "1 + i * (j - 2)");
  EXPECT_EQ(to_string(floor_mod(i, m)), "i % 3");
  EXPECT_EQ(to_string(min(i, 4) / 2), "min(i, 4) / 2");
  EXPECT_EQ(to_string(-i), "-i");
}

TEST(Build, FoldsTrivialIntegers) {
  const Var i("i");
  EXPECT_TRUE((i + 0).same_as(i));
  EXPECT_TRUE((1 * i).same_as(i));
  EXPECT_TRUE(is_const(i * 0, 0));
  EXPECT_TRUE(is_const(i - i, 0));
  EXPECT_TRUE(is_const(floor_div(-7, 2), -4));
  EXPECT_TRUE(is_const_true(lt(3, 4)));
}

TEST(Visit, SubstituteKeepsHandlesThatDoNotChange) {
  const Var i("i");
  const Var j("j");
  const Buffer a = Buffer::make("A", kF32, {4, 4});
  const Buffer b = Buffer::make("B", kF32, {4});
  const Stmt first = store(b, {j}, load(a, {j, j}));
  const Stmt both = block({first, store(b, {i}, load(a, {i, j}))});
  const Stmt loop = make_for(j, 0, 4, ForKind::kParallel, both);
  const Stmt done = substitute(loop, {{i.node(), 2}});
  EXPECT_EQ(to_string(done),
            "for j in 0..4 parallel {\n"
            "  B[j] = A[j, j]\n"
            "  B[2] = A[2, j]\n"
            "}\n");
  EXPECT_TRUE(done.as<For>()->body.as<Block>()->stmts[0].same_as(first));
  EXPECT_TRUE(substitute(done, {{i.node(), 2}}).same_as(done));
}

}  // namespace
}  // namespace tenon::ir
