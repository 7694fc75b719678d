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

// No coefficient or constant of a linear form is larger in magnitude, so that negating, adding one and
// the like need no care.
inline constexpr int64_t kLinearLimit = int64_t{1} << 62;

struct Linear {
  std::vector<std::pair<ir::Expr, int64_t>>
      terms;  // distinct atoms (structurally), no zero coefficient
  int64_t constant = 0;
  // 0 if `v` is no atom. Says nothing about uses of `v` inside other atoms.
  int64_t coefficient(const ir::VarNode* v) const;
  // True if every atom is a variable.
  bool is_affine() const;
  bool is_constant() const { return terms.empty(); }
};

// Equal structure; variables and buffers by handle.
bool same_expr(const ir::Expr& a, const ir::Expr& b);
// same_expr, or a product with its factors exchanged: as atoms they are one.
bool same_atom(const ir::Expr& a, const ir::Expr& b);
// out += k * in. False, with `out` unspecified, when a number passes kLinearLimit.
[[nodiscard]] bool add_scaled(Linear& out, const Linear& in, int64_t k);
[[nodiscard]] bool add_term(Linear& out, const ir::Expr& atom, int64_t k);

// Of a scalar i64 expression; anything else is an atom as a whole.
Linear to_linear(const ir::Expr& e);
// Terms in their order, a positive one first, equal coefficients shared: (i + j)*4 + k - 3.
// to_linear(to_expr(l)) has the same terms in the order in which they are written.
ir::Expr to_expr(const Linear& l);
// These check for overflow (InternalError); add_scaled says so instead.
Linear operator+(const Linear& a, const Linear& b);
Linear operator-(const Linear& a, const Linear& b);
Linear operator*(const Linear& a, int64_t k);

}  // namespace tenon::arith
