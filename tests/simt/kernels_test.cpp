// SPDX-License-Identifier: Apache-2.0
// Kernels as lowering writes them, on SIMT, against the plain formula.
#include <gtest/gtest.h>

#include <functional>

#include "backend/functions.h"
#include "backend/gpu_kernels.h"
#include "backend/harness.h"
#include "ir/build.h"
#include "simt/harness.h"

namespace tenon::simt {
namespace {

using ir::Array;
using runtime::cuda::kSuccess;

// formula(inputs, i) is element i of the output, the last parameter.
void expect_formula(const ir::Function& f,
                    const std::function<double(const std::vector<Array>&, int64_t)>& formula) {
  Rng rng(1);
  const std::vector<Array> args = backend::small_args(f, rng);
  std::vector<Array> expected = args;
  for (int64_t i = 0; i < expected.back().elements(); ++i) {
    expected.back().set_double(i, formula(args, i));
  }
  std::vector<Array> actual = args;
  ASSERT_EQ(run(f, actual), kSuccess);
  backend::expect_equal(f, expected, actual, {});
}

TEST(SimtKernels, AGridInTwoDimensionsWithEdges) {
  expect_formula(backend::scale_rows_gpu(), [](const auto& in, int64_t i) {
    return in[0].get_double(i) * 2 + in[1].get_double(i % 20);
  });
}

TEST(SimtKernels, VectorsOfEveryAlignment) {
  for (const ir::DType t : {ir::kF32, ir::kF16, ir::kI8, ir::kF64, ir::kBool}) {
    for (const int lanes : {1, 2, 3, 4, 8, 16}) {
      for (const int64_t offset : {0, 1, 2, 4}) {
        expect_formula(backend::copy_gpu(lanes, offset, t),
                       [&](const auto& in, int64_t i) { return in[0].get_double(i + offset); });
      }
    }
  }
}

TEST(SimtKernels, ATransposedTileInSharedMemory) {
  expect_formula(backend::transpose_gpu(),
                 [](const auto& in, int64_t i) { return in[0].get_double(i % 48 * 32 + i / 48); });
}

// Other rows of the warp are elsewhere meanwhile.
TEST(SimtKernels, ThreadsOfARowCombine) {
  for (const ir::DType t : {ir::kF32, ir::kI32}) {
    for (const int64_t n : {2, 8, 16, 32}) {
      expect_formula(backend::combine_gpu(n, t), [&](const auto& in, int64_t i) {
        if (i / n == 4) return 0.0;
        double sum = static_cast<double>(i % n);
        for (int64_t k = 0; k < n; ++k) sum += in[0].get_double(i / n * n + k);
        return sum;
      });
    }
  }
}

TEST(SimtKernels, ATreeOfFewerAndFewerThreads) {
  expect_formula(backend::row_sum_gpu(5), [](const auto& in, int64_t i) {
    double sum = 0;
    for (int64_t k = 0; k < 128; ++k) sum += in[0].get_double(i * 128 + k);
    return sum;
  });
}

TEST(SimtKernels, AProductByRegisterTiles) {
  const int64_t m = 64, n = 96, k = 24;
  expect_formula(backend::matmul_gpu(m, n, k), [&](const auto& in, int64_t i) {
    double sum = 0;
    for (int64_t x = 0; x < k; ++x) {
      sum += in[0].get_double(x * m + i / n) * in[1].get_double(x * n + i % n);
    }
    return sum;
  });
}

TEST(SimtKernels, LoadsWithPredicates) {
  for (const int64_t n : {1, 31, 100, 257}) {
    for (const int lanes : {1, 2, 4}) {
      expect_formula(backend::border_sum_gpu(n, lanes), [&](const auto& in, int64_t i) {
        const double before = i > 0 ? in[0].get_double(i - 1) : 0;
        return before + in[0].get_double(i) + (i + 1 < n ? in[0].get_double(i + 1) : 0);
      });
    }
  }
}

TEST(SimtKernels, TwoKernelsAndAWorkspace) {
  const ir::Function f = backend::split_sum_gpu();
  const backend::GpuModule module = compile(f);
  ASSERT_EQ(module.launches.size(), 2U);
  EXPECT_EQ(module.launches[0].kernel, "split_sum_0");
  EXPECT_EQ(module.launches[0].grid[0], 2);
  EXPECT_EQ(module.launches[0].arguments, (std::vector<int32_t>{0, backend::kWorkspaceArgument}));
  EXPECT_EQ(module.launches[1].arguments, (std::vector<int32_t>{1, backend::kWorkspaceArgument}));
  EXPECT_EQ(module.workspace_bytes, 512);
  expect_formula(f, [](const auto& in, int64_t i) {
    double sum = 0;
    for (int64_t k = 0; k < 10; ++k) sum += in[0].get_double(k * 64 + i);
    return sum;
  });
}

TEST(SimtKernels, EveryFunction) {
  for (const ir::Intrinsic fn : backend::all_functions()) {
    for (const ir::DType t : {ir::kF32, ir::kF64, ir::kF16, ir::kBF16}) {
      const ir::Function f = backend::function_kernel(fn, t, {1, 4});
      const std::vector<Array> args = backend::function_args(f, fn, t);
      std::vector<Array> expected = args;
      ir::interpret(f, expected);
      std::vector<Array> actual = args;
      Rng rng(1);
      ASSERT_EQ(run(bound_to_threads(f, rng), actual), kSuccess);
      SCOPED_TRACE(to_string(fn));
      backend::expect_equal(f, expected, actual, backend::function_tolerance(fn, t));
    }
  }
}

// The threads of the first half of a block wait for the others, which never come.
TEST(SimtKernels, ABarrierThatNotAllReachIsAnError) {
  const ir::Buffer out = ir::Buffer::make("out", ir::kF32, {8});
  const ir::Var tx("tx");
  const ir::Stmt store = ir::store(out, {tx}, ir::make_float(ir::kF32, 1));
  const ir::Stmt half = ir::make_if(ir::lt(tx, 4), ir::barrier());
  const ir::Function f{.name = "half",
                       .params = {out},
                       .num_inputs = 0,
                       .body = ir::make_for(tx, 0, 8, ir::ForKind::kThread,
                                            ir::block({store, half}), ir::ThreadTag::kThreadX)};
  std::vector<Array> args = {Array(ir::kF32, {8})};
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run(f, args), runtime::cuda::kLaunchFailed);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "simt: kernel half_0, block (0, 0, 0): 4 of 8 threads wait at a barrier or an exchange "
            "that the others do not reach\n");
}

}  // namespace
}  // namespace tenon::simt
