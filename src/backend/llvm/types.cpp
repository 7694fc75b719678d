// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/types.h"

#include "support/check.h"

namespace tenon::backend::llvm_cpu {
namespace {

using llvm::Type;
using llvm::Value;

Type* with_lanes(Type* scalar, int lanes) {
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, static_cast<unsigned>(lanes));
}

// Same lanes as `like`, another scalar type.
Type* same_lanes(const Value* like, Type* scalar) { return with_lanes(scalar, lanes_of(like)); }

llvm::Constant* bits_const(const Value* like, llvm::IRBuilder<>& b, uint32_t v) {
  return llvm::ConstantInt::get(same_lanes(like, b.getInt32Ty()), v);
}

llvm::Constant* float_const(const Value* like, llvm::IRBuilder<>& b, double v) {
  return llvm::ConstantFP::get(same_lanes(like, b.getFloatTy()), v);
}

Value* as_bits(llvm::IRBuilder<>& b, Value* v) {
  return b.CreateBitCast(v, same_lanes(v, b.getInt32Ty()));
}

Value* as_float(llvm::IRBuilder<>& b, Value* v) {
  return b.CreateBitCast(v, same_lanes(v, b.getFloatTy()));
}

// The top half, rounded to nearest even, in place: the low 16 bits become 0.
Value* round_bf16(llvm::IRBuilder<>& b, Value* v) {
  auto k = [&](uint32_t c) { return bits_const(v, b, c); };
  Value* u = as_bits(b, v);
  Value* odd = b.CreateAnd(b.CreateLShr(u, k(16)), k(1));
  Value* rounded = b.CreateAdd(u, b.CreateAdd(odd, k(0x7fff)));
  Value* quiet = b.CreateOr(u, k(0x00400000));
  Value* r = b.CreateSelect(b.CreateFCmpUNO(v, v), quiet, rounded);
  return as_float(b, b.CreateAnd(r, k(0xffff0000)));
}

// f32 to the 16 bits of an f16 without conversion instructions. Subnormal results are rounded by
// adding 0.5, whose last place is the smallest f16; normal ones by adding half of the last place
// kept.
Value* f16_bits_by_integers(llvm::IRBuilder<>& b, Value* v) {
  auto k = [&](uint32_t c) { return bits_const(v, b, c); };
  Value* u = as_bits(b, v);
  Value* sign = b.CreateAnd(u, k(0x80000000));
  Value* a = b.CreateXor(u, sign);
  Value* special = b.CreateSelect(b.CreateICmpUGT(a, k(0x7f800000)), k(0x7e00), k(0x7c00));
  Value* tiny =
      b.CreateSub(as_bits(b, b.CreateFAdd(as_float(b, a), float_const(v, b, 0.5))), k(0x3f000000));
  Value* odd = b.CreateAnd(b.CreateLShr(a, k(13)), k(1));
  Value* normal = b.CreateLShr(b.CreateAdd(b.CreateAdd(a, k(0xc8000fff)), odd), k(13));
  Value* r = b.CreateSelect(b.CreateICmpULT(a, k(0x38800000)), tiny, normal);
  r = b.CreateSelect(b.CreateICmpUGE(a, k(0x47800000)), special, r);
  r = b.CreateOr(r, b.CreateLShr(sign, k(16)));
  return b.CreateTrunc(r, same_lanes(v, b.getInt16Ty()));
}

Value* f16_from_bits_by_integers(llvm::IRBuilder<>& b, Value* bits) {
  Value* h = b.CreateZExt(bits, same_lanes(bits, b.getInt32Ty()));
  auto k = [&](uint32_t c) { return bits_const(bits, b, c); };
  Value* a = b.CreateShl(b.CreateAnd(h, k(0x7fff)), k(13));
  Value* exponent = b.CreateAnd(a, k(0x0f800000));
  Value* rebased = b.CreateAdd(a, k(112U << 23));
  Value* special = b.CreateAdd(rebased, k(112U << 23));
  Value* shifted = as_float(b, b.CreateAdd(rebased, k(1U << 23)));
  Value* tiny = as_bits(b, b.CreateFSub(shifted, as_float(b, k(113U << 23))));
  Value* r = b.CreateSelect(b.CreateICmpEQ(exponent, k(0x0f800000)), special, rebased);
  r = b.CreateSelect(b.CreateICmpEQ(exponent, k(0)), tiny, r);
  Value* sign = b.CreateShl(b.CreateAnd(h, k(0x8000)), k(16));
  return as_float(b, b.CreateOr(r, sign));
}

Value* f16_bits(llvm::IRBuilder<>& b, const Cpu& cpu, Value* v) {
  if (!cpu.half_convert) {
    return f16_bits_by_integers(b, v);
  }
  Value* h = b.CreateFPTrunc(v, same_lanes(v, b.getHalfTy()));
  return b.CreateBitCast(h, same_lanes(v, b.getInt16Ty()));
}

Value* f16_from_bits(llvm::IRBuilder<>& b, const Cpu& cpu, Value* bits) {
  if (!cpu.half_convert) {
    return f16_from_bits_by_integers(b, bits);
  }
  Value* h = b.CreateBitCast(bits, same_lanes(bits, b.getHalfTy()));
  return b.CreateFPExt(h, same_lanes(bits, b.getFloatTy()));
}

}  // namespace

Type* carried_type(llvm::LLVMContext& ctx, ir::DType t) {
  if (t.is_float()) {
    return with_lanes(t.bits == 64 ? Type::getDoubleTy(ctx) : Type::getFloatTy(ctx), t.lanes);
  }
  const unsigned bits = t.is_bool() ? 1 : t.bits;
  return with_lanes(llvm::IntegerType::get(ctx, bits), t.lanes);
}

Type* stored_type(llvm::LLVMContext& ctx, ir::DType t) {
  if (t.is_bool()) {
    return with_lanes(Type::getInt8Ty(ctx), t.lanes);
  }
  return is_narrow_float(t) ? with_lanes(Type::getInt16Ty(ctx), t.lanes) : carried_type(ctx, t);
}

Value* round_to(llvm::IRBuilder<>& b, const Cpu& cpu, ir::DType t, Value* v) {
  if (!is_narrow_float(t)) {
    return v;
  }
  llvm::IRBuilder<>::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  if (t.code == ir::TypeCode::kBFloat) {
    return round_bf16(b, v);
  }
  return f16_from_bits(b, cpu, f16_bits(b, cpu, v));
}

Value* to_stored(llvm::IRBuilder<>& b, const Cpu& cpu, ir::DType t, Value* v) {
  llvm::IRBuilder<>::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  if (t.is_bool()) {
    return b.CreateZExt(v, same_lanes(v, b.getInt8Ty()));
  }
  if (!is_narrow_float(t)) {
    return v;
  }
  if (t.code == ir::TypeCode::kBFloat) {
    Value* top = b.CreateLShr(as_bits(b, v), bits_const(v, b, 16));
    return b.CreateTrunc(top, same_lanes(v, b.getInt16Ty()));
  }
  return f16_bits(b, cpu, v);
}

Value* to_carried(llvm::IRBuilder<>& b, const Cpu& cpu, ir::DType t, Value* v) {
  llvm::IRBuilder<>::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  if (t.is_bool()) {
    return b.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
  }
  if (!is_narrow_float(t)) {
    return v;
  }
  if (t.code == ir::TypeCode::kBFloat) {
    Value* wide = b.CreateZExt(v, same_lanes(v, b.getInt32Ty()));
    return as_float(b, b.CreateShl(wide, bits_const(v, b, 16)));
  }
  return f16_from_bits(b, cpu, v);
}

}  // namespace tenon::backend::llvm_cpu
