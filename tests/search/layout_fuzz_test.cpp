// SPDX-License-Identifier: Apache-2.0
// layout_fuzz_test [--seed=N] [--runs=N]: random convolutions and matrix products under random layouts, each as one
// random program, interpreted and sometimes compiled, against the definition: equal bit for bit, but for algorithms
// that say otherwise.
#include "search/layout_fuzz.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace tenon::search {
namespace {

struct Options {
  uint64_t seed = 1;
  int64_t runs = 200;
};
Options options;

constexpr uint64_t kCompiled = 20;  // one in so many

TEST(LayoutFuzz, ProgramsOfRandomLayoutsAreRight) {
  std::map<std::string, int> counts;
  std::map<std::string, std::unique_ptr<backend::Compiler>> compilers;
  for (uint64_t seed = options.seed;
       seed < options.seed + static_cast<uint64_t>(options.runs) && !HasFailure(); ++seed) {
    LayoutFuzz fuzz(seed, counts);
    backend::Compiler* compiler = nullptr;
    if (seed % kCompiled == 0 && target::runs_here(fuzz.target())) {
      auto& made = compilers[fuzz.target().name];
      if (!made) made = backend::make_compiler(fuzz.target());
      compiler = made.get();
    }
    EXPECT_EQ(fuzz.run_one(compiler), "");
  }
  for (const auto& [what, n] : counts) std::printf("%6d %s\n", n, what.c_str());
}

}  // namespace
}  // namespace tenon::search

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  auto& o = tenon::search::options;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const std::string value = arg.substr(std::min(arg.find('=') + 1, arg.size()));
    if (arg.rfind("--seed=", 0) == 0) o.seed = std::strtoull(value.c_str(), nullptr, 10);
    if (arg.rfind("--runs=", 0) == 0) o.runs = std::strtoll(value.c_str(), nullptr, 10);
  }
  return RUN_ALL_TESTS();
}
