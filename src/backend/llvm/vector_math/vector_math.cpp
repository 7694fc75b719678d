// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/vector_math.h"

#include "backend/llvm/vector_math/functions.h"

namespace tenon::backend::llvm_cpu {
namespace {

using ir::Intrinsic;
using vector_math::Emitter;
using vector_math::Num;

size_t argument_count(Intrinsic fn) {
  return fn == Intrinsic::kFma ? 3 : fn == Intrinsic::kPow ? 2 : 1;
}

void check_arguments(Intrinsic fn, llvm::ArrayRef<llvm::Value*> args) {
  TENON_CHECK(args.size() == argument_count(fn))
      << "intrinsic " << static_cast<int>(fn) << " given " << args.size() << " arguments";
  llvm::Type* type = args[0]->getType();
  const bool shape_ok = !type->isVectorTy() || llvm::isa<llvm::FixedVectorType>(type);
  llvm::Type* element = type->getScalarType();
  TENON_CHECK(shape_ok && (element->isFloatTy() || element->isDoubleTy()))
      << "intrinsic " << static_cast<int>(fn)
      << " needs float or double, or a fixed vector of them";
  for (llvm::Value* arg : args) {
    TENON_CHECK(arg->getType() == type)
        << "intrinsic " << static_cast<int>(fn) << " of mixed types";
  }
}

Num emit(Intrinsic fn, Num x, llvm::ArrayRef<llvm::Value*> args) {
  using namespace vector_math;
  const Emitter& e = *x.e;
  switch (fn) {
    case Intrinsic::kExp:
      return emit_exp(x);
    case Intrinsic::kLog:
      return emit_log(x);
    case Intrinsic::kTanh:
      return emit_tanh(x);
    case Intrinsic::kErf:
      return emit_erf(x);
    case Intrinsic::kSigmoid:
      return emit_sigmoid(x);
    case Intrinsic::kSqrt:
      return sqrt(x);
    case Intrinsic::kRsqrt:
      return 1.0 / sqrt(x);
    case Intrinsic::kPow:
      return emit_pow(x, e.wrap(args[1]));
    case Intrinsic::kAbs:
      return abs(x);
    case Intrinsic::kFloor:
      return emit_floor(x);
    case Intrinsic::kCeil:
      return emit_ceil(x);
    case Intrinsic::kRound:
      return emit_round(x);
    case Intrinsic::kTrunc:
      return emit_trunc(x);
    case Intrinsic::kSin:
      return emit_sin(x);
    case Intrinsic::kCos:
      return emit_cos(x);
    case Intrinsic::kTan:
      return emit_tan(x);
    case Intrinsic::kAsin:
      return emit_asin(x);
    case Intrinsic::kAcos:
      return emit_acos(x);
    case Intrinsic::kAtan:
      return emit_atan(x);
    case Intrinsic::kSinh:
      return emit_sinh(x);
    case Intrinsic::kCosh:
      return emit_cosh(x);
    case Intrinsic::kAsinh:
      return emit_asinh(x);
    case Intrinsic::kAcosh:
      return emit_acosh(x);
    case Intrinsic::kAtanh:
      return emit_atanh(x);
    case Intrinsic::kIsNan:
      return e.wrap(unordered(x, x).v);
    case Intrinsic::kIsInf:
      return e.wrap((abs(x) == e.infinity()).v);
    case Intrinsic::kFma:
      return emit_exact_fma(x, e.wrap(args[1]), e.wrap(args[2]));
  }
  TENON_CHECK(false) << "unknown intrinsic " << static_cast<int>(fn);
  return x;
}

}  // namespace

llvm::Value* emit_math(llvm::IRBuilderBase& b, Intrinsic fn, llvm::ArrayRef<llvm::Value*> args,
                       const MathOptions& opt) {
  check_arguments(fn, args);
  const llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  const Emitter emitter(b, args[0]->getType(), opt);
  return emit(fn, emitter.wrap(args[0]), args).v;
}

llvm::Value* emit_times_sigmoid(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* s,
                                const MathOptions& opt) {
  check_arguments(Intrinsic::kPow, {x, s});
  const llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  const Emitter emitter(b, x->getType(), opt);
  return vector_math::emit_times_sigmoid(emitter.wrap(x), emitter.wrap(s)).v;
}

}  // namespace tenon::backend::llvm_cpu
