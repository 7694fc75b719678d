// SPDX-License-Identifier: Apache-2.0
// Random expressions: the value stays, simplifying twice gives the same handle, nothing grows.
#include <gtest/gtest.h>

#include "arith/linear.h"
#include "arith/random_expr.h"
#include "arith/simplifier.h"
#include "arith/simplify.h"
#include "ir/interp.h"
#include "ir/print.h"

namespace tenon::arith {
namespace {

using ir::Expr;

constexpr uint64_t kSeed = 20240607;
constexpr int kRuns = 20000;
constexpr int kFewerRuns = 6000;  // where one run is slow

std::string describe(const Env& env) {
  std::string out;
  for (const auto& [v, value] : env) {
    out += v->name + "=" + std::to_string(value) + " ";
  }
  return out;
}

void check_same_values(RandomExpr& random, const Expr& before, const Expr& after) {
  for (int i = 0; i < 6; ++i) {
    const Env env = random.values();
    ASSERT_EQ(ir::eval(before, env).i, ir::eval(after, env).i)
        << ir::to_string(before) << "\nbecame " << ir::to_string(after) << "\nat " << describe(env);
  }
}

void check_simplified(RandomExpr& random, const Expr& e) {
  const Expr s = simplify(e, random.ranges());
  check_same_values(random, e, s);
  ASSERT_LE(node_count(s), node_count(e)) << ir::to_string(e) << "\ngrew to " << ir::to_string(s);
  const Expr again = simplify(s, random.ranges());
  ASSERT_TRUE(again.same_as(s)) << ir::to_string(e) << "\nbecame " << ir::to_string(s) << "\nthen "
                                << ir::to_string(again);
}

TEST(SimplifyFuzz, IndexExpressions) {
  for (int run = 0; run < kRuns && !testing::Test::HasFatalFailure(); ++run) {
    SCOPED_TRACE("seed " + std::to_string(kSeed + static_cast<uint64_t>(run)));
    Rng rng(kSeed + static_cast<uint64_t>(run));
    RandomExpr random(rng, static_cast<int>(rng.between(1, 4)));
    check_simplified(random, random.index(static_cast<int>(rng.between(1, 6))));
  }
}

TEST(SimplifyFuzz, Conditions) {
  for (int run = 0; run < kRuns && !testing::Test::HasFatalFailure(); ++run) {
    SCOPED_TRACE("seed " + std::to_string(kSeed + static_cast<uint64_t>(run)));
    Rng rng(kSeed + static_cast<uint64_t>(run));
    RandomExpr random(rng, static_cast<int>(rng.between(1, 4)));
    check_simplified(random, random.condition(static_cast<int>(rng.between(1, 5))));
  }
}

TEST(SimplifyFuzz, IntervalsAreSound) {
  for (int run = 0; run < kRuns; ++run) {
    SCOPED_TRACE("seed " + std::to_string(kSeed + static_cast<uint64_t>(run)));
    Rng rng(kSeed + static_cast<uint64_t>(run));
    RandomExpr random(rng, static_cast<int>(rng.between(1, 4)));
    const Expr e = random.index(static_cast<int>(rng.between(1, 6)));
    const Interval r = interval_of(e, random.ranges());
    for (int i = 0; i < 6; ++i) {
      const Env env = random.values();
      const int64_t v = ir::eval(e, env).i;
      ASSERT_TRUE(r.lo <= v && v <= r.hi) << ir::to_string(e) << " is " << v << ", not in " << r.lo
                                          << ".." << r.hi << " at " << describe(env);
    }
  }
}

TEST(SimplifyFuzz, LinearFormsRoundTrip) {
  for (int run = 0; run < kFewerRuns; ++run) {
    SCOPED_TRACE("seed " + std::to_string(kSeed + static_cast<uint64_t>(run)));
    Rng rng(kSeed + static_cast<uint64_t>(run));
    RandomExpr random(rng, 4);
    const Expr e = random.index(5);
    const Expr written = to_expr(to_linear(e));
    check_same_values(random, e, written);
    ASSERT_EQ(ir::to_string(to_expr(to_linear(written))), ir::to_string(written));
  }
}

// What an assumption narrows must still hold for every value that satisfies the condition.
TEST(SimplifyFuzz, AssumptionsAreSound) {
  for (int run = 0; run < kFewerRuns && !testing::Test::HasFatalFailure(); ++run) {
    SCOPED_TRACE("seed " + std::to_string(kSeed + static_cast<uint64_t>(run)));
    Rng rng(kSeed + static_cast<uint64_t>(run));
    RandomExpr random(rng, 3);
    const Expr condition = random.condition(4);
    const Expr e = rng.chance(0.5) ? random.index(4) : random.condition(4);
    Ranges ranges = random.ranges();
    assume(condition, ranges);
    const Expr s = simplify(e, ranges);
    for (int i = 0; i < 20; ++i) {
      const Env env = random.values();
      if (ir::eval(condition, env).i == 0) {
        continue;
      }
      for (const ir::Var& v : random.vars()) {
        const Interval r = ranges.of(v.node());
        ASSERT_TRUE(r.lo <= env.at(v.node()) && env.at(v.node()) <= r.hi)
            << "assuming " << ir::to_string(condition) << " at " << describe(env);
      }
      ASSERT_EQ(ir::eval(e, env).i, ir::eval(s, env).i)
          << ir::to_string(e) << "\nbecame " << ir::to_string(s) << "\nassuming "
          << ir::to_string(condition) << " at " << describe(env);
    }
  }
}

}  // namespace
}  // namespace tenon::arith
