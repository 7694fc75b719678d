// SPDX-License-Identifier: Apache-2.0
// Taking conditions apart, for the passes that move and decide them.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "arith/linear.h"
#include "ir/ir.h"

namespace tenon::lower {

// a and (b and c)  =>  {a, b, c}; `true` gives nothing.
std::vector<ir::Expr> conjuncts(const ir::Expr& condition);

// Buffers that some statement stores to.
using Written = std::unordered_set<const ir::BufferNode*>;
Written written_in(const ir::Stmt& s);

// Whether an expression is the same wherever it is evaluated, its variables aside: it loads nothing, or at constant places
// of buffers that nobody writes, such as the size that limits a sum.
bool is_steady(const ir::Expr& e, const Written& written);

// The values that the variable of a loop takes, under what is known of outer ones.
arith::Interval range_of(const ir::For& loop, const arith::Ranges& ranges);

// A comparison of index expressions as `slack >= 0`; nothing for other conditions.
std::optional<arith::Linear> slack_of(const ir::Expr& comparison);

}  // namespace tenon::lower
