// SPDX-License-Identifier: Apache-2.0
// Random programs whose loops are bound to threads give, on SIMT, what the interpreter gives for them as they were, bit
// for bit; and all of them become PTX, which ptxas takes where it is found.
//   simt_fuzz_test [--seed=N] [--runs=N]
#include <gtest/gtest.h>

#include <vector>

#include "backend/backend.h"
#include "backend/harness.h"
#include "backend/program_fuzzer.h"
#include "ir/interp.h"
#include "ir/print.h"
#include "simt/harness.h"

namespace tenon::simt {
namespace {

// Every so many programs go through ptxas too, which takes a hundred times as long.
constexpr uint64_t kAssembledEvery = 10;

void check(const backend::RandomCase& c, backend::Compiler& ptx) {
  const ir::Function on_gpu = bound_to_threads(c.f, c.rng);
  SCOPED_TRACE(ir::to_string(on_gpu));
  const std::vector<ir::Array> args = backend::small_args(c.f, c.rng, 0, 8);
  std::vector<ir::Array> expected = args;
  ir::interpret(c.f, expected);
  std::vector<ir::Array> actual = args;
  ASSERT_EQ(run(on_gpu, actual), runtime::cuda::kSuccess);
  backend::expect_equal(c.f, expected, actual, {});
  const bool assembled = c.seed % kAssembledEvery == 0;
  const auto kind = assembled ? backend::Emit::kObject : backend::Emit::kAssembly;
  EXPECT_FALSE(ptx.emit(on_gpu, kind).bytes.empty());
}

}  // namespace
}  // namespace tenon::simt

int main(int argc, char** argv) {
  using namespace tenon;  // NOLINT(google-build-using-namespace): the test is this function
  const auto ptx = backend::make_compiler(simt::gpu("sm_90"));
  return backend::run_program_fuzzer(argc, argv, {"SimtFuzz", 200},
                                     [&](const backend::RandomCase& c) { simt::check(c, *ptx); });
}
