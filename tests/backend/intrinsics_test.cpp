// SPDX-License-Identifier: Apache-2.0
// Every element-wise function on every float type and several widths, against the interpreter. How
// accurate the functions are is vector_math's test; here the types, widths and roundings count.
#include <cmath>

#include "backend/element_wise.h"
#include "backend/harness.h"

namespace tenon::backend {
namespace {

using ir::DType;
using ir::Intrinsic;

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

// Relative error of a correct function plus one rounding to the type, in which neighbours may be
// picked.
Tolerance tolerance(DType t) {
  if (t.bits == 16) {
    return t.code == ir::TypeCode::kBFloat ? Tolerance{0x1p-7, 1e-30} : Tolerance{0x1p-10, 0x1p-24};
  }
  return t.bits == 32 ? Tolerance{1e-6, 1e-7} : Tolerance{1e-14, 1e-15};
}

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

std::vector<Intrinsic> all_functions() {
  std::vector<Intrinsic> all;
  for (int k = 0; k <= static_cast<int>(Intrinsic::kFma); ++k) {
    all.push_back(static_cast<Intrinsic>(k));
  }
  return all;
}

class IntrinsicsTest : public ::testing::TestWithParam<Intrinsic> {};

INSTANTIATE_TEST_SUITE_P(All, IntrinsicsTest, ::testing::ValuesIn(all_functions()),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

TEST_P(IntrinsicsTest, AgreesWithTheInterpreter) {
  const Intrinsic fn = GetParam();
  const bool is_test = fn == Intrinsic::kIsNan || fn == Intrinsic::kIsInf;
  for (const DType t : {ir::kF32, ir::kF64, ir::kF16, ir::kBF16}) {
    ElementWise f("intrinsic");
    for (int k = 0; k < ir::arity(fn); ++k) {
      f.input(t);
    }
    for (const int lanes : {1, 3, 8, 16}) {
      f.output(is_test ? ir::kBool : t, lanes, [&](auto& in) { return ir::call(fn, in); });
    }
    Rng rng(1);
    auto args = random_args(f.get(), rng);
    const Range r = domain(fn);
    for (size_t i = 0; i < f.get().num_inputs; ++i) {
      for (int64_t k = 0; k < args[i].elements(); ++k) {
        args[i].set_double(k, ir::round_to(t, r.lo + (r.hi - r.lo) * rng.unit()));
      }
      args[i].set_double(3, is_test ? std::nan("") : 1.25);
      args[i].set_double(4, is_test ? -INFINITY : 1.5);
    }
    expect_same(f.get(), args, is_exact(fn) ? Tolerance{} : tolerance(t));
  }
}

// x * sigmoid(x) is computed by one division; products with the sigmoid of something else are not.
TEST(ProductsWithSigmoid, AgreeWithTheInterpreter) {
  const auto sigmoid = [](const ir::Expr& x) { return ir::call(Intrinsic::kSigmoid, {x}); };
  for (const DType t : {ir::kF32, ir::kF64, ir::kF16, ir::kBF16}) {
    ElementWise f("products");
    f.input(t);
    f.input(t);
    for (const int lanes : {1, 3, 8, 16, 32}) {
      f.output(t, lanes, [&](auto& in) { return in[0] * sigmoid(in[0]); });
      f.output(t, lanes, [&](auto& in) { return sigmoid(in[0] + in[1]) * (in[0] + in[1]); });
      f.output(t, lanes, [&](auto& in) { return in[0] * sigmoid(in[1]); });
    }
    Rng rng(3);
    expect_same(f.get(), random_args(f.get(), rng), tolerance(t));
  }
}

}  // namespace
}  // namespace tenon::backend
