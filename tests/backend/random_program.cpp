// SPDX-License-Identifier: Apache-2.0
#include "backend/random_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tenon::backend {

using ir::BinaryOp;
using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::Stmt;

namespace {

const std::vector<DType> kTypes = {ir::kI8,  ir::kI16, ir::kI32, ir::kI64, ir::kU8,
                                   ir::kU16, ir::kU32, ir::kU64, ir::kF16, ir::kBF16,
                                   ir::kF32, ir::kF64, ir::kF32, ir::kF32};
constexpr double kInputBound = 8;

// Integers up to here are exact, with room for one more operation of products.
double exact_limit(DType t) {
  if (t == ir::kF64.with_lanes(t.lanes)) {
    return 1e12;
  }
  return t.bits == 32 ? 4e6 : 100;
}

Expr splat(const Expr& e, int lanes) { return ir::broadcast(e, lanes); }
Expr constant(DType t, int64_t v) { return ir::make_const(t, static_cast<double>(v)); }

}  // namespace

DType RandomProgram::any_type(int lanes) { return rng_.pick(kTypes).with_lanes(lanes); }

int RandomProgram::any_lanes() {
  return rng_.pick<int>({1, 1, 2, 3, 4, 4, 5, 7, 8, 8, 16, 16, 17});
}

int64_t RandomProgram::iterations() const {
  int64_t n = 1;
  for (const Loop& l : loops_) {
    n *= l.extent;
  }
  return n;
}

Expr RandomProgram::own_place(int64_t per_iteration) {
  Expr at = 0;
  for (const Loop& l : loops_) {
    at = at * l.extent + l.var;
  }
  return at * per_iteration;
}

Expr RandomProgram::index(int lanes, int depth) {
  if (depth == 0) {
    if (lanes > 1 && rng_.chance(0.6)) {
      return ir::ramp(index(1, 0), rng_.between(-3, 4), lanes);
    }
    const bool constant = loops_.empty() || rng_.chance(0.3);
    return splat(constant ? Expr(rng_.between(-6, 20)) : Expr(rng_.pick(loops_).var), lanes);
  }
  const Expr a = index(lanes, depth - 1);
  const Expr b = index(lanes, depth - 1);
  const Expr c = splat(Expr(rng_.between(1, 9)), lanes);
  switch (rng_.between(0, 6)) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * c;
    case 3:
      return ir::floor_div(a, c);
    case 4:
      return ir::floor_mod(a, c);
    case 5:
      return ir::min(a, b);
    default:
      return ir::select(ir::lt(a, b), a, b + c);
  }
}

// May fall outside; a predicate or a select keeps it in.
Expr RandomProgram::guarded_read(const Buffer& b, int lanes) {
  const Expr i = index(lanes, static_cast<int>(rng_.between(0, 2)));
  const Expr n = splat(Expr(b->elements()), lanes);
  const Expr inside = ir::logical_and(ir::le(splat(Expr(0), lanes), i), ir::lt(i, n));
  if (rng_.chance(0.5)) {
    return ir::load(b, {i}, inside);
  }
  return ir::select(inside, ir::load(b, {i}), constant(b.dtype().with_lanes(lanes), 3));
}

Expr RandomProgram::read(DType t) {
  std::vector<Buffer> fitting;
  for (const auto* list : {&inputs_, &readable_}) {
    std::copy_if(list->begin(), list->end(), std::back_inserter(fitting),
                 [&](const Buffer& b) { return b.dtype() == t.scalar(); });
  }
  if (fitting.empty()) {
    inputs_.push_back(
        Buffer::make(fmt::format("in{}", inputs_.size()), t.scalar(), {rng_.between(80, 99)}));
    fitting.push_back(inputs_.back());
  }
  const Buffer b = rng_.pick(fitting);
  const int lanes = t.lanes;
  if (rng_.chance(0.3)) {
    return guarded_read(b, lanes);
  }
  const Expr any = index(1, static_cast<int>(rng_.between(0, 2)));
  if (lanes == 1) {
    return ir::load(b, {ir::floor_mod(any, b->elements())});
  }
  const int64_t stride = rng_.pick<int64_t>({1, 1, 1, 0, 2, 3, 4, 5, -1, -2});
  const int64_t span = (lanes - 1) * std::abs(stride) + 1;
  if (span > b->elements() || rng_.chance(0.15)) {
    return ir::load(b, {ir::floor_mod(index(lanes, 1), splat(Expr(b->elements()), lanes))});
  }
  const Expr base = ir::floor_mod(any, b->elements() - span + 1) + (stride < 0 ? span - 1 : 0);
  return ir::load(b, {ir::ramp(base, stride, lanes)});
}

RandomProgram::Value RandomProgram::leaf(DType t) {
  if (t.is_bool()) {
    return {ir::lt(index(t.lanes, 1), index(t.lanes, 1)), 1};
  }
  switch (rng_.between(0, 5)) {
    case 0:
      return {constant(t, rng_.between(0, 5)), 5};
    case 1:
      if (t.scalar() == ir::kI64) {
        return {index(t.lanes, 1), 1000};
      }
      return {ir::cast(t, ir::floor_mod(index(t.lanes, 1), splat(Expr(100), t.lanes))), 100};
    case 2:
      if (t.lanes > 1) {
        const Value v = leaf(t.scalar());
        return {ir::broadcast(v.e, t.lanes), v.bound};
      }
      return {read(t), kInputBound};
    default:
      return {read(t), kInputBound};
  }
}

RandomProgram::Value RandomProgram::value(DType t, int depth) {
  if (depth == 0) {
    return leaf(t);
  }
  if (rng_.chance(0.15)) {
    return select_value(t, depth);
  }
  if (t.is_bool()) {
    return bool_value(t.lanes, depth);
  }
  if (rng_.chance(0.15)) {
    return cast_value(t, depth);
  }
  if (t.lanes == 1 && rng_.chance(0.1)) {  // an order that does not matter: of integers
    const int lanes = std::max(2, any_lanes());
    const Value v = leaf(t.with_lanes(lanes));
    const BinaryOp op = rng_.pick<BinaryOp>({BinaryOp::kMin, BinaryOp::kMax, BinaryOp::kAdd});
    const bool add = op == BinaryOp::kAdd;
    if (!add || v.bound * lanes < exact_limit(t)) {
      return {ir::vector_reduce(op, v.e), v.bound * (add ? lanes : 1)};
    }
  }
  return t.is_float() ? float_value(t, depth) : int_value(t, depth);
}

RandomProgram::Value RandomProgram::select_value(DType t, int depth) {
  const Value c = bool_value(t.lanes, depth - 1);
  const Value a = value(t, depth - 1);
  const Value b = value(t, depth - 1);
  const bool known = a.bound > 0 && b.bound > 0;
  return {ir::select(c.e, a.e, b.e), known ? std::max(a.bound, b.bound) : 0};
}

RandomProgram::Value RandomProgram::cast_value(DType t, int depth) {
  const Value v = value(any_type(t.lanes), depth - 1);
  const bool keeps = v.bound > 0 && (v.bound < 100 || (t.bits >= 32 && v.bound < 1e6));
  const bool small = t.is_int() && t.scalar() != ir::kI64;  // wraps or saturates to something known
  if (!keeps && !small) {
    return leaf(t);
  }
  // A negative number becomes a large unsigned one.
  const bool wraps = t.code == ir::TypeCode::kUInt;
  return {ir::cast(t, v.e), keeps && !wraps ? v.bound : std::ldexp(1.0, t.bits)};
}

RandomProgram::Value RandomProgram::bool_value(int lanes, int depth) {
  if (depth <= 0) {
    return leaf(ir::kBool.with_lanes(lanes));
  }
  switch (rng_.between(0, 4)) {
    case 0:
      return {ir::logical_and(bool_value(lanes, depth - 1).e, bool_value(lanes, depth - 1).e), 1};
    case 1:
      return {ir::logical_or(bool_value(lanes, depth - 1).e, bool_value(lanes, depth - 1).e), 1};
    case 2:
      return {ir::logical_not(bool_value(lanes, depth - 1).e), 1};
    default:
      break;
  }
  const DType t = any_type(lanes);
  const BinaryOp op =
      rng_.pick<BinaryOp>({BinaryOp::kEq, BinaryOp::kNe, BinaryOp::kLt, BinaryOp::kLe});
  return {ir::make_binary(op, value(t, depth - 1).e, value(t, depth - 1).e), 1};
}

RandomProgram::Value RandomProgram::int_value(DType t, int depth) {
  using enum BinaryOp;
  Value a = value(t, depth - 1);
  Value b = value(t, depth - 1);
  const double full = std::ldexp(1.0, t.bits);
  const BinaryOp op = rng_.pick<BinaryOp>({kAdd, kSub, kMul, kDiv, kFloorDiv, kFloorMod, kMin, kMax,
                                           kBitAnd, kBitOr, kBitXor, kShl, kShr});
  switch (op) {
    case kDiv:
    case kFloorDiv:
    case kFloorMod:  // odd, so never 0
      return {ir::make_binary(op, a.e, ir::make_binary(kBitOr, b.e, constant(t, 1))), full};
    case kShl:
    case kShr:
      return {ir::make_binary(op, a.e, ir::make_binary(kBitAnd, b.e, constant(t, t.bits - 1))),
              full};
    case kAdd:
    case kSub:
    case kMul: {  // i64 may be an index, which never overflows
      const double bound = op == kMul ? a.bound * b.bound : a.bound + b.bound;
      if (t.bits == 64 && (a.bound == 0 || b.bound == 0 || bound > 1e15)) {
        return a;
      }
      return {ir::make_binary(op, a.e, b.e), t.bits == 64 ? bound : full};
    }
    default:
      return {ir::make_binary(op, a.e, b.e), full};
  }
}

RandomProgram::Value RandomProgram::float_value(DType t, int depth) {
  using enum BinaryOp;
  Value a = value(t, depth - 1);
  Value b = value(t, depth - 1);
  const bool narrow = t.bits == 16;  // never fused
  const bool integers = a.bound > 0 && b.bound > 0;
  const double limit = exact_limit(t);
  const auto bounded = [&](double v) { return integers ? v : 0; };
  switch (rng_.between(0, 8)) {
    case 0:
      if (narrow || (integers && a.bound + b.bound < limit)) {
        return {a.e + b.e, bounded(a.bound + b.bound)};
      }
      return a;
    case 1:
      if (narrow || (integers && a.bound + b.bound < limit)) {
        return {a.e - b.e, bounded(a.bound + b.bound)};
      }
      return b;
    case 2:
    case 3:
      if (integers && a.bound * b.bound < limit) {
        return {a.e * b.e, a.bound * b.bound};
      }
      return a;
    case 4:
      return {ir::min(a.e, b.e), bounded(std::max(a.bound, b.bound))};
    case 5:
      return {ir::max(a.e, b.e), bounded(std::max(a.bound, b.bound))};
    case 6:
      return {-a.e, a.bound};
    case 7: {  // not an integer any more: it may be compared and chosen, not added
      const Expr by = ir::max(b.e, -b.e) + constant(t, 1);
      return integers && b.bound + 1 < limit ? Value{a.e / by, 0} : a;
    }
    default:
      return {ir::call(ir::Intrinsic::kAbs, {a.e}), a.bound};
  }
}

Stmt RandomProgram::store_to_new_output() {
  const int lanes = any_lanes();
  const DType t = rng_.chance(0.1) ? ir::kBool.with_lanes(lanes) : any_type(lanes);
  const Value v = value(t, static_cast<int>(rng_.between(1, 4)));
  const int64_t stride = lanes > 1 && rng_.chance(0.2) ? rng_.between(2, 3) : 1;
  const int64_t place = lanes * stride;
  const Buffer out =
      Buffer::make(fmt::format("out{}", outputs_.size()), t.scalar(), {iterations() * place});
  outputs_.push_back(out);
  const Expr base = own_place(place);
  const Expr at = lanes == 1 ? base : ir::ramp(base, stride, lanes);
  if (rng_.chance(0.3)) {
    return ir::store(out, {at}, v.e, bool_value(lanes, 1).e);
  }
  return ir::store(out, {at}, v.e);
}

// Accumulators in registers over a serial loop, written out at the end.
Stmt RandomProgram::register_tile() {
  const int lanes = any_lanes();
  const int count = static_cast<int>(rng_.between(1, 4));
  const DType t = any_type(lanes);
  const Buffer tile =
      Buffer::make("tile", t.scalar(), {int64_t{lanes} * count}, ir::Scope::kRegister);
  const auto at = [&](int i) {
    return lanes == 1 ? Expr(int64_t{i}) : ir::ramp(int64_t{i} * lanes, 1, lanes);
  };
  std::vector<Stmt> body;
  std::vector<Stmt> all;
  all.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    all.push_back(ir::store(tile, {at(i)}, constant(t, i)));
  }
  const ir::Var k("k");
  const int64_t extent = rng_.between(1, 5);
  loops_.push_back({k, extent});
  for (int i = 0; i < count; ++i) {
    const Expr other = ir::load(tile, {at(static_cast<int>(rng_.between(0, count - 1)))});
    const Expr fresh = leaf(t).e;
    const bool add = t.bits != 64 && (!t.is_float() || t.bits == 16);
    const Expr next = add ? other + fresh : ir::max(other, fresh);
    body.push_back(
        ir::store(tile, {at(i)}, next, rng_.chance(0.2) ? bool_value(lanes, 1).e : Expr()));
  }
  loops_.pop_back();
  all.push_back(ir::make_for(k, 0, extent, ir::ForKind::kSerial, ir::block(body)));
  const Buffer out = Buffer::make(fmt::format("out{}", outputs_.size()), t.scalar(),
                                  {iterations() * lanes * count});
  outputs_.push_back(out);
  for (int i = 0; i < count; ++i) {
    const Expr base = own_place(int64_t{lanes} * count) + i * lanes;
    const Expr to = lanes == 1 ? base : ir::ramp(base, 1, lanes);
    all.push_back(ir::store(out, {to}, ir::load(tile, {at(i)})));
  }
  return ir::allocate(tile, ir::block(all));
}

Stmt RandomProgram::temporary(int depth) {
  const DType t = any_type(1);
  const int64_t n = rng_.between(20, 40);
  const auto scope = rng_.chance(0.5) ? ir::Scope::kLocal : ir::Scope::kGlobal;
  const Buffer b = Buffer::make("temp", t, {n}, scope);
  const ir::Var i("t");
  loops_.push_back({i, n});
  const Expr v = leaf(t).e;
  loops_.pop_back();
  const Stmt fill = ir::make_for(i, 0, n, ir::ForKind::kSerial, ir::store(b, {Expr(i)}, v));
  readable_.push_back(b);
  const Stmt body = statement(depth);
  readable_.pop_back();
  return ir::allocate(b, ir::block({fill, body}));
}

Stmt RandomProgram::statement(int depth) {
  if (depth == 0) {
    return rng_.chance(0.25) ? register_tile() : store_to_new_output();
  }
  switch (rng_.between(0, 6)) {
    case 0:
      return temporary(depth - 1);
    case 1:
      return register_tile();
    case 2: {
      const Expr c = bool_value(1, 2).e;
      return ir::make_if(c, statement(depth - 1), rng_.chance(0.5) ? statement(depth - 1) : Stmt());
    }
    case 3:
      return ir::block({statement(depth - 1), statement(depth - 1)});
    default:
      return nest(depth, true);
  }
}

Stmt RandomProgram::nest(int depth, bool may_be_parallel) {
  const ir::Var v(fmt::format("i{}", loops_.size()));
  const bool parallel = may_be_parallel && depth_of_parallel_ == 0 && rng_.chance(0.4);
  const int64_t extent = rng_.between(1, 4);
  // Sometimes a triangle: the extent depends on the loop around.
  Expr count = extent;
  if (!loops_.empty() && rng_.chance(0.2)) {
    count = ir::min(Expr(loops_.back().var), Expr(extent));
  }
  loops_.push_back({v, extent});
  depth_of_parallel_ += parallel ? 1 : 0;
  const Stmt body = statement(depth - 1);
  depth_of_parallel_ -= parallel ? 1 : 0;
  loops_.pop_back();
  return ir::make_for(v, 0, count, parallel ? ir::ForKind::kParallel : ir::ForKind::kSerial, body);
}

ir::Function RandomProgram::make() {
  ir::Function f;
  f.name = "random_program";
  f.body = ir::block({nest(3, true), nest(static_cast<int>(rng_.between(1, 3)), true)});
  f.params = inputs_;
  f.num_inputs = inputs_.size();
  f.params.insert(f.params.end(), outputs_.begin(), outputs_.end());
  return f;
}

}  // namespace tenon::backend
