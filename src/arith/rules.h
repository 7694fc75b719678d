// SPDX-License-Identifier: Apache-2.0
// The table of rewrite rules: pattern -> replacement, where a side condition holds. Rules are text so
// that the table reads as mathematics; they are parsed once, and the tests instantiate every row with
// random values.
//
//   min(x, max(x, y))  ->  x
//   x // c0 < c1       ->  x < c0 * c1       if 0 < c0
//
// x y z w stand for any expression, p q r for a bool, c0 c1 c2 for integer constants. Commutative
// operators match both ways round, except `&&` and `||`, which evaluate from left to right. No
// replacement has more nodes than its pattern.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "ir/ir.h"
#include "support/function_ref.h"

namespace tenon::arith {

// What x, y, z, w and the constants may be.
enum class RuleDomain : uint8_t {
  kAny,
  kInt,    // every integer type: nothing in the rule can wrap
  kIndex,  // i64, which does not wrap
  kFloat,  // exact on floats too
};

struct Rule {
  std::string_view pattern;
  std::string_view replacement;
  RuleDomain domain;
  std::string_view condition = "";
};

std::span<const Rule> rules();

// The replacement by the first rule that matches, or undefined. `prove` is asked for conditions that do
// not fold to a constant.
ir::Expr apply_rules(const ir::Expr& e, FunctionRef<bool(const ir::Expr&)> prove);

// What each letter stands for, in the order x y z w p q r c0 c1 c2.
inline constexpr size_t kRuleLetters = 10;
using RuleBindings = std::array<ir::Expr, kRuleLetters>;
// The text as an expression; `like` types literals that have nothing beside them (kFloat: 1 is 1.0).
ir::Expr instantiate(std::string_view text, const RuleBindings& bindings, ir::DType like);

}  // namespace tenon::arith
