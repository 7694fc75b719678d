// SPDX-License-Identifier: Apache-2.0
// Integer index expressions as linear forms over atoms: a variable, or a floor_div, floor_mod, min, max,
// select, load ... that could not be taken apart.
//
//   to_linear(i*16 + j - 3)  ==  16*i + 1*j + (-3)
#pragma once

#include <utility>
#include <vector>

#include "arith/interval.h"
#include "ir/ir.h"

namespace tenon::arith {

struct Linear {
  std::vector<std::pair<ir::Expr, int64_t>> terms;  // distinct atoms (structurally), no zero coefficient
  int64_t constant = 0;
  // 0 if `v` is no atom. Says nothing about uses of `v` inside other atoms.
  int64_t coefficient(const ir::VarNode* v) const;
  // True if every atom is a variable.
  bool is_affine() const;
};

Linear to_linear(const ir::Expr& e);
ir::Expr to_expr(const Linear& l);
Linear operator+(const Linear& a, const Linear& b);
Linear operator-(const Linear& a, const Linear& b);
Linear operator*(const Linear& a, int64_t k);

}  // namespace tenon::arith
