// SPDX-License-Identifier: Apache-2.0
#include "fuzz/facts.h"

#include <algorithm>
#include <cmath>

#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::fuzz {
namespace {

using ir::BinaryOp;
using ir::Intrinsic;

// Bits of the significand of a float type.
int precision(ir::DType t) {
  if (t.code == ir::TypeCode::kBFloat) {
    return 8;
  }
  return t.bits == 16 ? 11 : t.bits == 32 ? 24 : 53;
}

// Integers wrap, so they are always exact; floats are while they fit the significand.
Facts settle(ir::DType t, Facts f) {
  if (!t.is_float()) {
    f.grain = 0;
    f.bound = std::min(f.bound, std::ldexp(1.0, t.bits));
    return f;
  }
  f.exact = f.exact && f.bound < std::ldexp(1.0, precision(t) + f.grain);
  return f;
}

Facts constant(double v) {
  Facts f{true, std::abs(v), 0};
  if (!std::isfinite(v)) {
    f.bound = 0;
    f.finite = false;
    return f;
  }
  while (v != std::floor(v)) {
    v *= 2;
    f.grain -= 1;
  }
  return f;
}

// The same number of times a power of two?
bool is_power_of_two(const ir::Expr& e, int& exponent) {
  const auto* f = e.as<ir::FloatImm>();
  return f != nullptr && f->value > 0 && std::frexp(f->value, &exponent) == 0.5;
}

Facts both(const Facts& a, const Facts& b) {
  return {a.exact && b.exact, std::max(a.bound, b.bound), std::min(a.grain, b.grain),
          a.finite && b.finite};
}

class OpFacts {
 public:
  OpFacts(const te::ComputeOp& op, const FactMap& known) : op_(op), known_(known) {}

  Facts run() const {
    Facts f = of(op_.body);
    if (op_.is_reduction()) {
      f = reduce(f);
    }
    return f;
  }

 private:
  Facts reduce(Facts f) const {
    double points = 1;
    for (const te::Axis& a : op_.reduce_axes) {
      points *= static_cast<double>(a.extent);
    }
    if (*op_.combiner == BinaryOp::kAdd) {
      f.bound *= points;
    } else if (*op_.combiner == BinaryOp::kMul) {
      f.bound = std::pow(std::max(f.bound, 1.0), points);
      f.grain = f.grain < 0 ? std::max(-1000, f.grain * static_cast<int>(points)) : f.grain;
    }
    // Every window of a random pool covers some of its input.
    f.finite = f.finite || *op_.combiner == BinaryOp::kMax || *op_.combiner == BinaryOp::kMaximum;
    return settle(op_.output.dtype(), f);
  }

  Facts of(const ir::Expr& e) const {
    switch (e.kind()) {
      case ir::ExprKind::kIntImm:
        return constant(static_cast<double>(e.as<ir::IntImm>()->value));
      case ir::ExprKind::kFloatImm:
        return constant(e.as<ir::FloatImm>()->value);
      case ir::ExprKind::kVarNode:
        return {true, static_cast<double>(op_.ranges().of(e.as<ir::VarNode>()).hi), 0};
      case ir::ExprKind::kLoad:
        return known_.at(e.as<ir::Load>()->buffer.get());
      case ir::ExprKind::kUnary:
        return of(e.as<ir::Unary>()->a);
      case ir::ExprKind::kCast:
        return cast(*e.as<ir::Cast>());
      case ir::ExprKind::kSelect: {
        const auto* s = e.as<ir::Select>();
        Facts f = both(of(s->on_true), of(s->on_false));
        f.exact = f.exact && of(s->condition).exact;
        return f;
      }
      case ir::ExprKind::kBinary:
        return binary(*e.as<ir::Binary>());
      default:
        return call(*e.as<ir::Call>());
    }
  }

  // One rounding of an exact value: still the same everywhere, and never finer than it was.
  Facts cast(const ir::Cast& c) const {
    Facts f = of(c.value);
    f.grain = c.dtype.is_float() ? f.grain : 0;
    f.bound *= c.dtype.is_float() ? 1.01 : 1;
    return f;
  }

  Facts binary(const ir::Binary& b) const {
    const Facts x = of(b.a);
    const Facts y = of(b.b);
    const ir::DType t = b.a.dtype();
    Facts f = both(x, y);
    switch (b.op) {
      case BinaryOp::kAdd:
      case BinaryOp::kSub:
        f.bound = x.bound + y.bound;
        return settle(t, f);
      case BinaryOp::kMul:
        f.bound = x.bound * y.bound;
        f.grain = x.grain + y.grain;
        return settle(t, f);
      case BinaryOp::kDiv:
        return divide(b, x, f);
      default:
        return f;
    }
  }

  static Facts divide(const ir::Binary& b, const Facts& x, Facts f) {
    int exponent = 0;
    f.bound = x.bound;
    if (is_power_of_two(b.b, exponent)) {
      f.bound = std::ldexp(x.bound, 1 - exponent);
      f.grain = x.grain + 1 - exponent;
      return settle(b.dtype, f);
    }
    f.exact = f.exact && !b.dtype.is_float();
    return f;
  }

  Facts call(const ir::Call& c) const {
    Facts f = of(c.args[0]);
    switch (c.fn) {
      case Intrinsic::kAbs:
      case Intrinsic::kFloor:
      case Intrinsic::kCeil:
      case Intrinsic::kRound:
      case Intrinsic::kTrunc:
      case Intrinsic::kIsNan:
      case Intrinsic::kIsInf:
        return f;
      case Intrinsic::kSqrt:
        return {false, std::sqrt(f.bound) + 1, 0};
      case Intrinsic::kRsqrt:
        return {false, 32, 0};
      case Intrinsic::kLog:
        return {false, f.bound + 1, 0};
      default:
        return {false, 2, 0};  // bounded functions, and exp of what is not positive
    }
  }

  const te::ComputeOp& op_;
  const FactMap& known_;
};

}  // namespace

Facts input_facts(ir::DType t) {
  if (t.is_bool()) {
    return {true, 1, 0};
  }
  return {true, static_cast<double>(t.is_float() ? kFloatInput : kHighestInput), 0};
}

Facts op_facts(const te::ComputeOp& op, const FactMap& known) { return OpFacts(op, known).run(); }

FactMap all_facts(const te::ComputeDag& dag) {
  FactMap known;
  for (const te::Input& in : dag.inputs) {
    known[in.tensor.get()] = input_facts(in.tensor.dtype());
  }
  for (const te::OpRef& op : dag.ops) {
    known[op->output.get()] = op_facts(*op, known);
  }
  return known;
}

namespace {

bool tests_values(const te::ComputeOp& op) {
  bool found = false;
  ir::visit(op.body, [&](const ir::Expr& e) {
    const auto* compare = e.as<ir::Binary>();
    const auto* cast = e.as<ir::Cast>();
    const auto* call = e.as<ir::Call>();
    const bool sharp =
        (compare != nullptr && ir::is_comparison(compare->op)) ||
        (cast != nullptr && cast->value.dtype().is_float() && !e.dtype().is_float()) ||
        (call != nullptr &&
         (call->fn == ir::Intrinsic::kFloor || call->fn == ir::Intrinsic::kCeil ||
          call->fn == ir::Intrinsic::kRound));
    found = found || (sharp && e.loads());
  });
  return found;
}

}  // namespace

bool is_tested(const te::ComputeDag& dag, const te::Tensor& t) {
  std::vector<const te::Tensor*> behind{&t};
  for (const te::OpRef& op : dag.ops) {
    bool reads = false;
    ir::visit(op->body, [&](const ir::Expr& e) {
      const auto* l = e.as<ir::Load>();
      reads = reads || (l != nullptr && std::any_of(behind.begin(), behind.end(), [&](auto* b) {
                          return l->buffer.same_as(*b);
                        }));
    });
    if (!reads) continue;
    if (tests_values(*op)) return true;
    behind.push_back(&op->output);
  }
  return false;
}

}  // namespace tenon::fuzz
