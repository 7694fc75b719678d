// SPDX-License-Identifier: Apache-2.0
#include "backend/functions.h"

#include <cmath>

#include "backend/element_wise.h"

namespace tenon::backend {

using ir::DType;
using ir::Intrinsic;

namespace {

struct Range {
  double lo = -3;
  double hi = 3;
};

Range domain(Intrinsic fn) {
  switch (fn) {
    case Intrinsic::kLog:
    case Intrinsic::kSqrt:
    case Intrinsic::kRsqrt:
    case Intrinsic::kPow:
      return {0.05, 9};
    case Intrinsic::kAsin:
    case Intrinsic::kAcos:
    case Intrinsic::kAtanh:
      return {-0.95, 0.95};
    case Intrinsic::kAcosh:
      return {1.1, 9};
    default:
      return {};
  }
}

}  // namespace

Tolerance float_tolerance(DType t) {
  if (t.bits == 16) {
    return t.code == ir::TypeCode::kBFloat ? Tolerance{0x1p-7, 1e-30} : Tolerance{0x1p-10, 0x1p-24};
  }
  return t.bits == 32 ? Tolerance{1e-6, 1e-7} : Tolerance{1e-14, 1e-15};
}

namespace {

bool is_test(Intrinsic fn) { return fn == Intrinsic::kIsNan || fn == Intrinsic::kIsInf; }

bool is_exact(Intrinsic fn) {
  switch (fn) {
    case Intrinsic::kSqrt:
    case Intrinsic::kAbs:
    case Intrinsic::kFloor:
    case Intrinsic::kCeil:
    case Intrinsic::kRound:
    case Intrinsic::kTrunc:
    case Intrinsic::kIsNan:
    case Intrinsic::kIsInf:
    case Intrinsic::kFma:
      return true;
    default:
      return false;
  }
}

}  // namespace

Tolerance function_tolerance(Intrinsic fn, DType t) {
  return is_exact(fn) ? Tolerance{} : float_tolerance(t);
}

std::vector<Intrinsic> all_functions() {
  std::vector<Intrinsic> all;
  for (int k = 0; k <= static_cast<int>(Intrinsic::kFma); ++k) {
    all.push_back(static_cast<Intrinsic>(k));
  }
  return all;
}

ir::Function function_kernel(Intrinsic fn, DType t, const std::vector<int>& lanes) {
  ElementWise f("intrinsic");
  for (int k = 0; k < ir::arity(fn); ++k) {
    f.input(t);
  }
  for (const int n : lanes) {
    f.output(is_test(fn) ? ir::kBool : t, n, [&](auto& in) { return ir::call(fn, in); });
  }
  return f.get();
}

std::vector<ir::Array> function_args(const ir::Function& f, Intrinsic fn, DType t) {
  Rng rng(1);
  auto args = random_args(f, rng);
  const Range r = domain(fn);
  for (size_t i = 0; i < f.num_inputs; ++i) {
    for (int64_t k = 0; k < args[i].elements(); ++k) {
      args[i].set_double(k, ir::round_to(t, r.lo + (r.hi - r.lo) * rng.unit()));
    }
    args[i].set_double(3, is_test(fn) ? std::nan("") : 1.25);
    args[i].set_double(4, is_test(fn) ? -INFINITY : 1.5);
  }
  return args;
}

}  // namespace tenon::backend
