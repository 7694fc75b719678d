// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/ops.h"

#include <bit>
#include <numeric>

#include "backend/llvm/types.h"
#include "backend/llvm/vector_math.h"
#include "support/check.h"

namespace tenon::backend::llvm_cpu {

using ir::BinaryOp;
using llvm::Value;

namespace {

llvm::Constant* int_like(const Value* v, int64_t c) {
  return llvm::ConstantInt::get(v->getType(), static_cast<uint64_t>(c), true);
}

// The constant behind a scalar or a splat.
const llvm::ConstantInt* splat_const(const Value* v) {
  const auto* c = llvm::dyn_cast<llvm::Constant>(v);
  if (c != nullptr && c->getType()->isVectorTy()) {
    c = c->getSplatValue();
  }
  return c != nullptr ? llvm::dyn_cast<llvm::ConstantInt>(c) : nullptr;
}

// A constant other than NaN, in all lanes.
bool is_number(const Value* v) {
  const auto* c = llvm::dyn_cast<llvm::Constant>(v);
  if (c != nullptr && c->getType()->isVectorTy()) {
    c = c->getSplatValue();
  }
  const auto* f = c != nullptr ? llvm::dyn_cast<llvm::ConstantFP>(c) : nullptr;
  return f != nullptr && !f->isNaN();
}

// The result is one of the operands, so that it needs no rounding.
bool picks_operand(BinaryOp op) {
  return op == BinaryOp::kMin || op == BinaryOp::kMax || op == BinaryOp::kMinimum ||
         op == BinaryOp::kMaximum;
}

bool skips_nan(BinaryOp op, ir::DType t) {
  return t.is_float() && (op == BinaryOp::kMin || op == BinaryOp::kMax);
}

}  // namespace

Value* Ops::splat(Value* x, int lanes) {
  return lanes == 1 ? x : b_.CreateVectorSplat(static_cast<unsigned>(lanes), x);
}

Value* Ops::repeat_each(Value* x, int times) {
  std::vector<int> picked;
  for (int i = 0; i < lanes_of(x) * times; ++i) {
    picked.push_back(i / times);
  }
  return b_.CreateShuffleVector(x, picked);
}

Value* Ops::lanes(Value* x, int begin, int count) {
  if (count == lanes_of(x)) {
    return x;
  }
  if (count == 1) {
    return b_.CreateExtractElement(x, static_cast<uint64_t>(begin));
  }
  std::vector<int> picked(static_cast<size_t>(count));
  std::iota(picked.begin(), picked.end(), begin);
  return b_.CreateShuffleVector(x, picked);
}

Value* Ops::multiply_add(Value* x, Value* y, Value* z) {
  if (!cpu_.fma) {
    return b_.CreateFAdd(b_.CreateFMul(x, y), z);
  }
  return b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
}

// y where it is beyond x. On x86 a compare and a select of the same operands are one vmaxps. Elsewhere
// there is an instruction that is NaN if either side is, which is the same if y is a number.
Value* Ops::float_pick(bool smaller, Value* x, Value* y) {
  if (!cpu_.x86 && is_number(y)) {
    return float_extremum(smaller, x, y);
  }
  return b_.CreateSelect(smaller ? b_.CreateFCmpOLT(y, x) : b_.CreateFCmpOGT(y, x), y, x);
}

// NaN if either side is. x86 tests the first operand of llvm.maximum for it: that is y, in a reduction
// the next element, so that the test does not wait for the elements before. With a constant there is
// nothing to test.
Value* Ops::float_extremum(bool smaller, Value* x, Value* y) {
  if (is_number(x)) {
    std::swap(x, y);
  }
  if (cpu_.x86 && is_number(y)) {
    return float_pick(smaller, x, y);
  }
  const llvm::IRBuilder<>::FastMathFlagGuard guard(b_);
  llvm::FastMathFlags flags = b_.getFastMathFlags();
  flags.setNoSignedZeros();
  b_.setFastMathFlags(flags);
  return smaller ? b_.CreateMinimum(y, x) : b_.CreateMaximum(y, x);
}

Value* Ops::float_binary(BinaryOp op, Value* x, Value* y) {
  switch (op) {
    case BinaryOp::kAdd:
      return b_.CreateFAdd(x, y);
    case BinaryOp::kSub:
      return b_.CreateFSub(x, y);
    case BinaryOp::kMul:
      return b_.CreateFMul(x, y);
    case BinaryOp::kDiv:
      return b_.CreateFDiv(x, y);
    case BinaryOp::kEq:
      return b_.CreateFCmpOEQ(x, y);
    case BinaryOp::kNe:
      return b_.CreateFCmpUNE(x, y);
    case BinaryOp::kLt:
      return b_.CreateFCmpOLT(x, y);
    case BinaryOp::kLe:
      return b_.CreateFCmpOLE(x, y);
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return float_pick(op == BinaryOp::kMin, x, y);
    case BinaryOp::kMinimum:
    case BinaryOp::kMaximum:
      return float_extremum(op == BinaryOp::kMinimum, x, y);
    default:
      break;
  }
  TENON_CHECK(false) << "operator " << static_cast<int>(op) << " on floats";
  return nullptr;
}

Value* Ops::shift(BinaryOp op, ir::DType t, Value* x, Value* y) {
  // In a lane that is not selected the amount may be anything: keep it defined.
  Value* amount = b_.CreateAnd(y, int_like(y, t.bits - 1));
  if (op == BinaryOp::kShl) {
    return b_.CreateShl(x, amount);
  }
  return t.is_signed() ? b_.CreateAShr(x, amount) : b_.CreateLShr(x, amount);
}

Value* Ops::divide(BinaryOp op, ir::DType t, Value* x, Value* y) {
  const bool mod = op == BinaryOp::kFloorMod;
  if (!t.is_signed()) {
    return mod ? b_.CreateURem(x, y) : b_.CreateUDiv(x, y);
  }
  // The lowest integer divided by -1 wraps instead of trapping.
  Value* minus_one = nullptr;
  if (splat_const(y) == nullptr || splat_const(y)->isMinusOne()) {
    minus_one = b_.CreateICmpEQ(y, int_like(y, -1));
    y = b_.CreateSelect(minus_one, int_like(y, 1), y);
  }
  Value* r = nullptr;
  if (op == BinaryOp::kDiv) {
    r = b_.CreateSDiv(x, y);
  } else {
    Value* rest = b_.CreateSRem(x, y);
    Value* uneven = b_.CreateICmpNE(rest, int_like(rest, 0));
    Value* opposed = b_.CreateICmpSLT(b_.CreateXor(rest, y), int_like(y, 0));
    Value* adjust = b_.CreateAnd(uneven, opposed);
    r = mod ? b_.CreateAdd(rest, b_.CreateSelect(adjust, y, int_like(y, 0)))
            : b_.CreateAdd(b_.CreateSDiv(x, y), b_.CreateSExt(adjust, x->getType()));
  }
  if (minus_one != nullptr) {
    r = b_.CreateSelect(minus_one, mod ? int_like(x, 0) : b_.CreateNeg(x), r);
  }
  return r;
}

Value* Ops::int_binary(BinaryOp op, ir::DType t, Value* x, Value* y, bool index) {
  const bool sgn = t.is_signed();
  switch (op) {
    case BinaryOp::kAdd:
      return b_.CreateAdd(x, y, "", false, index);
    case BinaryOp::kSub:
      return b_.CreateSub(x, y, "", false, index);
    case BinaryOp::kMul:
      return b_.CreateMul(x, y, "", false, index);
    case BinaryOp::kDiv:
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod:
      return divide(op, t, x, y);
    case BinaryOp::kMin:
      return b_.CreateBinaryIntrinsic(sgn ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x, y);
    case BinaryOp::kMax:
      return b_.CreateBinaryIntrinsic(sgn ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, x, y);
    case BinaryOp::kEq:
      return b_.CreateICmpEQ(x, y);
    case BinaryOp::kNe:
      return b_.CreateICmpNE(x, y);
    case BinaryOp::kLt:
      return sgn ? b_.CreateICmpSLT(x, y) : b_.CreateICmpULT(x, y);
    case BinaryOp::kLe:
      return sgn ? b_.CreateICmpSLE(x, y) : b_.CreateICmpULE(x, y);
    case BinaryOp::kAnd:
    case BinaryOp::kBitAnd:
      return b_.CreateAnd(x, y);
    case BinaryOp::kOr:
    case BinaryOp::kBitOr:
      return b_.CreateOr(x, y);
    case BinaryOp::kBitXor:
      return b_.CreateXor(x, y);
    case BinaryOp::kShl:
    case BinaryOp::kShr:
      return shift(op, t, x, y);
    case BinaryOp::kMinimum:
    case BinaryOp::kMaximum:
      break;  // of floats only
  }
  TENON_CHECK(false) << "operator " << static_cast<int>(op) << " on integers";
  return nullptr;
}

Value* Ops::binary(BinaryOp op, ir::DType t, Value* x, Value* y, bool index) {
  if (!t.is_float()) {
    return int_binary(op, t, x, y, index);
  }
  Value* r = float_binary(op, x, y);
  return picks_operand(op) || ir::is_comparison(op) ? r : round_to(b_, cpu_, t, r);
}

namespace {

// Unsigned division of a small range is done in 32 bits: vectors have no 64-bit high multiply.
bool fits_u31(arith::Interval r) {
  return r.lo >= 0 && r.hi <= std::numeric_limits<int32_t>::max();
}

}  // namespace

Value* Ops::floor_div(ir::DType t, Value* x, int64_t by, arith::Interval range) {
  if (std::has_single_bit(static_cast<uint64_t>(by))) {
    Value* amount = int_like(x, std::countr_zero(static_cast<uint64_t>(by)));
    return t.is_signed() ? b_.CreateAShr(x, amount) : b_.CreateLShr(x, amount);
  }
  if (t.bits == 64 && fits_u31(range)) {
    if (by > std::numeric_limits<int32_t>::max()) {
      return int_like(x, 0);
    }
    Value* narrow = b_.CreateTrunc(x, x->getType()->getWithNewBitWidth(32));
    return b_.CreateZExt(b_.CreateUDiv(narrow, int_like(narrow, by)), x->getType());
  }
  if (range.lo >= 0) {
    return b_.CreateUDiv(x, int_like(x, by));
  }
  return divide(BinaryOp::kFloorDiv, t, x, int_like(x, by));
}

Value* Ops::floor_mod(ir::DType t, Value* x, int64_t by, arith::Interval range) {
  if (std::has_single_bit(static_cast<uint64_t>(by))) {
    return b_.CreateAnd(x, int_like(x, by - 1));
  }
  if (t.bits == 64 && fits_u31(range)) {
    if (by > std::numeric_limits<int32_t>::max()) {
      return x;
    }
    Value* narrow = b_.CreateTrunc(x, x->getType()->getWithNewBitWidth(32));
    return b_.CreateZExt(b_.CreateURem(narrow, int_like(narrow, by)), x->getType());
  }
  if (range.lo >= 0) {
    return b_.CreateURem(x, int_like(x, by));
  }
  return divide(BinaryOp::kFloorMod, t, x, int_like(x, by));
}

Value* Ops::unary(ir::UnaryOp op, ir::DType t, Value* x) {
  if (op == ir::UnaryOp::kNeg) {
    return t.is_float() ? b_.CreateFNeg(x) : b_.CreateNeg(x);
  }
  return b_.CreateNot(x);
}

Value* Ops::cast_to_float(ir::DType from, ir::DType to, Value* x) {
  llvm::Type* type = carried_type(b_.getContext(), to);
  if (!from.is_float()) {
    Value* r = from.is_signed() ? b_.CreateSIToFP(x, type) : b_.CreateUIToFP(x, type);
    return round_to(b_, cpu_, to, r);
  }
  const bool same = is_narrow_float(from) && from.code == to.code && to.bits == 16;
  return same ? x : round_to(b_, cpu_, to, b_.CreateFPCast(x, type));
}

namespace {

// min(v, limit) or max(v, limit), as float_pick writes them with a constant limit.
struct Clamp {
  Value* v;
  double limit;
};
std::optional<Clamp> as_clamp(Value* x, llvm::CmpInst::Predicate beyond) {
  auto* s = llvm::dyn_cast<llvm::SelectInst>(x);
  const auto* test = s != nullptr ? llvm::dyn_cast<llvm::FCmpInst>(s->getCondition()) : nullptr;
  if (test == nullptr || test->getPredicate() != beyond || !is_number(s->getTrueValue()) ||
      test->getOperand(0) != s->getTrueValue() || test->getOperand(1) != s->getFalseValue())
    return std::nullopt;
  const auto* c = llvm::cast<llvm::Constant>(s->getTrueValue());
  if (c->getType()->isVectorTy()) c = c->getSplatValue();
  const llvm::APFloat& limit = llvm::cast<llvm::ConstantFP>(c)->getValueAPF();
  return Clamp{s->getFalseValue(), limit.convertToDouble()};
}

}  // namespace

// A number to one of 8 or 16 bits, whose range floats hold exactly: clamped first, it is converted to 32 bits, for which
// there are vector instructions. What is clamped already is not clamped twice. NaN becomes 0: it is below nothing, so a
// lowest value of 0 takes its place, and any other one leaves that to a test.
Value* Ops::cast_to_narrow(ir::DType to, Value* x) {
  double hi = static_cast<double>(ir::highest_int(to));
  double lo = static_cast<double>(ir::lowest_int(to));
  if (const auto c = as_clamp(x, llvm::CmpInst::FCMP_OLT); c && c->limit >= lo && c->limit <= hi) {
    hi = c->limit;
    x = c->v;
    const auto d = as_clamp(x, llvm::CmpInst::FCMP_OGT);
    if (d && d->limit >= lo && d->limit <= hi) {
      lo = d->limit;
      x = d->v;
    }
  }
  llvm::Constant* zero = llvm::Constant::getNullValue(x->getType());
  if (lo != 0) x = b_.CreateSelect(b_.CreateFCmpORD(x, zero), x, zero);
  llvm::Constant* lowest = llvm::ConstantFP::get(x->getType(), lo);
  x = b_.CreateSelect(b_.CreateFCmpOGT(x, lowest), x, lowest);
  llvm::Constant* highest = llvm::ConstantFP::get(x->getType(), hi);
  x = b_.CreateSelect(b_.CreateFCmpOLT(x, highest), x, highest);
  llvm::Type* wide = carried_type(b_.getContext(), ir::kI32.with_lanes(to.lanes));
  return b_.CreateTrunc(b_.CreateFPToSI(x, wide), carried_type(b_.getContext(), to));
}

Value* Ops::cast(ir::DType from, ir::DType to, Value* x) {
  llvm::Type* type = carried_type(b_.getContext(), to);
  if (to.is_bool()) {
    llvm::Constant* zero = llvm::Constant::getNullValue(x->getType());
    if (from.is_bool()) {
      return x;
    }
    return from.is_float() ? b_.CreateFCmpUNE(x, zero) : b_.CreateICmpNE(x, zero);
  }
  if (to.is_float()) {
    return cast_to_float(from, to, x);
  }
  if (from.is_float() && to.bits <= 16) {
    return cast_to_narrow(to, x);
  }
  if (from.is_float()) {
    const auto id = to.is_signed() ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b_.CreateIntrinsic(id, {type, x->getType()}, {x});
  }
  return b_.CreateIntCast(x, type, from.is_signed());
}

namespace {

MathOptions math_options(const Cpu& cpu) {
  return {.has_fma = cpu.fma, .has_round = cpu.round, .has_scale = cpu.scale};
}

}  // namespace

Value* Ops::times_sigmoid(ir::DType t, Value* x, Value* s) {
  return round_to(b_, cpu_, t, emit_times_sigmoid(b_, x, s, math_options(cpu_)));
}

Value* Ops::call(ir::Intrinsic fn, ir::DType t, llvm::ArrayRef<Value*> args) {
  if (!t.is_float()) {
    TENON_CHECK(fn == ir::Intrinsic::kAbs) << to_string(fn) << " of integers";
    return t.is_signed() ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, args[0], b_.getFalse())
                         : args[0];
  }
  Value* r = emit_math(b_, fn, args, math_options(cpu_));
  const bool exact = fn == ir::Intrinsic::kIsNan || fn == ir::Intrinsic::kIsInf;
  return exact ? r : round_to(b_, cpu_, t, r);
}

Value* Ops::without_nan(BinaryOp op, ir::DType t, Value* x) {
  if (!skips_nan(op, t)) {
    return x;
  }
  Value* none = llvm::ConstantFP::getInfinity(x->getType(), op == BinaryOp::kMax);
  return float_pick(op == BinaryOp::kMin, none, x);
}

Value* Ops::reduce(BinaryOp op, ir::DType t, Value* x) {
  x = without_nan(op, t, x);
  Value* odd = nullptr;
  while (lanes_of(x) > 1) {
    const int n = lanes_of(x);
    const int half = n / 2;
    if (n % 2 != 0) {
      Value* last = lanes(x, n - 1, 1);
      odd = odd == nullptr ? last : binary(op, t.scalar(), odd, last, false);
    }
    x = binary(op, t.with_lanes(half), lanes(x, 0, half), lanes(x, half, half), false);
  }
  return odd == nullptr ? x : binary(op, t.scalar(), x, odd, false);
}

Value* Ops::reduce_groups(BinaryOp op, ir::DType t, Value* x, int groups) {
  const int group = lanes_of(x) / groups;
  x = without_nan(op, t, x);
  Value* r = nullptr;
  for (int at = 0; at < group; ++at) {
    std::vector<int> picked;
    for (int i = 0; i < groups; ++i) {
      picked.push_back(i * group + at);
    }
    Value* part = b_.CreateShuffleVector(x, picked);
    r = r == nullptr ? part : binary(op, t.with_lanes(groups), r, part, false);
  }
  return r;
}

}  // namespace tenon::backend::llvm_cpu
