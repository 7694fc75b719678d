// SPDX-License-Identifier: Apache-2.0
#include "cost/reach.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "ir/visit.h"

namespace tenon::cost {
namespace {

constexpr double kAnywhere = 2147483648.0;  // no dimension is longer

// What is left of a reach after // or % by a constant.
Reach divided(Reach r, double divisor, bool remainder) {
  if (!remainder) return {std::floor(r.step / divisor), std::floor(r.span / divisor)};
  const double step = std::fmod(r.step, divisor);
  if (step == 0 && r.step != 0) return {};  // whole turns
  return {step, std::min(r.span, divisor - 1)};
}

}  // namespace

void ReachTable::reset(std::span<const double> extents) {
  extents_.assign(extents.begin(), extents.end());
  loops_ = extents.size();
  std::fill(names_.begin(), names_.end(), Name{});
  named_ = 0;
  reaches_.clear();
  rows_ = 0;
}

ReachTable::Row ReachTable::make() {
  reaches_.resize(static_cast<size_t>(rows_ + 1) * loops_);
  std::fill_n(at(rows_), loops_, Reach{});
  return rows_++;
}

// Where the variable stands, or would stand.
size_t ReachTable::slot_of(const ir::VarNode* v) const {
  const size_t mask = names_.size() - 1;
  size_t i = (reinterpret_cast<uintptr_t>(v) / alignof(std::max_align_t)) & mask;
  while (names_[i].var != nullptr && names_[i].var != v) i = (i + 1) & mask;
  return i;
}

void ReachTable::name(const ir::VarNode* v, int32_t what) {
  if (2 * (named_ + 1) > names_.size()) {
    std::vector<Name> before(2 * names_.size());
    before.swap(names_);
    for (const Name& n : before) {
      if (n.var != nullptr) names_[slot_of(n.var)] = n;
    }
  }
  Name& n = names_[slot_of(v)];
  named_ += n.var == nullptr ? 1 : 0;
  n = {v, what};
}

const int32_t* ReachTable::name_of(const ir::VarNode* v) const {
  const Name& n = names_[slot_of(v)];
  return n.var == nullptr ? nullptr : &n.what;
}

ReachTable::Row ReachTable::of(const ir::Expr& e) {
  if (const auto* v = e.as<ir::VarNode>()) {
    const int32_t* name = name_of(v);
    if (name != nullptr && *name >= 0) return *name;
  }
  const Row r = make();
  add(e, 1, r);
  return r;
}

ReachTable::Row ReachTable::of_sum(const ir::Expr& a, const ir::Expr& b) {
  const Row r = make();
  add(a, 1, r);
  add(b, 1, r);
  return r;
}

void ReachTable::add(const ir::Expr& e, double k, Row out) {
  switch (e.kind()) {
    case ir::ExprKind::kIntImm:
      return;
    case ir::ExprKind::kVarNode:
      return add_variable(e.as<ir::VarNode>(), k, out);
    case ir::ExprKind::kBinary:
      if (add_binary(*e.as<ir::Binary>(), k, out)) return;
      break;
    default:
      break;
  }
  add_anywhere(e, out);
}

void ReachTable::add_variable(const ir::VarNode* v, double k, Row out) {
  const int32_t* name = name_of(v);
  if (name == nullptr) return;
  if (*name >= 0) return add_row(*name, k, out);
  const auto loop = static_cast<size_t>(~*name);
  Reach& r = at(out)[loop];
  r.step += k;
  r.span += std::abs(k) * (extents_[loop] - 1);
}

void ReachTable::add_row(Row in, double k, Row out) {
  const Reach* from = at(in);
  Reach* to = at(out);
  for (size_t l = 0; l < loops_; ++l) {
    to[l].step += k * from[l].step;
    to[l].span += std::abs(k) * from[l].span;
  }
}

// False: it is not understood.
bool ReachTable::add_binary(const ir::Binary& b, double k, Row out) {
  const auto* right = b.b.as<ir::IntImm>();
  const auto* left = b.a.as<ir::IntImm>();
  switch (b.op) {
    case ir::BinaryOp::kAdd:
    case ir::BinaryOp::kMin:
    case ir::BinaryOp::kMax:
      add(b.a, k, out);
      add(b.b, k, out);
      return true;
    case ir::BinaryOp::kSub:
      add(b.a, k, out);
      add(b.b, -k, out);
      return true;
    case ir::BinaryOp::kMul:
      if (right != nullptr) add(b.a, k * static_cast<double>(right->value), out);
      if (right == nullptr && left != nullptr) add(b.b, k * static_cast<double>(left->value), out);
      return right != nullptr || left != nullptr;
    case ir::BinaryOp::kFloorDiv:
    case ir::BinaryOp::kFloorMod:
      if (right == nullptr || right->value <= 0) return false;
      add_divided(b, static_cast<double>(right->value), k, out);
      return true;
    default:
      return false;
  }
}

void ReachTable::add_divided(const ir::Binary& b, double divisor, double k, Row out) {
  const Row inner = make();
  add(b.a, 1, inner);
  for (size_t l = 0; l < loops_; ++l) {
    Reach& r = at(inner)[l];
    r = divided(r, divisor, b.op == ir::BinaryOp::kFloorMod);
  }
  add_row(inner, k, out);
  rows_ = inner;  // nobody else has seen it
}

void ReachTable::add_anywhere(const ir::Expr& e, Row out) {
  ir::visit(e, [&](const ir::Expr& x) {
    if (const auto* v = x.as<ir::VarNode>()) add_variable(v, kAnywhere, out);
  });
}

}  // namespace tenon::cost
