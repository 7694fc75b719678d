// SPDX-License-Identifier: Apache-2.0
#include "backend/vector_math_reference.h"

namespace tenon::backend::llvm_cpu {
namespace {

using ir::Intrinsic;

constexpr Bounds trigonometric(Intrinsic fn, std::string_view name, double ulp) {
  Bounds f{fn, name, ulp, ulp};
  f.limit32 = 0x1p40;
  f.limit64 = 0x1p30;
  f.limit32_no_fma = 0x1p28;
  f.limit64_no_fma = 0x1p20;
  return f;
}

constexpr Bounds kUnary[] = {
    {.fn = Intrinsic::kExp, .name = "exp", .ulp32 = 2.5, .ulp64 = 1.5, .flush32 = 0x1.6a1p-126},
    {Intrinsic::kLog, "log", 1.5, 1},
    {Intrinsic::kTanh, "tanh", 3.5, 3.5},
    {.fn = Intrinsic::kErf, .name = "erf", .ulp32 = 6.5, .ulp64 = 2, .ulp32_no_fma = 7},
    {.fn = Intrinsic::kSigmoid,
     .name = "sigmoid",
     .ulp32 = 4,
     .ulp64 = 2.5,
     .flush32 = 0x1.001p-128,
     .flush64 = 0x0.4001p-1022},
    {Intrinsic::kSqrt, "sqrt", 0.5001, 0.5001},
    {Intrinsic::kRsqrt, "rsqrt", 1.5, 1.5},
    {Intrinsic::kAbs, "abs", 0, 0},
    {Intrinsic::kFloor, "floor", 0, 0},
    {Intrinsic::kCeil, "ceil", 0, 0},
    {Intrinsic::kRound, "round", 0, 0},
    {Intrinsic::kTrunc, "trunc", 0, 0},
    trigonometric(Intrinsic::kSin, "sin", 2),
    trigonometric(Intrinsic::kCos, "cos", 2),
    trigonometric(Intrinsic::kTan, "tan", 4),
    {Intrinsic::kAsin, "asin", 2.5, 2.5},
    {Intrinsic::kAcos, "acos", 1.5, 1.5},
    {Intrinsic::kAtan, "atan", 2, 2},
    {Intrinsic::kSinh, "sinh", 3.5, 3.5},
    {Intrinsic::kCosh, "cosh", 3, 2},
    {Intrinsic::kAsinh, "asinh", 2.5, 2},
    {Intrinsic::kAcosh, "acosh", 3, 3},
    {Intrinsic::kAtanh, "atanh", 2.5, 2.5},
    {Intrinsic::kIsNan, "isnan", 0, 0},
    {Intrinsic::kIsInf, "isinf", 0, 0},
};

}  // namespace

std::span<const Bounds> unary_bounds() { return kUnary; }

}  // namespace tenon::backend::llvm_cpu
