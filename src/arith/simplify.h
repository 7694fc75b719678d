// SPDX-License-Identifier: Apache-2.0
// Simplification by a table of rules on top of linear forms. Integer results are exact; float
// expressions are only touched where the value cannot change (x*1, x+0 is kept because of -0, select of
// a constant condition, constants folded in their own precision).
//
//   with 0 <= j < 16:   (i*16 + j) / 16  =>  i        (i*16 + j) % 16  =>  j
//                       min(j, 20)       =>  j        select(j < 16, a, b)  =>  a
//                       i*4 + j < i*4 + 16  =>  true
//
// Idempotent, never makes an expression larger in nodes.
#pragma once

#include <optional>

#include "arith/interval.h"
#include "ir/ir.h"

namespace tenon::arith {

ir::Expr simplify(const ir::Expr& e, const Ranges& ranges = {});

// Simplifies every expression, learning ranges from loops and, inside If and Select, from their
// conditions; removes loops of extent 0, ifs that are decided and blocks left empty; a loop of extent 1
// (any kind except kThread) becomes its body with the variable replaced.
ir::Stmt simplify(const ir::Stmt& s, const Ranges& ranges = {});

// true or false if the condition is decided for every value in range, otherwise nothing.
std::optional<bool> prove(const ir::Expr& condition, const Ranges& ranges);

// Narrows `ranges` by a condition known to hold: conjuncts of the form linear < linear, <=, ==.
void assume(const ir::Expr& condition, Ranges& ranges);

}  // namespace tenon::arith
