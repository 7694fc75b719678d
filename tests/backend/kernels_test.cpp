// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels.h against the interpreter.
#include "backend/kernels.h"

#include "backend/harness.h"
#include "ir/verify.h"

namespace tenon::backend {
namespace {

TEST(KernelsTest, AgreeWithTheInterpreter) {
  const ir::Function kernels[] = {
      matmul_kernel({14, 64, 5, 14, 2, 16}), matmul_kernel({12, 48, 7, 6, 2, 8}),
      matmul_kernel({3, 15, 4, 3, 1, 5}),    conv3x3_kernel({2, 2, 3, 6, 3, 2, 4}),
      conv3x3_kernel({1, 3, 2, 7, 7, 1, 8}), depthwise3x3_kernel(3, 5, 8, 4, 8),
      relu_add_kernel(37, 16, ir::kF32),     relu_add_kernel(37, 8, ir::kI8),
      relu_add_kernel(37, 16, ir::kBF16),    relu_add_kernel(37, 16, ir::kF16),
      relu_add_kernel(3, 4, ir::kF64),       row_normalize_kernel(3, 4, 8),
  };
  for (const ir::Function& f : kernels) {
    ir::verify(f, ir::Dialect::kFlat);
    Rng rng(1);
    expect_same(f, small_args(f, rng, -3, 5));
  }
}

}  // namespace
}  // namespace tenon::backend
