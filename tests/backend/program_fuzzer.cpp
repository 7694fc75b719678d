// SPDX-License-Identifier: Apache-2.0
#include "backend/program_fuzzer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "backend/random_program.h"

namespace tenon::backend {
namespace {

using Check = std::function<void(const RandomCase&)>;

struct Seeds {
  uint64_t first = 1;
  uint64_t runs;
};

class FuzzTest : public ::testing::Test {
 public:
  FuzzTest(Seeds seeds, Check check) : seeds_(seeds), check_(std::move(check)) {}
  void TestBody() override {
    const uint64_t end = seeds_.first + seeds_.runs;
    for (uint64_t seed = seeds_.first; seed < end && !HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Rng rng(seed);
      const ir::Function f = RandomProgram(rng).make();
      check_({seed, f, rng});
    }
  }

 private:
  Seeds seeds_;
  Check check_;
};

Seeds parse(int argc, char** argv, uint64_t runs) {
  Seeds s{.runs = runs};
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg.starts_with("--seed=")) {
      s.first = std::strtoull(argv[i] + 7, nullptr, 10);
    } else if (arg.starts_with("--runs=")) {
      s.runs = std::strtoull(argv[i] + 7, nullptr, 10);
    }
  }
  return s;
}

}  // namespace

int run_program_fuzzer(int argc, char** argv, const ProgramFuzzer& fuzzer, const Check& check) {
  ::testing::InitGoogleTest(&argc, argv);
  const Seeds seeds = parse(argc, argv, fuzzer.runs);
  ::testing::RegisterTest(fuzzer.name, "RandomPrograms", nullptr, nullptr, __FILE__, __LINE__,
                          [=]() -> ::testing::Test* { return new FuzzTest(seeds, check); });
  return RUN_ALL_TESTS();
}

}  // namespace tenon::backend
