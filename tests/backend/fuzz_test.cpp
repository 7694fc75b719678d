// SPDX-License-Identifier: Apache-2.0
// Random programs: compiled code gives what the interpreter gives, bit for bit, on every target
// here.
//   backend_fuzz_test [--seed=N] [--runs=N]
#include <cstdlib>
#include <string_view>

#include "backend/harness.h"
#include "backend/random_program.h"
#include "ir/verify.h"

namespace tenon::backend {
namespace {

struct Options {
  uint64_t seed = 1;
  uint64_t runs = 60;
};

class FuzzTest : public ::testing::Test {
 public:
  explicit FuzzTest(Options options) : options_(options) {}
  void TestBody() override {
    for (uint64_t seed = options_.seed; seed < options_.seed + options_.runs && !HasFailure();
         ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Rng rng(seed);
      const ir::Function f = RandomProgram(rng).make();
      ir::verify(f, ir::Dialect::kFlat);
      expect_same(f, small_args(f, rng, 0, 8));
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
}  // namespace tenon::backend

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const auto options = tenon::backend::parse(argc, argv);
  ::testing::RegisterTest(
      "BackendFuzz", "RandomPrograms", nullptr, nullptr, __FILE__, __LINE__,
      [=]() -> ::testing::Test* { return new tenon::backend::FuzzTest(options); });
  return RUN_ALL_TESTS();
}
