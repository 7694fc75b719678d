// SPDX-License-Identifier: Apache-2.0
#include "arith/linear.h"

#include <algorithm>

#include "ir/build.h"

namespace tenon::arith {
namespace {

using ir::BinaryOp;

bool in_limit(int64_t v) { return v <= kLinearLimit && v >= -kLinearLimit; }

// Adds k * e, term by term, to a linear form; `ok` turns false when a number passes kLinearLimit.
class Collector {
 public:
  Collector() { out.terms.reserve(8); }
  void add(const ir::Expr& e, int64_t k) {
    if (!ok) {
      return;
    }
    const bool index = e.dtype() == ir::kI64;
    const auto* u = e.as<ir::Unary>();
    if (const auto* imm = e.as<ir::IntImm>(); index && imm != nullptr) {
      add_constant(imm->value, k);
    } else if (const auto* b = e.as<ir::Binary>(); index && b != nullptr) {
      add_binary(e, *b, k);
    } else if (index && u != nullptr && u->op == ir::UnaryOp::kNeg) {
      add(u->a, -k);
    } else {
      ok = add_term(out, e, k);
    }
  }

  Linear out;
  bool ok = true;

 private:
  void add_constant(int64_t value, int64_t k) {
    int64_t product = 0;
    ok = !__builtin_mul_overflow(value, k, &product) &&
         !__builtin_add_overflow(out.constant, product, &out.constant) && in_limit(out.constant);
  }

  void add_binary(const ir::Expr& e, const ir::Binary& b, int64_t k) {
    switch (b.op) {
      case BinaryOp::kAdd:
        add(b.a, k);
        add(b.b, k);
        return;
      case BinaryOp::kSub:
        add(b.a, k);
        add(b.b, -k);
        return;
      case BinaryOp::kMul:
        if (const auto c = ir::const_int(b.b)) {
          add_times(b.a, *c, k);
        } else if (const auto d = ir::const_int(b.a)) {
          add_times(b.b, *d, k);
        } else {
          add_product(e, b, k);
        }
        return;
      default:
        ok = add_term(out, e, k);
    }
  }

  void add_times(const ir::Expr& e, int64_t c, int64_t k) {
    int64_t product = 0;
    ok = !__builtin_mul_overflow(c, k, &product) && in_limit(product);
    if (product != 0) {
      add(e, product);
    }
  }

  // Constant factors leave a product: (i*4) * n is 4 times the atom i*n.
  void add_product(const ir::Expr& e, const ir::Binary& b, int64_t k) {
    const Linear x = to_linear(b.a);
    const Linear y = to_linear(b.b);
    if (x.is_constant()) {
      add_times(b.b, x.constant, k);
    } else if (y.is_constant()) {
      add_times(b.a, y.constant, k);
    } else {
      const bool take_x = x.terms.size() == 1 && x.constant == 0 && x.terms[0].second != 1;
      const bool take_y = y.terms.size() == 1 && y.constant == 0 && y.terms[0].second != 1;
      if (!take_x && !take_y) {
        ok = add_term(out, e, k);
        return;
      }
      int64_t c = 0;
      ok = !__builtin_mul_overflow(take_x ? x.terms[0].second : 1, take_y ? y.terms[0].second : 1,
                                   &c);
      if (ok) {
        add_times((take_x ? x.terms[0].first : b.a) * (take_y ? y.terms[0].first : b.b), c, k);
      }
    }
  }
};

struct Sum {
  ir::Expr value;
  void add(const ir::Expr& e, bool negative) {
    if (!value.defined()) {
      value = negative ? -e : e;
    } else {
      value = negative ? value - e : value + e;
    }
  }
};

// Some terms whose coefficients have the same magnitude, as one addend `positive ? e : -e`.
struct Addend {
  ir::Expr e;
  bool positive;
};

using Terms = std::vector<std::pair<ir::Expr, int64_t>>;

// Terms of one magnitude; a positive one leads unless there is none.
Addend shared_coefficient(const Terms& terms, int64_t magnitude) {
  const auto first_positive =
      std::find_if(terms.begin(), terms.end(), [](const auto& t) { return t.second > 0; });
  const bool positive = first_positive != terms.end();
  Sum sum;
  if (positive) {
    sum.add(first_positive->first, false);
  }
  for (auto t = terms.begin(); t != terms.end(); ++t) {
    if (t != first_positive) {
      sum.add(t->first, positive && t->second < 0);
    }
  }
  return {magnitude == 1 ? sum.value : sum.value * ir::make_int(ir::kI64, magnitude), positive};
}

std::vector<Addend> addends_of(const Linear& l) {
  std::vector<Addend> out;
  std::vector<bool> done(l.terms.size(), false);
  for (size_t i = 0; i < l.terms.size(); ++i) {
    if (done[i]) {
      continue;
    }
    const int64_t magnitude = std::abs(l.terms[i].second);
    Terms group{l.terms[i]};
    for (size_t j = i + 1; magnitude > 1 && j < l.terms.size(); ++j) {
      if (std::abs(l.terms[j].second) == magnitude) {
        group.push_back(l.terms[j]);
        done[j] = true;
      }
    }
    out.push_back(shared_coefficient(group, magnitude));
  }
  return out;
}

Linear checked(const Linear& a, const Linear& b, int64_t k) {
  Linear r = a;
  TENON_CHECK(add_scaled(r, b, k)) << "linear form out of 64 bits";
  return r;
}

}  // namespace

int64_t Linear::coefficient(const ir::VarNode* v) const {
  for (const auto& [atom, k] : terms) {
    if (atom.get() == v) {
      return k;
    }
  }
  return 0;
}

bool Linear::is_affine() const {
  return std::all_of(terms.begin(), terms.end(),
                     [](const auto& t) { return t.first.kind() == ir::ExprKind::kVarNode; });
}

bool add_term(Linear& out, const ir::Expr& atom, int64_t k) {
  if (k == 0) {
    return true;
  }
  for (auto t = out.terms.begin(); t != out.terms.end(); ++t) {
    if (same_atom(t->first, atom)) {
      const bool overflow = __builtin_add_overflow(t->second, k, &t->second);
      if (overflow || !in_limit(t->second)) {
        return false;
      }
      if (t->second == 0) {
        out.terms.erase(t);
      }
      return true;
    }
  }
  out.terms.emplace_back(atom, k);
  return in_limit(k);
}

bool add_scaled(Linear& out, const Linear& in, int64_t k) {
  int64_t product = 0;
  if (__builtin_mul_overflow(in.constant, k, &product) ||
      __builtin_add_overflow(out.constant, product, &out.constant) || !in_limit(out.constant)) {
    return false;
  }
  for (const auto& [atom, coefficient] : in.terms) {
    if (__builtin_mul_overflow(coefficient, k, &product) || !add_term(out, atom, product)) {
      return false;
    }
  }
  return true;
}

Linear to_linear(const ir::Expr& e) {
  Collector c;
  c.add(e, 1);
  if (!c.ok) {
    return {{{e, 1}}, 0};
  }
  return std::move(c.out);
}

ir::Expr to_expr(const Linear& l) {
  const std::vector<Addend> addends = addends_of(l);
  const auto lead =
      std::find_if(addends.begin(), addends.end(), [](const Addend& a) { return a.positive; });
  const bool constant_leads = lead == addends.end() && l.constant > 0;
  Sum sum;
  if (lead != addends.end()) {
    sum.add(lead->e, false);
  } else if (constant_leads || addends.empty()) {
    sum.value = ir::make_int(ir::kI64, l.constant);
  }
  for (auto a = addends.begin(); a != addends.end(); ++a) {
    if (a != lead) {
      sum.add(a->e, !a->positive);
    }
  }
  if (l.constant != 0 && !constant_leads && !addends.empty()) {
    sum.add(ir::make_int(ir::kI64, std::abs(l.constant)), l.constant < 0);
  }
  return sum.value;
}

Linear operator+(const Linear& a, const Linear& b) { return checked(a, b, 1); }
Linear operator-(const Linear& a, const Linear& b) { return checked(a, b, -1); }
Linear operator*(const Linear& a, int64_t k) { return checked(Linear{}, a, k); }

}  // namespace tenon::arith
