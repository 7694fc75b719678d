// SPDX-License-Identifier: Apache-2.0
// Values that emit LLVM IR when they are computed with, so that the functions beside this file read
// as the formulas they implement, for scalars and vectors, float and double alike.
//
//   Num y = fma(x, e.num(2.0), e.num(1.0));     =>   call @llvm.fma(x, <2.0, ...>, <1.0, ...>)
//
// Nothing here reassociates: the order written is the order computed.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <span>

#include "backend/llvm/vector_math.h"

namespace tenon::backend::llvm_cpu::vector_math {

class Emitter;

// A float or double, or a vector of them.
struct Num {
  const Emitter* e;
  llvm::Value* v;
};
// An integer as wide as the Num it came from.
struct Int {
  const Emitter* e;
  llvm::Value* v;
};
// i1 per lane.
struct Mask {
  const Emitter* e;
  llvm::Value* v;
};

// An Emitter knows where code goes and of which type it is; there is one per element type in use.
class Emitter {
 public:
  Emitter(llvm::IRBuilderBase& b, llvm::Type* type, const MathOptions& opt);

  llvm::IRBuilderBase& builder() const { return b_; }
  const MathOptions& options() const { return opt_; }
  llvm::Type* type() const { return type_; }
  llvm::Type* int_type() const { return int_type_; }
  bool is_f64() const { return is_f64_; }

  Num num(double value) const;
  Num infinity() const;
  Num nan() const;
  Int integer(uint64_t value) const;
  Num wrap(llvm::Value* v) const { return {this, v}; }

  // The same lanes in double.
  Emitter widened() const;

  // These describe the IEEE format: stored mantissa bits, exponent bias, smallest normal number.
  unsigned mantissa_bits() const { return is_f64_ ? 52 : 23; }
  int bias() const { return is_f64_ ? 1023 : 127; }
  double min_normal() const { return is_f64_ ? 0x1p-1022 : 0x1p-126; }
  uint64_t sign_bit() const { return is_f64_ ? uint64_t{1} << 63 : uint64_t{1} << 31; }

 private:
  llvm::IRBuilderBase& b_;
  llvm::Type* type_;
  llvm::Type* int_type_;
  MathOptions opt_;
  bool is_f64_;
};

Num operator-(Num a);
Num operator+(Num a, Num b);
Num operator-(Num a, Num b);
Num operator*(Num a, Num b);
Num operator/(Num a, Num b);
Num operator+(Num a, double b);
Num operator-(Num a, double b);
Num operator*(Num a, double b);
Num operator-(double a, Num b);
Num operator/(double a, Num b);

Mask operator<(Num a, Num b);  // false on NaN, like the next four
Mask operator<(Num a, double b);
Mask operator>(Num a, double b);
Mask operator<=(Num a, double b);
Mask operator==(Num a, double b);
Mask operator==(Num a, Num b);
Mask unordered(Num a, Num b);
Mask operator&(Mask a, Mask b);
Mask operator|(Mask a, Mask b);
Mask operator^(Mask a, Mask b);
Mask operator!(Mask a);

Int operator+(Int a, Int b);
Int operator-(Int a, Int b);
Int operator&(Int a, uint64_t b);
Int operator|(Int a, uint64_t b);
Int operator^(Int a, Int b);
Int operator<<(Int a, unsigned n);
Int operator>>(Int a, unsigned n);  // logical
Mask operator!=(Int a, uint64_t b);

Num select(Mask c, Num t, Num f);
Num select(Mask c, double t, double f);

// One rounding where the target can; otherwise a product and a sum.
Num fma(Num a, Num b, Num c);
Num fma(Num a, double b, Num c);
Num fma(Num a, Num b, double c);
Num fma(Num a, double b, double c);

// a < b ? a : b and a < b ? b : a: where b is NaN so is the result, one instruction on x86.
Num min(double a, Num b);
Num max(double a, Num b);

Num abs(Num x);
Num sqrt(Num x);
Int bits(Num x);
Num as_num(Int x);
// The magnitude of a (which must be >= 0 or NaN) with the sign of b.
Num with_sign_of(Num a, Num b);

// f32 where the target has_scale: x - floor(x), 0 for infinities; x * 2^floor(n), rounded once.
Num fraction(Num x);
Num scaled(Num x, Num n);

// c[0] + c[1] x + ..., by Horner's rule, every coefficient times `scale`.
Num poly(Num x, std::span<const double> c, double scale = 1.0);

Num widen(const Emitter& wide, Num x);
Num narrow(const Emitter& to, Num x);
Int narrow_int(const Emitter& to, Int x);

}  // namespace tenon::backend::llvm_cpu::vector_math
