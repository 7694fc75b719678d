// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "arith/simplifier.h"
#include "arith/simplify.h"
#include "ir/build.h"

namespace tenon::arith {
namespace {

using ir::BinaryOp;
using ir::Expr;

void narrow(const ir::VarNode* v, Interval by, Ranges& ranges, Undo& undo) {
  const Interval old = ranges.of(v);
  const Interval next{std::max(old.lo, by.lo), std::min(old.hi, by.hi)};
  // An empty range means that this code is never reached; any range will do then.
  if (next == old || next.lo > next.hi) {
    return;
  }
  undo.saved.emplace_back(v, old);
  ranges.bind(v, next);
}

// l >= 0 where l = k*v + rest: a bound on v for every variable in l.
void narrow_variables(const Linear& l, Ranges& ranges, Undo& undo) {
  std::vector<Interval> parts;
  parts.reserve(l.terms.size());
  for (const auto& [atom, k] : l.terms) {
    parts.push_back(interval_of(atom, ranges) * k);
  }
  for (size_t i = 0; i < l.terms.size(); ++i) {
    const auto& [atom, k] = l.terms[i];
    const auto* v = atom.as<ir::VarNode>();
    if (v == nullptr) {
      continue;
    }
    Interval rest{l.constant, l.constant};
    for (size_t j = 0; j < parts.size(); ++j) {
      rest = j == i ? rest : rest + parts[j];
    }
    if (rest.hi < -kLinearLimit || rest.hi > kLinearLimit) {
      continue;
    }
    if (k > 0) {
      narrow(v, {ceil_div(-rest.hi, k), Interval::kPlusInf}, ranges, undo);
    } else {
      narrow(v, {Interval::kMinusInf, floor_div(rest.hi, -k)}, ranges, undo);
    }
  }
}

// min(a, b) >= t holds for both a and b; so does t >= max(a, b).
bool expand_extremum(const Linear& l, Ranges& ranges, Undo& undo) {
  for (size_t i = 0; i < l.terms.size(); ++i) {
    const auto& [atom, k] = l.terms[i];
    const auto* b = atom.as<ir::Binary>();
    if (b == nullptr || b->op != (k > 0 ? BinaryOp::kMin : BinaryOp::kMax)) {
      continue;
    }
    Linear rest = l;
    rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(i));
    for (const Expr& side : {b->a, b->b}) {
      Linear with = rest;
      if (add_scaled(with, to_linear(side), k)) {
        assume_non_negative(with, ranges, undo);
      }
    }
    return true;
  }
  return false;
}

// y // c >= m means y >= m*c; y // c <= m means y <= m*c + c - 1.
void expand_quotient(const Linear& l, Ranges& ranges, Undo& undo) {
  const auto& [atom, k] = l.terms[0];
  const auto* b = atom.as<ir::Binary>();
  if (b == nullptr || b->op != BinaryOp::kFloorDiv || l.terms.size() != 1) {
    return;
  }
  const auto c = ir::const_int(b->b);
  if (!c || *c <= 0) {
    return;
  }
  Linear y;
  int64_t bound = k > 0 ? ceil_div(-l.constant, k) : floor_div(l.constant, -k);
  if (*c > kLinearLimit / 2 || __builtin_mul_overflow(bound, *c, &bound) ||
      bound < -kLinearLimit / 2 || bound > kLinearLimit / 2) {
    return;
  }
  y.constant = k > 0 ? -bound : bound + *c - 1;
  if (add_scaled(y, to_linear(b->a), k > 0 ? 1 : -1)) {
    assume_non_negative(y, ranges, undo);
  }
}

void assume_not_equal(const Linear& l, Ranges& ranges, Undo& undo) {
  const auto* v = l.terms.size() == 1 ? l.terms[0].first.as<ir::VarNode>() : nullptr;
  if (v == nullptr || l.constant % l.terms[0].second != 0) {
    return;
  }
  const int64_t hole = -(l.constant / l.terms[0].second);
  const Interval r = ranges.of(v);
  if (r.lo == hole) {
    narrow(v, {hole + 1, Interval::kPlusInf}, ranges, undo);
  } else if (r.hi == hole) {
    narrow(v, {Interval::kMinusInf, hole - 1}, ranges, undo);
  }
}

// a - b + constant
std::optional<Linear> difference(const Expr& a, const Expr& b, int64_t constant) {
  Linear d;
  d.constant = constant;
  if (!add_scaled(d, to_linear(a), 1) || !add_scaled(d, to_linear(b), -1)) {
    return std::nullopt;
  }
  return d;
}

void assume_comparison(const ir::Binary& b, bool holds, Ranges& ranges, Undo& undo) {
  if (b.a.dtype() != ir::kI64) {
    return;
  }
  const auto non_negative = [&](const std::optional<Linear>& l) {
    if (l) {
      assume_non_negative(*l, ranges, undo);
    }
  };
  switch (b.op) {
    case BinaryOp::kLt:
      non_negative(holds ? difference(b.b, b.a, -1) : difference(b.a, b.b, 0));
      return;
    case BinaryOp::kLe:
      non_negative(holds ? difference(b.b, b.a, 0) : difference(b.a, b.b, -1));
      return;
    case BinaryOp::kEq:
    case BinaryOp::kNe:
      if ((b.op == BinaryOp::kEq) == holds) {
        non_negative(difference(b.a, b.b, 0));
        non_negative(difference(b.b, b.a, 0));
      } else if (const auto d = difference(b.a, b.b, 0)) {
        assume_not_equal(*d, ranges, undo);
      }
      return;
    default:
      return;
  }
}

}  // namespace

void assume_non_negative(const Linear& l, Ranges& ranges, Undo& undo) {
  if (l.is_constant() || expand_extremum(l, ranges, undo)) {
    return;
  }
  narrow_variables(l, ranges, undo);
  expand_quotient(l, ranges, undo);
  if (l.terms.size() > 1 || l.terms[0].first.kind() != ir::ExprKind::kVarNode) {
    ranges.add_fact(l);
  }
}

void assume(const Expr& condition, bool holds, Ranges& ranges, Undo& undo) {
  if (const auto* u = condition.as<ir::Unary>()) {
    if (u->op == ir::UnaryOp::kNot) {
      assume(u->a, !holds, ranges, undo);
    }
    return;
  }
  const auto* b = condition.as<ir::Binary>();
  if (b == nullptr || condition.dtype().is_vector()) {
    return;
  }
  if (b->op == (holds ? BinaryOp::kAnd : BinaryOp::kOr)) {
    assume(b->a, holds, ranges, undo);
    assume(b->b, holds, ranges, undo);
  } else {
    assume_comparison(*b, holds, ranges, undo);
  }
}

void take_back(const Undo& undo, Ranges& ranges) {
  for (auto it = undo.saved.rbegin(); it != undo.saved.rend(); ++it) {
    ranges.bind(it->first, it->second);
  }
  ranges.keep_facts(undo.facts);
}

void assume(const Expr& condition, Ranges& ranges) {
  Undo undo;
  assume(condition, true, ranges, undo);
}

}  // namespace tenon::arith
