// SPDX-License-Identifier: Apache-2.0
#include "te/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "arith/linear.h"
#include "arith/simplify.h"
#include "ir/print.h"
#include "ir/visit.h"

namespace tenon::te {
namespace {

using arith::Interval;
using arith::Linear;
using ir::BinaryOp;

// Larger magnitudes could overflow while linear forms and intervals are computed.
constexpr double kSafe = 0x1p62;

// A generous bound on the absolute value of `e` and of what it is made of.
double magnitude(const ir::Expr& e, const arith::Ranges& ranges) {
  if (const auto* n = e.as<ir::IntImm>()) {
    return std::abs(static_cast<double>(n->value));
  }
  if (const auto* v = e.as<ir::VarNode>()) {
    return static_cast<double>(ranges.of(v).hi);
  }
  if (e.as<ir::Load>() != nullptr || e.as<ir::Cast>() != nullptr) {
    return 0x1p60;
  }
  std::vector<double> parts;
  ir::for_each_child(e, [&](const ir::Expr& c) { parts.push_back(magnitude(c, ranges)); });
  if (e.as<ir::Select>() != nullptr) {
    return std::max(parts[1], parts[2]);
  }
  const auto* b = e.as<ir::Binary>();
  if (b == nullptr) {
    return parts.empty() ? 0 : parts[0];
  }
  switch (b->op) {
    case BinaryOp::kMul:
      return std::max(parts[0], 1.0) * std::max(parts[1], 1.0);
    case BinaryOp::kShl:
      return 0x1p63;
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return std::max(parts[0], parts[1]);
    default:
      return parts[0] + parts[1];
  }
}

// Everything known to hold at a point of the body: variable ranges, and linear forms that are >= 0.
struct Known {
  arith::Ranges ranges;
  std::vector<Linear> facts;
};

void learn_order(const ir::Expr& small, const ir::Expr& large, int64_t gap, Known& known) {
  if (small.dtype() != ir::kI64 || magnitude(small - large, known.ranges) >= kSafe) {
    return;
  }
  Linear fact = arith::to_linear(large) - arith::to_linear(small);
  fact.constant -= gap;
  known.facts.push_back(std::move(fact));
  arith::assume(ir::le(small + ir::Expr(gap), large), known.ranges);
}

void learn(const ir::Expr& condition, bool holds, Known& known) {
  if (const auto* u = condition.as<ir::Unary>(); u != nullptr && u->op == ir::UnaryOp::kNot) {
    learn(u->a, !holds, known);
    return;
  }
  const auto* b = condition.as<ir::Binary>();
  if (b == nullptr) {
    return;
  }
  if (b->op == (holds ? BinaryOp::kAnd : BinaryOp::kOr)) {
    learn(b->a, holds, known);
    learn(b->b, holds, known);
  } else if (b->op == BinaryOp::kLt) {
    holds ? learn_order(b->a, b->b, 1, known) : learn_order(b->b, b->a, 0, known);
  } else if (b->op == BinaryOp::kLe) {
    holds ? learn_order(b->a, b->b, 0, known) : learn_order(b->b, b->a, 1, known);
  } else if (b->op == (holds ? BinaryOp::kEq : BinaryOp::kNe)) {
    learn_order(b->a, b->b, 0, known);
    learn_order(b->b, b->a, 0, known);
  }
}

bool is_nonnegative(const Linear& l, const Known& known) {
  if (arith::interval_of(arith::to_expr(l), known.ranges).lo >= 0) {
    return true;
  }
  for (const Linear& fact : known.facts) {
    const Linear rest = l - fact;
    if (rest.terms.empty() ? rest.constant >= 0
                           : arith::interval_of(arith::to_expr(rest), known.ranges).lo >= 0) {
      return true;
    }
  }
  // a // c + k >= 0  <=>  a + k*c >= 0;   k - a // c >= 0  <=>  k*c + c - 1 - a >= 0
  if (l.terms.size() != 1 || std::abs(l.terms[0].second) != 1 || std::abs(l.constant) > (1 << 30)) {
    return false;
  }
  const auto* div = l.terms[0].first.as<ir::Binary>();
  const auto c = div != nullptr ? ir::const_int(div->b) : std::nullopt;
  if (div == nullptr || div->op != BinaryOp::kFloorDiv || !c || *c < 1 || *c > (1 << 30)) {
    return false;
  }
  Linear next = arith::to_linear(div->a) * l.terms[0].second;
  next.constant += l.constant * *c + (l.terms[0].second < 0 ? *c - 1 : 0);
  return is_nonnegative(next, known);
}

class BoundsChecker {
 public:
  std::optional<BoundsError> run(const ComputeOp& op) {
    walk(op.body, Known{op.ranges(), {}});
    return std::move(error_);
  }

 private:
  void walk(const ir::Expr& e, const Known& known) {
    if (error_) {
      return;
    }
    if (const auto* s = e.as<ir::Select>()) {
      walk(s->condition, known);
      walk_if(s->condition, true, s->on_true, known);
      walk_if(s->condition, false, s->on_false, known);
      return;
    }
    const auto* b = e.as<ir::Binary>();
    if (b != nullptr && (b->op == BinaryOp::kAnd || b->op == BinaryOp::kOr)) {
      walk(b->a, known);
      walk_if(b->a, b->op == BinaryOp::kAnd, b->b, known);
      return;
    }
    ir::for_each_child(e, [&](const ir::Expr& child) { walk(child, known); });
    if (const auto* load = e.as<ir::Load>()) {
      check(*load, known);
    }
  }

  void walk_if(const ir::Expr& condition, bool holds, const ir::Expr& e, const Known& known) {
    Known inner = known;
    learn(condition, holds, inner);
    walk(e, inner);
  }

  void check(const ir::Load& load, const Known& known) {
    for (size_t d = 0; d < load.indices.size() && !error_; ++d) {
      const ir::Expr& index = load.indices[d];
      const int64_t extent = load.buffer.shape()[d];
      if (magnitude(index, known.ranges) >= kSafe) {
        refuse(load, d, "may overflow", "keep index arithmetic within 62 bits");
        continue;
      }
      const Interval seen = arith::interval_of(index, known.ranges);
      if (seen.lo >= 0 && seen.hi < extent) {
        continue;
      }
      const Linear l = arith::to_linear(index);
      Linear room = l * -1;
      room.constant += extent - 1;
      if (!is_nonnegative(l, known) || !is_nonnegative(room, known)) {
        refuse_range(load, d, l.is_affine() ? seen : Interval{});
      }
    }
  }

  void refuse_range(const ir::Load& load, size_t d, Interval seen) {
    if (seen.bounded()) {
      refuse(load, d, fmt::format("runs from {} to {}", seen.lo, seen.hi),
             "shrink the axis, or guard the read with select(condition, read, other)");
    } else {
      refuse(load, d, "cannot be shown to stay inside",
             "clamp it with min(max(index, 0), extent - 1) or guard the read with select");
    }
  }

  void refuse(const ir::Load& load, size_t d, const std::string& what, const std::string& hint) {
    error_ = BoundsError{&load, d,
                         fmt::format("index {} of '{}' ({}) {}, but the dimension has extent {}", d,
                                     load.buffer.name(), ir::to_string(load.indices[d]), what,
                                     load.buffer.shape()[d]),
                         hint};
  }

  std::optional<BoundsError> error_;
};

}  // namespace

std::optional<BoundsError> check_bounds(const ComputeOp& op) { return BoundsChecker().run(op); }

}  // namespace tenon::te
