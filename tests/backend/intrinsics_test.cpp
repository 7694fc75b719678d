// SPDX-License-Identifier: Apache-2.0
// Every element-wise function on every float type and several widths, against the interpreter. How
// accurate the functions are is vector_math's test; here the types, widths and roundings count.
#include "backend/element_wise.h"
#include "backend/functions.h"
#include "backend/harness.h"

namespace tenon::backend {
namespace {

using ir::DType;
using ir::Intrinsic;

class IntrinsicsTest : public ::testing::TestWithParam<Intrinsic> {};

INSTANTIATE_TEST_SUITE_P(All, IntrinsicsTest, ::testing::ValuesIn(all_functions()),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

TEST_P(IntrinsicsTest, AgreesWithTheInterpreter) {
  const Intrinsic fn = GetParam();
  for (const DType t : {ir::kF32, ir::kF64, ir::kF16, ir::kBF16}) {
    const ir::Function f = function_kernel(fn, t, {1, 3, 8, 16});
    expect_same(f, function_args(f, fn, t), function_tolerance(fn, t));
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
    expect_same(f.get(), random_args(f.get(), rng), float_tolerance(t));
  }
}

}  // namespace
}  // namespace tenon::backend
