// SPDX-License-Identifier: Apache-2.0
#include "ir/interp_expr.h"

#include <array>
#include <limits>

#include "ir/int_ops.h"
#include "ir/interp_math.h"

namespace tenon::ir::interp {
namespace {

Scalar of_int(int64_t v) { return {v, 0}; }
Scalar of_float(double v) { return {0, v}; }

struct Constant : Evaluator {
  Scalar value;
  explicit Constant(Scalar v) : value(v) {}
  Scalar eval(const Thread&, int) const override { return value; }
};

struct LinearEval : Evaluator {
  Linear value;
  explicit LinearEval(Linear v) : value(std::move(v)) {}
  Scalar eval(const Thread& t, int lane) const override { return of_int(value.at(t, lane)); }
};

struct Variable : Evaluator {
  size_t slot;
  explicit Variable(size_t s) : slot(s) {}
  Scalar eval(const Thread& t, int) const override { return of_int(t.vars[slot]); }
};

struct Conversion : Evaluator {
  DType from, to;
  EvaluatorRef value;
  Conversion(DType f, DType t, EvaluatorRef v) : from(f), to(t), value(std::move(v)) {}
  Scalar eval(const Thread& t, int lane) const override {
    const Scalar v = value->eval(t, lane);
    if (from.is_float()) {
      return to.is_float() ? of_float(round_to(to, v.f)) : of_int(float_to_int(to, v.f));
    }
    if (to.is_bool()) {
      return of_int(v.i != 0);
    }
    return to.is_float() ? of_float(int_to_float(to, from, v.i)) : of_int(wrap_int(to, v.i));
  }
};

struct UnaryEval : Evaluator {
  UnaryOp op;
  DType type;
  EvaluatorRef a;
  UnaryEval(UnaryOp o, DType t, EvaluatorRef x) : op(o), type(t), a(std::move(x)) {}
  Scalar eval(const Thread& t, int lane) const override {
    const Scalar v = a->eval(t, lane);
    switch (op) {
      case UnaryOp::kNot:
        return of_int(v.i ^ 1);
      case UnaryOp::kBitNot:
        return of_int(wrap_int(type, ~v.i));
      case UnaryOp::kNeg:
        break;
    }
    return type.is_float()
               ? of_float(-v.f)
               : of_int(wrap_int(type, static_cast<int64_t>(0 - static_cast<uint64_t>(v.i))));
  }
};

int64_t checked_int(BinaryOp op, DType type, int64_t a, int64_t b) {
  const std::optional<int64_t> r = apply_int(op, type, a, b);
  TENON_CHECK(r.has_value()) << a << ' ' << to_string(op) << ' ' << b << " is undefined";
  return *r;
}

struct IntBinary : Evaluator {
  BinaryOp op;
  DType type;  // of the operands, scalar
  EvaluatorRef a, b;
  IntBinary(BinaryOp o, DType t, EvaluatorRef x, EvaluatorRef y)
      : op(o), type(t), a(std::move(x)), b(std::move(y)) {}
  Scalar eval(const Thread& t, int lane) const override {
    const int64_t x = a->eval(t, lane).i;
    if ((op == BinaryOp::kAnd && x == 0) || (op == BinaryOp::kOr && x != 0)) {
      return of_int(x);
    }
    return of_int(checked_int(op, type, x, b->eval(t, lane).i));
  }
};

// The bulk of index arithmetic, without the checks and wraps that i64 does not need.
template <BinaryOp kOp>
struct IndexBinary : Evaluator {
  EvaluatorRef a, b;
  IndexBinary(EvaluatorRef x, EvaluatorRef y) : a(std::move(x)), b(std::move(y)) {}
  Scalar eval(const Thread& t, int lane) const override {
    const auto x = static_cast<uint64_t>(a->eval(t, lane).i);
    const auto y = static_cast<uint64_t>(b->eval(t, lane).i);
    return of_int(static_cast<int64_t>(kOp == BinaryOp::kAdd ? x + y : x * y));
  }
};

struct FloatBinary : Evaluator {
  BinaryOp op;
  DType type;
  EvaluatorRef a, b;
  FloatBinary(BinaryOp o, DType t, EvaluatorRef x, EvaluatorRef y)
      : op(o), type(t), a(std::move(x)), b(std::move(y)) {}
  Scalar eval(const Thread& t, int lane) const override {
    const double x = a->eval(t, lane).f;
    return of_float(apply_float(op, type, x, b->eval(t, lane).f));
  }
};

struct FloatCompare : Evaluator {
  BinaryOp op;
  EvaluatorRef a, b;
  FloatCompare(BinaryOp o, EvaluatorRef x, EvaluatorRef y)
      : op(o), a(std::move(x)), b(std::move(y)) {}
  Scalar eval(const Thread& t, int lane) const override {
    const double x = a->eval(t, lane).f;
    return of_int(compare_float(op, x, b->eval(t, lane).f) ? 1 : 0);
  }
};

struct Choice : Evaluator {
  EvaluatorRef condition, on_true, on_false;
  Choice(EvaluatorRef c, EvaluatorRef t, EvaluatorRef f)
      : condition(std::move(c)), on_true(std::move(t)), on_false(std::move(f)) {}
  Scalar eval(const Thread& t, int lane) const override {
    return condition->eval(t, lane).i != 0 ? on_true->eval(t, lane) : on_false->eval(t, lane);
  }
};

struct Read : Evaluator {
  Place place;
  EvaluatorRef predicate;  // may be null
  Read(Place p, EvaluatorRef c) : place(std::move(p)), predicate(std::move(c)) {}
  Scalar eval(const Thread& t, int lane) const override {
    if (predicate && predicate->eval(t, lane).i == 0) {
      return {};
    }
    return place.storage(t).read(place.offset(t, lane), t);
  }
};

struct Application : Evaluator {
  Intrinsic fn;
  DType type;  // of the arguments
  std::vector<EvaluatorRef> args;
  Application(Intrinsic f, DType t, std::vector<EvaluatorRef> a)
      : fn(f), type(t), args(std::move(a)) {}
  Scalar eval(const Thread& t, int lane) const override {
    if (type.is_int()) {  // kAbs
      const int64_t v = args[0]->eval(t, lane).i;
      const bool negate = type.code == TypeCode::kInt && v < 0;
      return of_int(negate ? wrap_int(type, static_cast<int64_t>(0 - static_cast<uint64_t>(v)))
                           : v);
    }
    std::array<double, 3> values{};
    for (size_t k = 0; k < args.size(); ++k) {
      values[k] = args[k]->eval(t, lane).f;
    }
    const double v = apply_intrinsic(fn, type, values.data());
    const bool is_test = fn == Intrinsic::kIsNan || fn == Intrinsic::kIsInf;
    return is_test ? of_int(v != 0) : of_float(v);
  }
};

struct Progression : Evaluator {  // Ramp
  DType type;
  EvaluatorRef base, stride;
  Progression(DType t, EvaluatorRef b, EvaluatorRef s)
      : type(t), base(std::move(b)), stride(std::move(s)) {}
  Scalar eval(const Thread& t, int lane) const override {
    const int64_t first = base->eval(t, 0).i;
    const int64_t step = checked_int(BinaryOp::kMul, type, stride->eval(t, 0).i, lane);
    return of_int(checked_int(BinaryOp::kAdd, type, first, step));
  }
};

struct Splat : Evaluator {  // Broadcast
  EvaluatorRef value;
  explicit Splat(EvaluatorRef v) : value(std::move(v)) {}
  Scalar eval(const Thread& t, int) const override { return value->eval(t, 0); }
};

struct Reduction : Evaluator {
  BinaryOp op;
  DType type;
  int group;
  int step;  // from one result lane to the next; a scalar is asked for in any lane
  EvaluatorRef value;
  Reduction(const VectorReduce& n, EvaluatorRef v)
      : op(n.op),
        type(n.dtype.scalar()),
        group(n.group()),
        step(n.dtype.is_vector() ? group : 0),
        value(std::move(v)) {}
  Scalar eval(const Thread& t, int lane) const override {
    const int first = lane * step;
    // The minimum and the maximum of no number yet, so that a NaN in the first lane is skipped too.
    const bool skips = type.is_float() && (op == BinaryOp::kMin || op == BinaryOp::kMax);
    const double none = std::numeric_limits<double>::infinity();
    Scalar total = skips ? of_float(op == BinaryOp::kMin ? none : -none) : value->eval(t, first);
    for (int i = skips ? 0 : 1; i < group; ++i) {
      const Scalar v = value->eval(t, first + i);
      total = type.is_float() ? of_float(apply_float(op, type, total.f, v.f))
                              : of_int(checked_int(op, type, total.i, v.i));
    }
    return total;
  }
};

EvaluatorRef compile_binary(const Binary* n, const Slots& slots) {
  EvaluatorRef a = compile(n->a, slots);
  EvaluatorRef b = compile(n->b, slots);
  const DType type = n->a.dtype().scalar();
  if (type.is_float()) {
    if (is_comparison(n->op)) {
      return std::make_unique<FloatCompare>(n->op, std::move(a), std::move(b));
    }
    return std::make_unique<FloatBinary>(n->op, type, std::move(a), std::move(b));
  }
  if (type == kI64 && n->op == BinaryOp::kAdd) {
    return std::make_unique<IndexBinary<BinaryOp::kAdd>>(std::move(a), std::move(b));
  }
  if (type == kI64 && n->op == BinaryOp::kMul) {
    return std::make_unique<IndexBinary<BinaryOp::kMul>>(std::move(a), std::move(b));
  }
  return std::make_unique<IntBinary>(n->op, type, std::move(a), std::move(b));
}

EvaluatorRef compile_call(const Call* n, const Slots& slots) {
  std::vector<EvaluatorRef> args;
  for (const Expr& a : n->args) {
    args.push_back(compile(a, slots));
  }
  return std::make_unique<Application>(n->fn, n->args[0].dtype().scalar(), std::move(args));
}

EvaluatorRef compile_var(const VarNode* n, const Slots& slots) {
  const auto it = slots.var_of.find(n);
  TENON_CHECK(it != slots.var_of.end()) << "variable " << n->name << " has no value";
  return std::make_unique<Variable>(it->second);
}

}  // namespace

EvaluatorRef compile(const Expr& e, const Slots& slots) {
  const DType type = e.dtype().scalar();
  if (e.kind() == ExprKind::kBinary || e.kind() == ExprKind::kRamp) {
    if (auto l = linear(e, slots)) return std::make_unique<LinearEval>(*std::move(l));
  }
  const auto sub = [&](const Expr& x) { return compile(x, slots); };
  switch (e.kind()) {
    case ExprKind::kIntImm:
      return std::make_unique<Constant>(of_int(e.as<IntImm>()->value));
    case ExprKind::kFloatImm:
      return std::make_unique<Constant>(of_float(e.as<FloatImm>()->value));
    case ExprKind::kVarNode:
      return compile_var(e.as<VarNode>(), slots);
    case ExprKind::kCast: {
      const Expr& v = e.as<Cast>()->value;
      return std::make_unique<Conversion>(v.dtype().scalar(), type, sub(v));
    }
    case ExprKind::kUnary: {
      return std::make_unique<UnaryEval>(e.as<Unary>()->op, type, sub(e.as<Unary>()->a));
    }
    case ExprKind::kBinary:
      return compile_binary(e.as<Binary>(), slots);
    case ExprKind::kSelect: {
      const auto* n = e.as<Select>();
      return std::make_unique<Choice>(sub(n->condition), sub(n->on_true), sub(n->on_false));
    }
    case ExprKind::kLoad: {
      const auto* n = e.as<Load>();
      return std::make_unique<Read>(Place(n->buffer, n->indices, slots),
                                    n->predicate.defined() ? sub(n->predicate) : nullptr);
    }
    case ExprKind::kCall:
      return compile_call(e.as<Call>(), slots);
    case ExprKind::kRamp: {
      const auto* n = e.as<Ramp>();
      return std::make_unique<Progression>(type, sub(n->base), sub(n->stride));
    }
    case ExprKind::kBroadcast:
      return std::make_unique<Splat>(sub(e.as<Broadcast>()->value));
    case ExprKind::kVectorReduce: {
      const auto* n = e.as<VectorReduce>();
      return std::make_unique<Reduction>(*n, sub(n->value));
    }
  }
  TENON_CHECK(false) << "unknown expression";
  return nullptr;
}

Place::Place(const Buffer& buffer, const std::vector<Expr>& indices, const Slots& slots)
    : buffer_(buffer), extents_(buffer.shape()), strides_(buffer->strides) {
  const auto it = slots.buffer_of.find(buffer.get());
  TENON_CHECK(it != slots.buffer_of.end()) << "buffer " << buffer.name() << " does not exist here";
  slot_ = it->second;
  if (indices.size() != buffer.rank()) {
    TENON_CHECK(indices.size() == 1)
        << buffer.name() << " is given " << indices.size() << " indices";
    extents_ = {buffer->elements()};
    strides_ = {1};
  }
  for (const Expr& i : indices) {
    auto l = linear(i, slots);
    indices_.push_back(l ? Index{*std::move(l), nullptr} : Index{{}, compile(i, slots)});
    lanes_ = std::max<int>(lanes_, i.dtype().lanes);
  }
}

int64_t Place::offset(const Thread& t, int lane) const {
  int64_t at = 0;
  for (size_t d = 0; d < indices_.size(); ++d) {
    const int64_t i = indices_[d].at(t, lane);
    if (i < 0 || i >= extents_[d]) {
      out_of_bounds(t, lane);
    }
    at += i * strides_[d];
  }
  return at;
}

void Place::out_of_bounds(const Thread& t, int lane) const {
  std::string indices;
  std::string extents;
  for (size_t d = 0; d < indices_.size(); ++d) {
    indices += (d == 0 ? "" : ", ") + std::to_string(indices_[d].at(t, lane));
    extents += (d == 0 ? "" : ", ") + std::to_string(extents_[d]);
  }
  throw InternalError(buffer_.name() + "[" + indices + "] is outside of its extents [" + extents +
                      "]");
}

}  // namespace tenon::ir::interp
