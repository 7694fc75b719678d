// SPDX-License-Identifier: Apache-2.0
// Random programs whose loops are bound to threads give, on SIMT, what the interpreter gives for them as they were, bit
// for bit; and all of them become PTX, which ptxas takes where it is found.
//   simt_fuzz_test [--seed=N] [--runs=N]
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "backend/backend.h"
#include "backend/harness.h"
#include "backend/random_program.h"
#include "ir/print.h"
#include "simt/harness.h"

namespace tenon::simt {
namespace {

struct Options {
  uint64_t seed = 1;
  uint64_t runs = 200;
};

// Every so many programs go through ptxas too, which takes a hundred times as long.
constexpr uint64_t kAssembledEvery = 10;

class FuzzTest : public ::testing::Test {
 public:
  explicit FuzzTest(Options options) : options_(options) {}
  void TestBody() override {
    const auto ptx = backend::make_compiler(gpu("sm_90"));
    for (uint64_t seed = options_.seed; seed < options_.seed + options_.runs && !HasFailure();
         ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Rng rng(seed);
      const ir::Function f = backend::RandomProgram(rng).make();
      const ir::Function on_gpu = bound_to_threads(f, rng);
      SCOPED_TRACE(ir::to_string(on_gpu));
      const std::vector<ir::Array> args = backend::small_args(f, rng, 0, 8);
      std::vector<ir::Array> expected = args;
      ir::interpret(f, expected);
      std::vector<ir::Array> actual = args;
      ASSERT_EQ(run(on_gpu, actual), runtime::cuda::kSuccess);
      backend::expect_equal(f, expected, actual, {});
      const bool assembled = seed % kAssembledEvery == 0;
      const auto kind = assembled ? backend::Emit::kObject : backend::Emit::kAssembly;
      EXPECT_FALSE(ptx->emit(on_gpu, kind).bytes.empty());
    }
  }

 private:
  Options options_;
};

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg.starts_with("--seed=")) {
      o.seed = std::strtoull(argv[i] + 7, nullptr, 10);
    } else if (arg.starts_with("--runs=")) {
      o.runs = std::strtoull(argv[i] + 7, nullptr, 10);
    }
  }
  return o;
}

}  // namespace
}  // namespace tenon::simt

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const auto options = tenon::simt::parse(argc, argv);
  ::testing::RegisterTest("SimtFuzz", "RandomPrograms", nullptr, nullptr, __FILE__, __LINE__,
                          [=]() -> ::testing::Test* { return new tenon::simt::FuzzTest(options); });
  return RUN_ALL_TESTS();
}
