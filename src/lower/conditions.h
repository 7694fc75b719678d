// SPDX-License-Identifier: Apache-2.0
// Taking conditions apart, for the passes that move and decide them.
#pragma once

#include <optional>
#include <vector>

#include "arith/linear.h"
#include "ir/ir.h"

namespace tenon::lower {

// a and (b and c)  =>  {a, b, c}; `true` gives nothing.
std::vector<ir::Expr> conjuncts(const ir::Expr& condition);

// The values that the variable of a loop takes, under what is known of outer ones.
arith::Interval range_of(const ir::For& loop, const arith::Ranges& ranges);

// A comparison of index expressions as `slack >= 0`; nothing for other conditions.
std::optional<arith::Linear> slack_of(const ir::Expr& comparison);

}  // namespace tenon::lower
