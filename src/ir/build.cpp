// SPDX-License-Identifier: Apache-2.0
#include "ir/build.h"

#include <cmath>
#include <limits>

#include "ir/int_ops.h"

namespace tenon::ir {
namespace {

const char* label(BinaryOp op) { return to_string(op).data(); }

// Gives a and b equal lanes by broadcasting the scalar one.
void match_lanes(Expr& a, Expr& b) {
  const int la = a.dtype().lanes;
  const int lb = b.dtype().lanes;
  if (la == lb) {
    return;
  }
  TENON_CHECK(la == 1 || lb == 1) << "lanes differ: " << la << " and " << lb;
  Expr& narrow = la == 1 ? a : b;
  narrow = broadcast(std::move(narrow), std::max(la, lb));
}

void check_operands(BinaryOp op, DType a, DType b) {
  TENON_CHECK(a == b) << "operands of " << label(op) << " are " << to_string(a) << " and "
                      << to_string(b);
  switch (op) {
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
      TENON_CHECK(a.is_bool()) << label(op) << " of " << to_string(a);
      break;
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod:
    case BinaryOp::kShl:
    case BinaryOp::kShr:
      TENON_CHECK(a.is_int()) << label(op) << " of " << to_string(a);
      break;
    case BinaryOp::kMinimum:
    case BinaryOp::kMaximum:
      TENON_CHECK(a.is_float()) << label(op) << " of " << to_string(a);
      break;
    case BinaryOp::kBitAnd:
    case BinaryOp::kBitOr:
    case BinaryOp::kBitXor:
      TENON_CHECK(!a.is_float()) << label(op) << " of " << to_string(a);
      break;
    case BinaryOp::kEq:
    case BinaryOp::kNe:
      break;
    default:
      TENON_CHECK(!a.is_bool()) << label(op) << " of bool";
  }
}

// Identities of integer operations with one constant operand; undefined if none applies.
Expr fold_right(BinaryOp op, const Expr& a, int64_t b) {
  const DType t = a.dtype();
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kBitOr:
    case BinaryOp::kBitXor:
    case BinaryOp::kShl:
    case BinaryOp::kShr:
      return b == 0 ? a : Expr();
    case BinaryOp::kMul:
      return b == 1 ? a : b == 0 ? make_int(t, 0) : Expr();
    case BinaryOp::kDiv:
    case BinaryOp::kFloorDiv:
      return b == 1 ? a : Expr();
    case BinaryOp::kFloorMod:
      return b == 1 ? make_int(t, 0) : Expr();
    case BinaryOp::kBitAnd:
      return b == 0 ? make_int(t, 0) : Expr();
    case BinaryOp::kAnd:
      return b != 0 ? a : make_int(t, 0);
    case BinaryOp::kOr:
      return b != 0 ? make_int(t, 1) : a;
    default:
      return Expr();
  }
}

bool commutes(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kMul:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kBitAnd:
    case BinaryOp::kBitOr:
    case BinaryOp::kBitXor:
      return true;
    default:
      return false;
  }
}

Expr fold_same(BinaryOp op, const Expr& a) {
  const DType bools = kBool.with_lanes(a.dtype().lanes);
  switch (op) {
    case BinaryOp::kSub:
    case BinaryOp::kBitXor:
      return make_int(a.dtype(), 0);
    case BinaryOp::kMin:
    case BinaryOp::kMax:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kBitAnd:
    case BinaryOp::kBitOr:
      return a;
    case BinaryOp::kEq:
    case BinaryOp::kLe:
      return make_int(bools, 1);
    case BinaryOp::kNe:
    case BinaryOp::kLt:
      return make_int(bools, 0);
    default:
      return Expr();
  }
}

Expr fold_binary(BinaryOp op, const Expr& a, const Expr& b) {
  const std::optional<int64_t> ca = const_int(a);
  const std::optional<int64_t> cb = const_int(b);
  if (ca && cb) {
    const DType t = is_comparison(op) ? kBool.with_lanes(a.dtype().lanes) : a.dtype();
    const std::optional<int64_t> v = apply_int(op, a.dtype().scalar(), *ca, *cb);
    return v ? make_int(t, *v) : Expr();
  }
  if (cb) {
    return fold_right(op, a, *cb);
  }
  if (ca && commutes(op)) {
    return fold_right(op, b, *ca);
  }
  return a.same_as(b) ? fold_same(op, a) : Expr();
}

// Of an access: all vector indices agree; an index is an integer.
int check_indices(const Buffer& b, const std::vector<Expr>& indices) {
  TENON_CHECK(b.defined());
  TENON_CHECK(indices.size() == b.rank() || indices.size() == 1)
      << b.name() << " has rank " << b.rank() << " and is given " << indices.size() << " indices";
  int lanes = 1;
  for (const Expr& i : indices) {
    TENON_CHECK(i.dtype().scalar() == kI64)
        << b.name() << " is indexed by a value of type " << to_string(i.dtype());
    if (const int n = i.dtype().lanes; n > 1) {
      TENON_CHECK(lanes == 1 || lanes == n)
          << b.name() << " is indexed by vectors of different lanes";
      lanes = n;
    }
  }
  return lanes;
}

Expr match_predicate(Expr predicate, int lanes) {
  if (!predicate.defined() || is_const_true(predicate)) {
    return Expr();
  }
  TENON_CHECK(predicate.dtype().is_bool()) << "predicate of type " << to_string(predicate.dtype());
  if (predicate.dtype().lanes != lanes) {
    TENON_CHECK(predicate.dtype().lanes == 1) << "predicate lanes differ from those of the access";
    return broadcast(std::move(predicate), lanes);
  }
  return predicate;
}

}  // namespace

Expr make_int(DType t, int64_t v) {
  TENON_CHECK(!t.is_float()) << "integer constant of type " << to_string(t);
  Expr imm(new IntImm(t.scalar(), wrap_int(t, v)));
  return t.is_vector() ? Expr(new Broadcast(std::move(imm), t.lanes)) : imm;
}

Expr make_float(DType t, double v) {
  TENON_CHECK(t.is_float()) << "float constant of type " << to_string(t);
  Expr imm(new FloatImm(t.scalar(), round_to(t, v)));
  return t.is_vector() ? Expr(new Broadcast(std::move(imm), t.lanes)) : imm;
}

Expr make_const(DType t, double v) {
  return t.is_float() ? make_float(t, v) : make_int(t, float_to_int(t.scalar(), v));
}

Expr make_bool(bool v) { return make_int(kBool, v ? 1 : 0); }

Expr zero_of(DType t) { return t.is_float() ? make_float(t, 0) : make_int(t, 0); }

Expr make_binary(BinaryOp op, Expr a, Expr b) {
  match_lanes(a, b);
  check_operands(op, a.dtype(), b.dtype());
  if (!a.dtype().is_float()) {
    if (Expr folded = fold_binary(op, a, b); folded.defined()) {
      return folded;
    }
  }
  return Expr(new Binary(op, std::move(a), std::move(b)));
}

Expr operator+(Expr a, Expr b) { return make_binary(BinaryOp::kAdd, std::move(a), std::move(b)); }
Expr operator-(Expr a, Expr b) { return make_binary(BinaryOp::kSub, std::move(a), std::move(b)); }
Expr operator*(Expr a, Expr b) { return make_binary(BinaryOp::kMul, std::move(a), std::move(b)); }
Expr operator/(Expr a, Expr b) { return make_binary(BinaryOp::kDiv, std::move(a), std::move(b)); }

Expr operator-(Expr a) {
  TENON_CHECK(!a.dtype().is_bool()) << "negation of bool";
  if (const auto v = const_int(a)) {
    return make_int(a.dtype(), static_cast<int64_t>(0 - static_cast<uint64_t>(*v)));
  }
  if (const auto* f = a.as<FloatImm>()) {
    return make_float(a.dtype(), -f->value);
  }
  return Expr(new Unary(UnaryOp::kNeg, std::move(a)));
}

Expr floor_div(Expr a, Expr b) {
  return make_binary(BinaryOp::kFloorDiv, std::move(a), std::move(b));
}
Expr floor_mod(Expr a, Expr b) {
  return make_binary(BinaryOp::kFloorMod, std::move(a), std::move(b));
}
Expr min(Expr a, Expr b) { return make_binary(BinaryOp::kMin, std::move(a), std::move(b)); }
Expr max(Expr a, Expr b) { return make_binary(BinaryOp::kMax, std::move(a), std::move(b)); }
Expr minimum(Expr a, Expr b) {
  const BinaryOp op = a.dtype().is_float() ? BinaryOp::kMinimum : BinaryOp::kMin;
  return make_binary(op, std::move(a), std::move(b));
}
Expr maximum(Expr a, Expr b) {
  const BinaryOp op = a.dtype().is_float() ? BinaryOp::kMaximum : BinaryOp::kMax;
  return make_binary(op, std::move(a), std::move(b));
}
Expr eq(Expr a, Expr b) { return make_binary(BinaryOp::kEq, std::move(a), std::move(b)); }
Expr ne(Expr a, Expr b) { return make_binary(BinaryOp::kNe, std::move(a), std::move(b)); }
Expr lt(Expr a, Expr b) { return make_binary(BinaryOp::kLt, std::move(a), std::move(b)); }
Expr le(Expr a, Expr b) { return make_binary(BinaryOp::kLe, std::move(a), std::move(b)); }
Expr gt(Expr a, Expr b) { return lt(std::move(b), std::move(a)); }
Expr ge(Expr a, Expr b) { return le(std::move(b), std::move(a)); }
Expr logical_and(Expr a, Expr b) { return make_binary(BinaryOp::kAnd, std::move(a), std::move(b)); }
Expr logical_or(Expr a, Expr b) { return make_binary(BinaryOp::kOr, std::move(a), std::move(b)); }

Expr logical_not(Expr a) {
  TENON_CHECK(a.dtype().is_bool()) << "not of " << to_string(a.dtype());
  if (const auto v = const_int(a)) {
    return make_int(a.dtype(), *v ^ 1);
  }
  if (const auto* u = a.as<Unary>(); u != nullptr && u->op == UnaryOp::kNot) {
    return u->a;
  }
  return Expr(new Unary(UnaryOp::kNot, std::move(a)));
}

Expr bit_not(Expr a) {
  TENON_CHECK(a.dtype().is_int()) << "bitwise not of " << to_string(a.dtype());
  if (const auto v = const_int(a)) {
    return make_int(a.dtype(), ~*v);
  }
  return Expr(new Unary(UnaryOp::kBitNot, std::move(a)));
}

Expr select(Expr condition, Expr on_true, Expr on_false) {
  match_lanes(on_true, on_false);
  TENON_CHECK(on_true.dtype() == on_false.dtype())
      << "sides of select are " << to_string(on_true.dtype()) << " and "
      << to_string(on_false.dtype());
  TENON_CHECK(condition.dtype().is_bool()) << "condition of type " << to_string(condition.dtype());
  if (condition.dtype().is_vector()) {
    const int lanes = condition.dtype().lanes;
    on_true = on_true.dtype().is_vector() ? on_true : broadcast(std::move(on_true), lanes);
    on_false = on_false.dtype().is_vector() ? on_false : broadcast(std::move(on_false), lanes);
    TENON_CHECK(on_true.dtype().lanes == lanes) << "lanes of a select differ";
  }
  if (const auto c = const_int(condition)) {
    return *c != 0 ? on_true : on_false;
  }
  if (on_true.same_as(on_false)) {
    return on_true;
  }
  if (!condition.dtype().is_vector()) {
    condition = broadcast(std::move(condition), on_true.dtype().lanes);
  }
  return Expr(new Select(std::move(condition), std::move(on_true), std::move(on_false)));
}

Expr cast(DType t, Expr v) {
  t = t.with_lanes(v.dtype().lanes);
  const DType from = v.dtype();
  if (from == t) {
    return v;
  }
  if (const auto* b = v.as<Broadcast>()) {
    return broadcast(cast(t.scalar(), b->value), t.lanes);
  }
  if (const auto* i = v.as<IntImm>()) {
    if (t.is_bool()) {
      return make_bool(i->value != 0);
    }
    return t.is_float() ? make_float(t, int_to_float(t, from, i->value)) : make_int(t, i->value);
  }
  if (const auto* f = v.as<FloatImm>()) {
    return t.is_float() ? make_float(t, f->value) : make_int(t, float_to_int(t, f->value));
  }
  return Expr(new Cast(t, std::move(v)));
}

Expr call(Intrinsic fn, std::vector<Expr> args) {
  TENON_CHECK(args.size() == static_cast<size_t>(arity(fn)))
      << to_string(fn) << " takes " << arity(fn) << " arguments, not " << args.size();
  int lanes = 1;
  for (const Expr& a : args) {
    TENON_CHECK(a.dtype().scalar() == args[0].dtype().scalar())
        << "arguments of " << to_string(fn) << " differ in type";
    TENON_CHECK(a.dtype().is_float() || (fn == Intrinsic::kAbs && a.dtype().is_int()))
        << to_string(fn) << " of " << to_string(a.dtype());
    lanes = std::max<int>(lanes, a.dtype().lanes);
  }
  for (Expr& a : args) {
    if (a.dtype().lanes != lanes) {
      TENON_CHECK(!a.dtype().is_vector()) << "lanes of " << to_string(fn) << " differ";
      a = broadcast(std::move(a), lanes);
    }
  }
  return Expr(new Call(fn, std::move(args)));
}

Expr load(const Buffer& b, std::vector<Expr> indices, Expr predicate) {
  const int lanes = check_indices(b, indices);
  if (predicate.defined() && is_const_false(predicate)) {
    return zero_of(b.dtype().with_lanes(lanes));
  }
  predicate = match_predicate(std::move(predicate), lanes);
  return Expr(new Load(b, std::move(indices), std::move(predicate)));
}

Expr ramp(Expr base, Expr stride, int lanes) {
  TENON_CHECK(lanes >= 1) << lanes;
  TENON_CHECK(base.dtype() == stride.dtype() && base.dtype().is_int() && !base.dtype().is_vector())
      << "ramp of " << to_string(base.dtype()) << " by " << to_string(stride.dtype());
  return lanes == 1 ? base : Expr(new Ramp(std::move(base), std::move(stride), lanes));
}

Expr broadcast(Expr v, int lanes) {
  TENON_CHECK(lanes >= 1) << lanes;
  if (lanes == 1) {
    return v;
  }
  TENON_CHECK(!v.dtype().is_vector()) << "broadcast of " << to_string(v.dtype());
  return Expr(new Broadcast(std::move(v), lanes));
}

Expr vector_reduce(BinaryOp op, Expr v, int lanes) {
  check_operands(op, v.dtype(), v.dtype());
  TENON_CHECK(is_combiner(op)) << "vector_reduce by " << label(op);
  TENON_CHECK(lanes >= 1 && v.dtype().lanes % lanes == 0)
      << to_string(v.dtype()) << " in " << lanes << " groups";
  return v.dtype().lanes == lanes ? v : Expr(new VectorReduce(op, std::move(v), lanes));
}

Stmt store(const Buffer& b, std::vector<Expr> indices, Expr value, Expr predicate) {
  const int lanes = check_indices(b, indices);
  TENON_CHECK(value.dtype().scalar() == b.dtype())
      << b.name() << " holds " << to_string(b.dtype()) << ", not " << to_string(value.dtype());
  if (value.dtype().lanes != lanes) {
    TENON_CHECK(!value.dtype().is_vector())
        << "a vector is stored to a scalar place of " << b.name();
    value = broadcast(std::move(value), lanes);
  }
  if (predicate.defined() && is_const_false(predicate)) {
    return no_op();
  }
  predicate = match_predicate(std::move(predicate), lanes);
  return Stmt(new Store(b, std::move(indices), std::move(value), std::move(predicate)));
}

Stmt make_for(const Var& v, Expr min, Expr extent, ForKind kind, Stmt body, ThreadTag tag) {
  TENON_CHECK(v.dtype() == kI64 && min.dtype() == kI64 && extent.dtype() == kI64)
      << "loop " << v.name() << " is not over i64";
  TENON_CHECK(body.defined());
  TENON_CHECK((kind == ForKind::kThread) == (tag != ThreadTag::kNone))
      << "loop " << v.name() << ": a tag belongs to thread loops";
  return Stmt(new For(v, std::move(min), std::move(extent), kind, std::move(body), tag));
}

Stmt make_if(Expr condition, Stmt then_case, Stmt else_case) {
  TENON_CHECK(condition.dtype() == kBool) << "if of " << to_string(condition.dtype());
  TENON_CHECK(then_case.defined());
  if (const auto c = const_int(condition)) {
    if (*c != 0) {
      return then_case;
    }
    return else_case.defined() ? else_case : no_op();
  }
  return Stmt(new If(std::move(condition), std::move(then_case), std::move(else_case)));
}

Stmt block(std::vector<Stmt> stmts) {
  std::vector<Stmt> flat;
  flat.reserve(stmts.size());
  for (Stmt& s : stmts) {
    TENON_CHECK(s.defined());
    if (const auto* inner = s.as<Block>()) {
      flat.insert(flat.end(), inner->stmts.begin(), inner->stmts.end());
    } else {
      flat.push_back(std::move(s));
    }
  }
  return flat.size() == 1 ? flat[0] : Stmt(new Block(std::move(flat)));
}

Stmt no_op() { return Stmt(new Block({})); }

bool is_no_op(const Stmt& s) {
  const auto* b = s.as<Block>();
  return b != nullptr && b->stmts.empty();
}

Stmt allocate(const Buffer& b, Stmt body) {
  TENON_CHECK(b.defined() && body.defined());
  return Stmt(new Allocate(b, std::move(body)));
}

Stmt barrier() { return Stmt(new Barrier); }

Stmt prefetch(const Buffer& b, std::vector<Expr> indices) {
  TENON_CHECK(check_indices(b, indices) == 1) << "prefetch of a vector";
  return Stmt(new Prefetch(b, std::move(indices)));
}

Stmt combine(BinaryOp op, const Buffer& b, int64_t threads) {
  TENON_CHECK(is_combiner(op)) << "threads combine by " << label(op);
  TENON_CHECK(b->elements() == 1) << "threads combine " << b->elements() << " elements of "
                                  << b.name();
  TENON_CHECK(threads > 0 && (threads & (threads - 1)) == 0) << threads << " threads combine";
  return threads == 1 ? no_op() : Stmt(new Combine(op, b, threads));
}

std::optional<int64_t> const_int(const Expr& e) {
  if (!e.defined()) {
    return std::nullopt;
  }
  if (const auto* i = e.as<IntImm>()) {
    return i->value;
  }
  const auto* b = e.as<Broadcast>();
  return b != nullptr ? const_int(b->value) : std::nullopt;
}

bool is_const(const Expr& e, int64_t v) { return const_int(e) == v; }
bool is_zero(const Expr& e) {
  const auto* f = e.as<FloatImm>();
  return f != nullptr ? f->value == 0 : is_const(e, 0);
}

bool is_const_true(const Expr& e) { return const_int(e) == 1 && e.dtype().is_bool(); }
bool is_const_false(const Expr& e) { return const_int(e) == 0 && e.dtype().is_bool(); }

Expr identity_of(BinaryOp op, DType t) {
  const double inf = std::numeric_limits<double>::infinity();
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kBitOr:
    case BinaryOp::kBitXor:
      return zero_of(t);
    case BinaryOp::kOr:
      return make_int(t, 0);
    case BinaryOp::kMul:
      return make_const(t, 1);
    case BinaryOp::kAnd:
      return make_int(t, 1);
    case BinaryOp::kBitAnd:
      return make_int(t, -1);
    case BinaryOp::kMin:
    case BinaryOp::kMinimum:
      return t.is_float() ? make_float(t, inf) : make_int(t, highest_int(t));
    case BinaryOp::kMax:
    case BinaryOp::kMaximum:
      return t.is_float() ? make_float(t, -inf) : make_int(t, lowest_int(t));
    default:
      TENON_CHECK(false) << label(op) << " has no neutral element";
      return Expr();
  }
}

}  // namespace tenon::ir
