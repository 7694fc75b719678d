// SPDX-License-Identifier: Apache-2.0
// What the functions of vector_math should give, and how far from it they may be: the numbers that
// docs/vector-math.md states. References are computed in a wider type by the C library.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

#include "ir/ir.h"

namespace tenon::backend::llvm_cpu {

template <class T>
using Wider = std::conditional_t<sizeof(T) == 8, long double, double>;

// R is the wider type.
template <class R>
R reference(ir::Intrinsic fn, R a, R b = 0, R c = 0) {
  using ir::Intrinsic;
  switch (fn) {
    case Intrinsic::kExp:
      return std::exp(a);
    case Intrinsic::kLog:
      return std::log(a);
    case Intrinsic::kTanh:
      return std::tanh(a);
    case Intrinsic::kErf:
      return std::erf(a);
    case Intrinsic::kSigmoid:
      return 1 / (1 + std::exp(-a));
    case Intrinsic::kSqrt:
      return std::sqrt(a);
    case Intrinsic::kRsqrt:
      return 1 / std::sqrt(a);
    case Intrinsic::kPow:
      return std::pow(a, b);
    case Intrinsic::kAbs:
      return std::abs(a);
    case Intrinsic::kFloor:
      return std::floor(a);
    case Intrinsic::kCeil:
      return std::ceil(a);
    case Intrinsic::kRound:
      return std::nearbyint(a);
    case Intrinsic::kTrunc:
      return std::trunc(a);
    case Intrinsic::kSin:
      return std::sin(a);
    case Intrinsic::kCos:
      return std::cos(a);
    case Intrinsic::kTan:
      return std::tan(a);
    case Intrinsic::kAsin:
      return std::asin(a);
    case Intrinsic::kAcos:
      return std::acos(a);
    case Intrinsic::kAtan:
      return std::atan(a);
    case Intrinsic::kSinh:
      return std::sinh(a);
    case Intrinsic::kCosh:
      return std::cosh(a);
    case Intrinsic::kAsinh:
      return std::asinh(a);
    case Intrinsic::kAcosh:
      return std::acosh(a);
    case Intrinsic::kAtanh:
      return std::atanh(a);
    case Intrinsic::kIsNan:
      return std::isnan(a) ? R(1) : R(0);
    case Intrinsic::kIsInf:
      return std::isinf(a) ? R(1) : R(0);
    case Intrinsic::kFma:
      return std::fma(a, b, c);
  }
  return 0;
}

// Largest error in ulp over the range.
struct Bounds {
  ir::Intrinsic fn;
  std::string_view name;
  double ulp32;
  double ulp64;
  double ulp32_no_fma = 0;                              // 0: the same
  double limit32 = kEverywhere, limit64 = kEverywhere;  // bounded for |x| up to here
  double limit32_no_fma = kEverywhere, limit64_no_fma = kEverywhere;
  double flush32 = 0, flush64 = 0;  // results below this may be 0 instead

  static constexpr double kEverywhere = std::numeric_limits<double>::infinity();
};

// Every function of one argument.
std::span<const Bounds> unary_bounds();

// |got - want| in units of the spacing of T at want; infinity where one is NaN, or infinite when it
// should be far from it. A value that overflows counts as the power of two just above the largest.
template <class T>
double ulps(T got, Wider<T> want) {
  using R = Wider<T>;
  if (std::isnan(got) || std::isnan(want)) {
    return std::isnan(got) && std::isnan(want) ? 0 : std::numeric_limits<double>::infinity();
  }
  constexpr int kTop = std::numeric_limits<T>::max_exponent;
  constexpr int kBottom = std::numeric_limits<T>::min_exponent;
  const R over = std::ldexp(R(1), kTop);
  const R expected = std::min(std::max(want, -over), over);
  const R value = std::isinf(got) ? std::copysign(over, R(got)) : R(got);
  int exponent = kBottom;
  if (expected != 0) {
    std::frexp(expected, &exponent);
  }
  exponent = std::min(std::max(exponent, kBottom), kTop);
  const R spacing = std::ldexp(R(1), exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::abs(value - expected) / spacing);
}

}  // namespace tenon::backend::llvm_cpu
