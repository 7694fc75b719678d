// SPDX-License-Identifier: Apache-2.0
// Every row of the table by itself: instantiated with random values, both sides agree, the row (or an
// earlier one) fires, and the replacement is no larger.
#include "arith/rules.h"

#include <gtest/gtest.h>

#include <cmath>

#include "arith/simplifier.h"
#include "ir/build.h"
#include "ir/interp.h"
#include "ir/print.h"
#include "support/rng.h"

namespace tenon::arith {
namespace {

using ir::Expr;

constexpr uint64_t kSeed = 7;
constexpr int kInstances = 120;
constexpr size_t kBools = 4, kConstants = 7;

std::vector<ir::DType> types_of(RuleDomain domain) {
  switch (domain) {
    case RuleDomain::kAny:
      return {ir::kI64, ir::kI32, ir::kU8, ir::kF32};
    case RuleDomain::kInt:
      return {ir::kI64, ir::kI8, ir::kU8, ir::kU64};
    case RuleDomain::kIndex:
      return {ir::kI64};
    case RuleDomain::kFloat:
      return {ir::kF32, ir::kF64, ir::kBF16};
  }
  return {};
}

struct Instance {
  RuleBindings bindings;
  std::vector<ir::Var> vars;
  std::map<const ir::VarNode*, int64_t> env;
};

Instance random_instance(Rng& rng, ir::DType t) {
  Instance r;
  for (size_t i = 0; i < kRuleLetters; ++i) {
    const int64_t v = rng.between(t.code == ir::TypeCode::kUInt ? 0 : -4, 6);
    if (i >= kConstants || t.is_float()) {
      r.bindings[i] = ir::make_const(t, static_cast<double>(v) * (t.is_float() ? 0.75 : 1));
    }
    if (i < kConstants && (!t.is_float() || (i >= kBools))) {
      const ir::Var var("v", i >= kBools ? ir::kBool : t);
      r.vars.push_back(var);
      r.env[var.node()] = i >= kBools ? rng.between(0, 1) : v;
      r.bindings[i] = var;
    }
  }
  return r;
}

void expect_same(const Expr& a, const Expr& b, const Instance& at) {
  const ir::Scalar x = ir::eval(a, at.env);
  const ir::Scalar y = ir::eval(b, at.env);
  ASSERT_EQ(a.dtype(), b.dtype()) << ir::to_string(a) << " and " << ir::to_string(b);
  ASSERT_EQ(x.i, y.i) << ir::to_string(a) << " and " << ir::to_string(b);
  ASSERT_TRUE(x.f == y.f && std::signbit(x.f) == std::signbit(y.f))
      << ir::to_string(a) << " and " << ir::to_string(b);
}

struct Tally {
  int held = 0;      // instances for which the condition holds
  int fired = 0;     // of these, rewritten by the table
  int unfolded = 0;  // of these, not already folded by the builders as min(x, x) is
};

void check_instance(const Rule& rule, ir::DType t, Rng& rng, Tally& tally) {
  const Instance at = random_instance(rng, t);
  const auto holds = [&](const Expr& e) { return ir::eval(e, at.env).i != 0; };
  if (!rule.condition.empty() && !holds(instantiate(rule.condition, at.bindings, t))) {
    return;
  }
  ++tally.held;
  const Expr pattern = instantiate(rule.pattern, at.bindings, t);
  const Expr replacement = instantiate(rule.replacement, at.bindings, t);
  expect_same(pattern, replacement, at);
  tally.unfolded += node_count(pattern) > node_count(replacement) ? 1 : 0;
  if (const Expr found = apply_rules(pattern, holds); found.defined()) {
    ++tally.fired;
    expect_same(pattern, found, at);
    EXPECT_LE(node_count(found), node_count(pattern)) << ir::to_string(pattern);
  }
}

TEST(Rules, EachKeepsTheValue) {
  Rng rng(kSeed);
  for (const Rule& rule : rules()) {
    SCOPED_TRACE(std::string(rule.pattern) + " -> " + std::string(rule.replacement) + ", seed " +
                 std::to_string(kSeed));
    for (const ir::DType t : types_of(rule.domain)) {
      Tally tally;
      for (int i = 0; i < kInstances && !testing::Test::HasFatalFailure(); ++i) {
        check_instance(rule, t, rng, tally);
      }
      EXPECT_GT(tally.held, kInstances / 20) << "the condition hardly ever holds";
      EXPECT_GE(tally.fired, tally.unfolded / 2) << "the rule does not match";
    }
  }
}

TEST(Rules, CommutativeOperandsMatchBothWays) {
  const ir::Var x("x"), y("y");
  const auto never = [](const Expr&) { return false; };
  for (const Expr& e : {ir::min(ir::max(x, y), x), ir::min(x, ir::max(y, x)),
                        ir::min(ir::max(y, x), x), ir::max(ir::min(y, x), x)}) {
    EXPECT_TRUE(apply_rules(e, never).same_as(x)) << ir::to_string(e);
  }
  EXPECT_FALSE(apply_rules(ir::min(x, y), never).defined());
}

TEST(Rules, DomainsAreKept) {
  const ir::Var x("x", ir::kF32), y("y", ir::kF32), i("i", ir::kI32), j("j", ir::kI32),
      k("k", ir::kI32);
  const auto always = [](const Expr&) { return true; };
  EXPECT_FALSE(apply_rules(ir::logical_not(ir::lt(x, y)), always).defined()) << "NaN";
  EXPECT_FALSE(apply_rules(ir::select(ir::lt(x, y), x, y), always).defined()) << "NaN";
  EXPECT_FALSE(apply_rules(ir::min(ir::max(y, x), x), always).defined()) << "NaN in y stays";
  EXPECT_FALSE(apply_rules(ir::max(ir::max(y, x), x), always).defined()) << "NaN in y stays";
  EXPECT_FALSE(apply_rules(x + ir::make_float(ir::kF32, 0), always).defined()) << "-0 + 0 is 0";
  EXPECT_FALSE(apply_rules(x - ir::make_float(ir::kF32, -0.0), always).defined()) << "-0 - -0 is 0";
  EXPECT_FALSE(apply_rules(ir::min(i + k, j + k), always).defined()) << "i32 wraps";
}

}  // namespace
}  // namespace tenon::arith
