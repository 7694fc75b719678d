// SPDX-License-Identifier: Apache-2.0
// Sums and products of i64: the whole region of + - * is brought into one linear form, quotients and
// remainders of the same number are joined, and the form is written out again.
#include <algorithm>
#include <array>

#include "arith/simplifier.h"
#include "ir/build.h"

namespace tenon::arith {
namespace {

using ir::BinaryOp;
using ir::Expr;

struct Quotient {
  Expr x;
  int64_t c;
};

// x and c of `x // c` or `x % c` with a positive constant.
std::optional<Quotient> as_quotient(const Expr& e, BinaryOp op) {
  const auto* b = e.as<ir::Binary>();
  if (b == nullptr || b->op != op) {
    return std::nullopt;
  }
  const auto c = ir::const_int(b->b);
  return c && *c > 0 ? std::optional<Quotient>({b->a, *c}) : std::nullopt;
}

int64_t coefficient_of(const Linear& l, const Expr& atom) {
  for (const auto& [other, k] : l.terms) {
    if (same_atom(other, atom)) {
      return k;
    }
  }
  return 0;
}

// Every term of k * part is in l with exactly that coefficient.
bool contains(const Linear& l, const Linear& part, int64_t k) {
  for (const auto& [atom, c] : part.terms) {
    int64_t wanted = 0;
    if (__builtin_mul_overflow(c, k, &wanted) || coefficient_of(l, atom) != wanted) {
      return false;
    }
  }
  return !part.is_constant();
}

bool has_multiple_of(const Linear& l, size_t except, int64_t of) {
  for (size_t i = 0; i < l.terms.size(); ++i) {
    if (i != except && l.terms[i].second % of == 0) {
      return true;
    }
  }
  return false;
}

Linear without(const Linear& l, size_t at) {
  Linear r = l;
  r.terms.erase(r.terms.begin() + static_cast<std::ptrdiff_t>(at));
  return r;
}

// Recognises, without allocating, the commonest sums that are as to_expr writes them already: distinct
// atoms with positive coefficients, equal coefficients shared, the constant last.
class PlainSum {
 public:
  bool check(const Expr& e) {
    const auto* b = e.as<ir::Binary>();
    if (b != nullptr && (b->op == BinaryOp::kAdd || b->op == BinaryOp::kSub)) {
      if (const auto* c = b->b.as<ir::IntImm>()) {
        return c->value > 0 && sum(b->a);
      }
    }
    return sum(e);
  }

 private:
  static constexpr size_t kMost = 12;

  bool sum(const Expr& e) {
    const auto* b = e.as<ir::Binary>();
    if (b != nullptr && b->op == BinaryOp::kAdd) {
      return sum(b->a) && addend(b->b);
    }
    return addend(e);
  }
  bool addend(const Expr& e) {
    const auto* b = e.as<ir::Binary>();
    if (b == nullptr || b->op != BinaryOp::kMul) {
      return atom(e);
    }
    const auto* c = b->b.as<ir::IntImm>();
    if (c == nullptr || c->value < 2 || scales_ == kMost) {
      return false;
    }
    for (size_t i = 0; i < scales_; ++i) {
      if (scale_[i] == c->value) {
        return false;
      }
    }
    scale_[scales_++] = c->value;
    return shared(b->a);
  }
  bool shared(const Expr& e) {
    const auto* b = e.as<ir::Binary>();
    return b != nullptr && b->op == BinaryOp::kAdd ? shared(b->a) && atom(b->b) : atom(e);
  }
  bool atom(const Expr& e) {
    if (e.kind() != ir::ExprKind::kVarNode || atoms_ == kMost) {
      return false;
    }
    for (size_t i = 0; i < atoms_; ++i) {
      if (atom_[i] == e.get()) {
        return false;
      }
    }
    atom_[atoms_++] = e.get();
    return true;
  }

  std::array<int64_t, kMost> scale_;
  std::array<const ir::ExprNode*, kMost> atom_;
  size_t scales_ = 0, atoms_ = 0;
};

}  // namespace

Expr Simplifier::simplify_leaves(const Expr& e) {
  if (e.dtype() == ir::kI64) {
    if (const auto* b = e.as<ir::Binary>();
        b != nullptr &&
        (b->op == BinaryOp::kAdd || b->op == BinaryOp::kSub || b->op == BinaryOp::kMul)) {
      const bool product = b->op == BinaryOp::kMul && !ir::const_int(b->a) && !ir::const_int(b->b);
      const Expr x = product ? expr(b->a) : simplify_leaves(b->a);
      const Expr y = product ? expr(b->b) : simplify_leaves(b->b);
      return x.same_as(b->a) && y.same_as(b->b) ? e : ir::make_binary(b->op, x, y);
    }
    if (const auto* u = e.as<ir::Unary>(); u != nullptr && u->op == ir::UnaryOp::kNeg) {
      const Expr x = simplify_leaves(u->a);
      return x.same_as(u->a) ? e : -x;
    }
  }
  return expr(e);
}

Expr Simplifier::linear(const Expr& e) {
  Expr r = simplify_leaves(e);
  if (r.kind() != ir::ExprKind::kBinary && r.kind() != ir::ExprKind::kUnary) {
    return r;
  }
  if (PlainSum().check(r)) {
    return r;
  }
  Linear l = to_linear(r);
  const bool combined = combine(l);
  const Expr out = to_expr(l);
  if (same_expr(out, r)) {
    return r;
  }
  if (node_count(out) > node_count(r)) {
    return r;
  }
  return combined ? expr(out) : out;
}

bool Simplifier::combine(Linear& l) {
  bool changed = false;
  for (size_t i = 0; i < l.terms.size(); ++i) {
    if (l.terms[i].first.kind() == ir::ExprKind::kBinary &&
        (join_remainder(l, i) || split_from_quotient(l, i))) {
      changed = true;
      i = static_cast<size_t>(-1);
    }
  }
  return changed;
}

// (x // c)*c + y % c  =>  x where x and y differ by a multiple of c: remainders are reduced term by term.
bool Simplifier::join_congruent(Linear& l, size_t at, const Expr& y, int64_t c) {
  const int64_t k = l.terms[at].second;
  for (size_t i = 0; i < l.terms.size(); ++i) {
    const auto d = as_quotient(l.terms[i].first, BinaryOp::kFloorDiv);
    if (i == at || !d || d->c != c || l.terms[i].second != k * c) {
      continue;
    }
    const Linear x = to_linear(d->x);
    const Linear apart = x - to_linear(y);
    const bool multiple = apart.constant % c == 0 &&
                          std::all_of(apart.terms.begin(), apart.terms.end(),
                                      [&](const auto& term) { return term.second % c == 0; });
    Linear next = without(without(l, std::max(i, at)), std::min(i, at));
    if (multiple && add_scaled(next, x, k)) {
      l = std::move(next);
      return true;
    }
  }
  return false;
}

// x - x % c  =>  (x // c)*c, and what join_quotient does.
bool Simplifier::join_remainder(Linear& l, size_t at) {
  const auto m = as_quotient(l.terms[at].first, BinaryOp::kFloorMod);
  const int64_t k = l.terms[at].second;
  int64_t kc = 0;
  if (!m || l.terms.size() < 2 || __builtin_mul_overflow(k, m->c, &kc)) {
    return false;
  }
  if (has_multiple_of(l, at, kc) &&
      (join_quotient(l, at, m->x, m->c) || join_congruent(l, at, m->x, m->c))) {
    return true;
  }
  const Linear x = to_linear(m->x);
  if (!contains(l, x, -k)) {
    return false;
  }
  Linear next = without(l, at);
  if (!add_scaled(next, x, k) || !add_term(next, ir::floor_div(m->x, m->c), -kc)) {
    return false;
  }
  l = std::move(next);
  return true;
}

// (x // c)*c + x % c  =>  x
// ((x // c) % d)*c + x % c  =>  x % (c*d)
bool Simplifier::join_quotient(Linear& l, size_t at, const Expr& x, int64_t c) {
  const int64_t k = l.terms[at].second;
  const Expr q = expr(ir::floor_div(x, c));
  if (const Linear lq = to_linear(q); contains(l, lq, k * c)) {
    Linear next = without(l, at);
    if (add_scaled(next, lq, -k * c) && add_scaled(next, to_linear(x), k)) {
      l = std::move(next);
      return true;
    }
  }
  for (size_t i = 0; i < l.terms.size(); ++i) {
    const auto d = as_quotient(l.terms[i].first, BinaryOp::kFloorMod);
    int64_t cd = 0;
    if (i == at || !d || l.terms[i].second != k * c || !same_atom(d->x, q) ||
        __builtin_mul_overflow(c, d->c, &cd)) {
      continue;
    }
    Linear next = without(without(l, std::max(i, at)), std::min(i, at));
    if (add_term(next, ir::floor_mod(x, cd), k)) {
      l = std::move(next);
      return true;
    }
  }
  return false;
}

// x - (x // c)*c  =>  x % c
bool Simplifier::split_from_quotient(Linear& l, size_t at) {
  const auto d = as_quotient(l.terms[at].first, BinaryOp::kFloorDiv);
  if (!d || l.terms.size() < 2 || l.terms[at].second % d->c != 0) {
    return false;
  }
  const int64_t k = -(l.terms[at].second / d->c);
  const Linear x = to_linear(d->x);
  if (!contains(l, x, k)) {
    return false;
  }
  Linear next = without(l, at);
  if (!add_scaled(next, x, -k) || !add_term(next, ir::floor_mod(d->x, d->c), k)) {
    return false;
  }
  l = std::move(next);
  return true;
}

}  // namespace tenon::arith
