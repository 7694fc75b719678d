// SPDX-License-Identifier: Apache-2.0
#include "cost/forms.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ir/visit.h"

namespace tenon::cost {

namespace {

constexpr double kAnywhere = 2147483648.0;  // no dimension is longer

std::optional<double> constant(const ir::Expr& e) {
  const auto* i = e.as<ir::IntImm>();
  return i == nullptr ? std::nullopt : std::optional<double>(static_cast<double>(i->value));
}

Range remainder(Range r, double c) {
  const double q = std::floor(r.lo / c);
  return q == std::floor(r.hi / c) ? Range{r.lo - q * c, r.hi - q * c} : Range{0, c - 1};
}

}  // namespace

void Forms::reset(std::span<const int64_t> extents) {
  extents_.assign(extents.begin(), extents.end());
  stride_ = std::max<size_t>(extents.size(), 1);
  names_.clear();
  coefficients_.clear();
  constants_.clear();
  running_.clear();
  terms_of_.clear();
  terms_.clear();
  atoms_.clear();
}

FormId Forms::make() {
  coefficients_.resize(coefficients_.size() + stride_, 0.0);
  constants_.push_back(0);
  running_.emplace_back();
  terms_of_.push_back(-1);
  return static_cast<FormId>(constants_.size()) - 1;
}

FormId Forms::compile(const ir::Expr& e) {
  const FormId f = make();
  add(e, 1, f);
  return f;
}

FormId Forms::compile_sum(const ir::Expr& a, const ir::Expr& b) {
  const FormId f = make();
  add(a, 1, f);
  add(b, 1, f);
  return f;
}

void Forms::add(const ir::Expr& e, double k, FormId out) {
  switch (e.kind()) {
    case ir::ExprKind::kIntImm:
      constants_[static_cast<size_t>(out)] += k * static_cast<double>(e.as<ir::IntImm>()->value);
      break;
    case ir::ExprKind::kVarNode:
      add_variable(e.as<ir::VarNode>(), k, out);
      break;
    case ir::ExprKind::kBinary:
      add_binary(*e.as<ir::Binary>(), e, k, out);
      break;
    default:
      add_unknown(e, k, out);
  }
}

void Forms::add_variable(const ir::VarNode* v, double k, FormId out) {
  for (auto it = names_.rbegin(); it != names_.rend(); ++it) {
    if (it->first != v) continue;
    if (it->second >= 0) {
      add_form(it->second, k, out);
    } else {
      row(out)[~it->second] += k;
    }
    return;
  }
}

void Forms::add_binary(const ir::Binary& b, const ir::Expr& e, double k, FormId out) {
  const auto right = constant(b.b);
  switch (b.op) {
    case ir::BinaryOp::kAdd:
      add(b.a, k, out);
      return add(b.b, k, out);
    case ir::BinaryOp::kSub:
      add(b.a, k, out);
      return add(b.b, -k, out);
    case ir::BinaryOp::kMul:
      if (right) return add(b.a, k * *right, out);
      if (const auto left = constant(b.a)) return add(b.b, k * *left, out);
      break;
    case ir::BinaryOp::kFloorDiv:
      if (right && *right > 0) {
        return add_atom({AtomKind::kQuotient, compile(b.a), -1, *right}, k, out);
      }
      break;
    case ir::BinaryOp::kFloorMod:
      if (right && *right > 0) {
        return add_atom({AtomKind::kRemainder, compile(b.a), -1, *right}, k, out);
      }
      break;
    case ir::BinaryOp::kMin:
      return add_atom({AtomKind::kMin, compile(b.a), compile(b.b), 1}, k, out);
    case ir::BinaryOp::kMax:
      return add_atom({AtomKind::kMax, compile(b.a), compile(b.b), 1}, k, out);
    default:
      break;
  }
  add_unknown(e, k, out);
}

void Forms::add_form(FormId in, double k, FormId out) {
  const double* from = row(in);
  double* to = row(out);
  for (size_t i = 0; i < stride_; ++i) to[i] += k * from[i];
  constants_[static_cast<size_t>(out)] += k * constants_[static_cast<size_t>(in)];
  for (int32_t t = terms_of_[static_cast<size_t>(in)]; t >= 0;) {
    const Term term = terms_[static_cast<size_t>(t)];
    terms_.push_back({term.atom, k * term.factor, terms_of_[static_cast<size_t>(out)]});
    terms_of_[static_cast<size_t>(out)] = static_cast<int32_t>(terms_.size()) - 1;
    t = term.next;
  }
}

void Forms::add_atom(Atom atom, double k, FormId out) {
  atoms_.push_back(atom);
  terms_.push_back(
      {static_cast<int32_t>(atoms_.size()) - 1, k, terms_of_[static_cast<size_t>(out)]});
  terms_of_[static_cast<size_t>(out)] = static_cast<int32_t>(terms_.size()) - 1;
}

void Forms::add_unknown(const ir::Expr& e, double k, FormId out) {
  const FormId f = make();
  add_dependences(e, f);
  add_atom({AtomKind::kUnknown, f, -1, 1}, k, out);
}

void Forms::add_dependences(const ir::Expr& e, FormId out) {
  if (const auto* v = e.as<ir::VarNode>()) return add_variable(v, 1, out);
  ir::for_each_child(e, [&](const ir::Expr& c) { add_dependences(c, out); });
}

void Forms::run_loop(size_t loop) {
  const double last = extents_[loop] - 1;
  for (size_t f = 0; f < running_.size(); ++f) {
    const double d = coefficients_[f * stride_ + loop] * last;
    (d > 0 ? running_[f].hi : running_[f].lo) += d;
  }
}

Range Forms::range(FormId f) const {
  const size_t i = static_cast<size_t>(f);
  Range r{running_[i].lo + constants_[i], running_[i].hi + constants_[i]};
  for (int32_t t = terms_of_[i]; t >= 0; t = terms_[static_cast<size_t>(t)].next) {
    const Term& term = terms_[static_cast<size_t>(t)];
    const Range a = range(atoms_[static_cast<size_t>(term.atom)]);
    r.lo += term.factor * (term.factor > 0 ? a.lo : a.hi);
    r.hi += term.factor * (term.factor > 0 ? a.hi : a.lo);
  }
  return r;
}

Range Forms::range(const Atom& atom) const {
  const Range a = range(atom.a);
  switch (atom.kind) {
    case AtomKind::kQuotient:
      return {std::floor(a.lo / atom.divisor), std::floor(a.hi / atom.divisor)};
    case AtomKind::kRemainder:
      return remainder(a, atom.divisor);
    case AtomKind::kMin: {
      const Range b = range(atom.b);
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    }
    case AtomKind::kMax: {
      const Range b = range(atom.b);
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    }
    case AtomKind::kUnknown:
      break;
  }
  return {0, a.lo == a.hi ? 0 : kAnywhere};
}

bool Forms::uses(FormId f, size_t loop) const {
  if (row(f)[loop] != 0) return true;
  const size_t i = static_cast<size_t>(f);
  for (int32_t t = terms_of_[i]; t >= 0; t = terms_[static_cast<size_t>(t)].next) {
    const Atom& a = atoms_[static_cast<size_t>(terms_[static_cast<size_t>(t)].atom)];
    if (uses(a.a, loop) || (a.b >= 0 && uses(a.b, loop))) return true;
  }
  return false;
}

double Forms::step(FormId f, size_t loop) const {
  if (terms_of_[static_cast<size_t>(f)] < 0) return row(f)[loop];
  return at(f, loop, 1) - at(f, loop, 0);
}

double Forms::at(FormId f, size_t loop, double value) const {
  const size_t i = static_cast<size_t>(f);
  double v = constants_[i] + row(f)[loop] * value;
  for (int32_t t = terms_of_[i]; t >= 0; t = terms_[static_cast<size_t>(t)].next) {
    const Term& term = terms_[static_cast<size_t>(t)];
    v += term.factor * at(atoms_[static_cast<size_t>(term.atom)], loop, value);
  }
  return v;
}

double Forms::at(const Atom& atom, size_t loop, double value) const {
  if (atom.kind == AtomKind::kUnknown) return 0;
  const double a = at(atom.a, loop, value);
  switch (atom.kind) {
    case AtomKind::kQuotient:
      return std::floor(a / atom.divisor);
    case AtomKind::kRemainder:
      return a - std::floor(a / atom.divisor) * atom.divisor;
    case AtomKind::kMin:
      return std::min(a, at(atom.b, loop, value));
    default:
      return std::max(a, at(atom.b, loop, value));
  }
}

}  // namespace tenon::cost
