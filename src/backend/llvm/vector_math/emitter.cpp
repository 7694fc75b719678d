// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/vector_math/emitter.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <functional>
#include <limits>
#include <numeric>

namespace tenon::backend::llvm_cpu::vector_math {
namespace {

llvm::Type* integer_of(llvm::Type* type) {
  llvm::Type* element = llvm::IntegerType::get(type->getContext(), type->getScalarSizeInBits());
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    return llvm::FixedVectorType::get(element, vector->getNumElements());
  }
  return element;
}

llvm::Type* double_of(llvm::Type* type) {
  llvm::Type* element = llvm::Type::getDoubleTy(type->getContext());
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    return llvm::FixedVectorType::get(element, vector->getNumElements());
  }
  return element;
}

llvm::Value* contractible(llvm::Value* v) {
  if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(v)) {
    instruction->setHasAllowContract(true);
  }
  return v;
}

Mask compare(llvm::CmpInst::Predicate p, Num a, Num b) {
  return {a.e, a.e->builder().CreateFCmp(p, a.v, b.v)};
}

using Values = llvm::SmallVector<llvm::Value*, 5>;

// Lanes [begin, begin + count) of x, a scalar as one lane; lanes that x does not have are arbitrary.
llvm::Value* lanes_of(llvm::IRBuilderBase& b, llvm::Value* x, int begin, int count) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (vector == nullptr) {
    llvm::Type* wide = llvm::FixedVectorType::get(x->getType(), static_cast<unsigned>(count));
    return b.CreateInsertElement(llvm::PoisonValue::get(wide), x, uint64_t{0});
  }
  const int have = static_cast<int>(vector->getNumElements());
  if (begin == 0 && have == count) return x;
  llvm::SmallVector<int, 16> picked;
  for (int i = begin; i < begin + count; ++i) picked.push_back(i < have ? i : -1);
  return b.CreateShuffleVector(x, picked);
}

// An instruction on registers of 4, 8 or 16 floats, applied to any number of lanes.
Num by_registers(Num like, const Values& in,
                 const std::function<llvm::Value*(int width, const Values&)>& emit) {
  llvm::IRBuilderBase& b = like.e->builder();
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like.e->type());
  const int lanes = vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
  const int width = lanes <= 4 ? 4 : lanes <= 8 ? 8 : 16;
  llvm::Value* all = nullptr;
  for (int at = 0; at < lanes; at += width) {
    Values parts;
    for (llvm::Value* x : in) parts.push_back(lanes_of(b, x, at, width));
    llvm::Value* y = emit(width, parts);
    if (vector == nullptr) return {like.e, b.CreateExtractElement(y, uint64_t{0})};
    if (lanes <= width) return {like.e, lanes_of(b, y, 0, lanes)};
    // the registers so far, then this one
    const int before = at;
    llvm::SmallVector<int, 64> picked(static_cast<size_t>(before + width));
    std::iota(picked.begin(), picked.end(), 0);
    all = all == nullptr ? y : b.CreateShuffleVector(all, lanes_of(b, y, 0, before), picked);
  }
  return {like.e, lanes_of(b, all, 0, lanes)};
}

}  // namespace

Emitter::Emitter(llvm::IRBuilderBase& b, llvm::Type* type, const MathOptions& opt)
    : b_(b),
      type_(type),
      int_type_(integer_of(type)),
      opt_(opt),
      is_f64_(type->getScalarType()->isDoubleTy()) {}

Num Emitter::num(double value) const { return {this, llvm::ConstantFP::get(type_, value)}; }
Num Emitter::infinity() const { return num(std::numeric_limits<double>::infinity()); }
Num Emitter::nan() const { return {this, llvm::ConstantFP::getNaN(type_)}; }
Int Emitter::integer(uint64_t value) const {
  return {this, llvm::ConstantInt::get(int_type_, value)};
}
Emitter Emitter::widened() const { return {b_, double_of(type_), opt_}; }

Num operator-(Num a) { return {a.e, a.e->builder().CreateFNeg(a.v)}; }
Num operator+(Num a, Num b) { return {a.e, a.e->builder().CreateFAdd(a.v, b.v)}; }
Num operator-(Num a, Num b) { return {a.e, a.e->builder().CreateFSub(a.v, b.v)}; }
Num operator*(Num a, Num b) { return {a.e, a.e->builder().CreateFMul(a.v, b.v)}; }
Num operator/(Num a, Num b) { return {a.e, a.e->builder().CreateFDiv(a.v, b.v)}; }
Num operator+(Num a, double b) { return a + a.e->num(b); }
Num operator-(Num a, double b) { return a - a.e->num(b); }
Num operator*(Num a, double b) { return a * a.e->num(b); }
Num operator-(double a, Num b) { return b.e->num(a) - b; }
Num operator/(double a, Num b) { return b.e->num(a) / b; }

Mask operator<(Num a, Num b) { return compare(llvm::CmpInst::FCMP_OLT, a, b); }
Mask operator<(Num a, double b) { return a < a.e->num(b); }
Mask operator>(Num a, double b) { return compare(llvm::CmpInst::FCMP_OGT, a, a.e->num(b)); }
Mask operator<=(Num a, double b) { return compare(llvm::CmpInst::FCMP_OLE, a, a.e->num(b)); }
Mask operator==(Num a, double b) { return a == a.e->num(b); }
Mask operator==(Num a, Num b) { return compare(llvm::CmpInst::FCMP_OEQ, a, b); }
Mask unordered(Num a, Num b) { return compare(llvm::CmpInst::FCMP_UNO, a, b); }
Mask operator&(Mask a, Mask b) { return {a.e, a.e->builder().CreateAnd(a.v, b.v)}; }
Mask operator|(Mask a, Mask b) { return {a.e, a.e->builder().CreateOr(a.v, b.v)}; }
Mask operator^(Mask a, Mask b) { return {a.e, a.e->builder().CreateXor(a.v, b.v)}; }
Mask operator!(Mask a) { return {a.e, a.e->builder().CreateNot(a.v)}; }

Int operator+(Int a, Int b) { return {a.e, a.e->builder().CreateAdd(a.v, b.v)}; }
Int operator-(Int a, Int b) { return {a.e, a.e->builder().CreateSub(a.v, b.v)}; }
Int operator&(Int a, uint64_t b) { return {a.e, a.e->builder().CreateAnd(a.v, a.e->integer(b).v)}; }
Int operator|(Int a, uint64_t b) { return {a.e, a.e->builder().CreateOr(a.v, a.e->integer(b).v)}; }
Int operator^(Int a, Int b) { return {a.e, a.e->builder().CreateXor(a.v, b.v)}; }
Int operator<<(Int a, unsigned n) {
  return {a.e, a.e->builder().CreateShl(a.v, a.e->integer(n).v)};
}
Int operator>>(Int a, unsigned n) {
  return {a.e, a.e->builder().CreateLShr(a.v, a.e->integer(n).v)};
}
Mask operator!=(Int a, uint64_t b) {
  return {a.e, a.e->builder().CreateICmpNE(a.v, a.e->integer(b).v)};
}

Num select(Mask c, Num t, Num f) { return {t.e, t.e->builder().CreateSelect(c.v, t.v, f.v)}; }
Num select(Mask c, double t, double f) { return select(c, c.e->num(t), c.e->num(f)); }

Num fma(Num a, Num b, Num c) {
  llvm::IRBuilderBase& builder = a.e->builder();
  if (a.e->options().has_fma) {
    return {a.e, builder.CreateIntrinsic(llvm::Intrinsic::fma, {a.e->type()}, {a.v, b.v, c.v})};
  }
  llvm::Value* product = contractible(builder.CreateFMul(a.v, b.v));
  return {a.e, contractible(builder.CreateFAdd(product, c.v))};
}
Num fma(Num a, double b, Num c) { return fma(a, a.e->num(b), c); }
Num fma(Num a, Num b, double c) { return fma(a, b, a.e->num(c)); }
Num fma(Num a, double b, double c) { return fma(a, a.e->num(b), a.e->num(c)); }

Num min(double a, Num b) {
  const Num limit = b.e->num(a);
  return select(limit < b, limit, b);
}
Num max(double a, Num b) {
  const Num limit = b.e->num(a);
  return select(b < limit, limit, b);
}

Num abs(Num x) { return {x.e, x.e->builder().CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x.v)}; }
Num sqrt(Num x) { return {x.e, x.e->builder().CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x.v)}; }
Int bits(Num x) { return {x.e, x.e->builder().CreateBitCast(x.v, x.e->int_type())}; }
Num as_num(Int x) { return {x.e, x.e->builder().CreateBitCast(x.v, x.e->type())}; }

Num with_sign_of(Num a, Num b) {
  const Int sign = bits(b) & a.e->sign_bit();
  return as_num({a.e, a.e->builder().CreateOr(bits(a).v, sign.v)});
}

Num fraction(Num x) {
  llvm::IRBuilderBase& b = x.e->builder();
  return by_registers(x, {x.v}, [&](int width, const Values& in) -> llvm::Value* {
    namespace intrinsic = llvm::Intrinsic;
    constexpr uint32_t kDown = 9, kExceptionsAsSet = 4;
    llvm::Value* any = llvm::PoisonValue::get(in[0]->getType());
    if (width == 16) {
      return b.CreateIntrinsic(
          intrinsic::x86_avx512_mask_reduce_ps_512, {},
          {in[0], b.getInt32(kDown), any, b.getInt16(0xffff), b.getInt32(kExceptionsAsSet)});
    }
    const auto id = width == 8 ? intrinsic::x86_avx512_mask_reduce_ps_256
                               : intrinsic::x86_avx512_mask_reduce_ps_128;
    return b.CreateIntrinsic(id, {}, {in[0], b.getInt32(kDown), any, b.getInt8(0xff)});
  });
}

Num scaled(Num x, Num n) {
  llvm::IRBuilderBase& b = x.e->builder();
  return by_registers(x, {x.v, n.v}, [&](int width, const Values& in) -> llvm::Value* {
    namespace intrinsic = llvm::Intrinsic;
    constexpr uint32_t kCurrentRounding = 4;
    llvm::Value* any = llvm::PoisonValue::get(in[0]->getType());
    if (width == 16) {
      return b.CreateIntrinsic(
          intrinsic::x86_avx512_mask_scalef_ps_512, {},
          {in[0], in[1], any, b.getInt16(0xffff), b.getInt32(kCurrentRounding)});
    }
    const auto id = width == 8 ? intrinsic::x86_avx512_mask_scalef_ps_256
                               : intrinsic::x86_avx512_mask_scalef_ps_128;
    return b.CreateIntrinsic(id, {}, {in[0], in[1], any, b.getInt8(0xff)});
  });
}

Num poly(Num x, std::span<const double> c, double scale) {
  Num sum = x.e->num(c.back() * scale);
  for (size_t i = c.size() - 1; i-- > 0;) {
    sum = fma(sum, x, c[i] * scale);
  }
  return sum;
}

Num widen(const Emitter& wide, Num x) {
  return {&wide, wide.builder().CreateFPExt(x.v, wide.type())};
}
Num narrow(const Emitter& to, Num x) { return {&to, to.builder().CreateFPTrunc(x.v, to.type())}; }
Int narrow_int(const Emitter& to, Int x) {
  return {&to, to.builder().CreateTrunc(x.v, to.int_type())};
}

}  // namespace tenon::backend::llvm_cpu::vector_math
