// SPDX-License-Identifier: Apache-2.0
// Texts broken at random: each is read, or refused as the user's mistake; nothing else may happen.
#include <gtest/gtest.h>

#include "fuzz/random_dag.h"
#include "te/text.h"

namespace tenon::te {
namespace {

constexpr const char* kPieces[] = {"input ",
                                   "const ",
                                   "output ",
                                   "kernel ",
                                   "sum(k: 3) ",
                                   "max(",
                                   "min(k: 2) ",
                                   "select(",
                                   "f32(",
                                   "i8(",
                                   "i64(",
                                   "exp(",
                                   "bit_not(",
                                   "shl(",
                                   "//",
                                   "%",
                                   "/",
                                   "-",
                                   "and ",
                                   "or ",
                                   "not ",
                                   "true",
                                   "inf",
                                   "nan",
                                   "0",
                                   "1",
                                   "-1",
                                   "0.0",
                                   "1e400",
                                   "9223372036854775807",
                                   "9223372036854775808",
                                   "18446744073709551616",
                                   "2147483648",
                                   "[",
                                   "]",
                                   "(",
                                   ")",
                                   ",",
                                   ":",
                                   "=",
                                   "==",
                                   "<",
                                   ">=",
                                   "\n",
                                   "#",
                                   "\"",
                                   "\\",
                                   "\"a b\"",
                                   "i",
                                   "k",
                                   "A[i]",
                                   ".",
                                   "\xff",
                                   "\t",
                                   "bool",
                                   "u64[",
                                   "any(i: 2) ",
                                   ";",
                                   "1.5e3"};

std::string mutate(std::string s, Rng& rng) {
  const auto at = [&](size_t n) {
    return static_cast<size_t>(rng.between(0, static_cast<int64_t>(n)));
  };
  for (int64_t edits = rng.chance(0.6) ? 1 : rng.between(2, 4); edits > 0; --edits) {
    const size_t p = at(s.size());
    switch (rng.between(0, 5)) {
      case 0:
        s.erase(p, at(8));
        break;
      case 1:
        s.insert(p, kPieces[at(std::size(kPieces) - 1)]);
        break;
      case 2:
        if (p < s.size()) {
          s[p] = static_cast<char>(rng.between(1, 255));
        }
        break;
      case 3:
        s.insert(p, s.substr(at(s.size()), at(20)));
        break;
      case 4:
        s.resize(p);
        break;
      default: {
        const size_t digit = s.find_first_of("0123456789", p);
        if (digit != std::string::npos) {
          s.replace(digit, 1, kPieces[22 + at(10)]);
        }
      }
    }
  }
  return s;
}

TEST(TextFuzz, GarbageIsReadOrRefused) {
  constexpr uint64_t kSeed = 77;
  constexpr uint64_t kRuns = 20000;
  int read = 0;
  for (uint64_t seed = kSeed; seed < kSeed + kRuns; ++seed) {
    Rng rng(seed);
    fuzz::RandomDagOptions options;
    options.max_steps = 2;
    const std::string text = mutate(to_text(fuzz::random_dag(rng, options)), rng);
    try {
      const ComputeDag dag = parse(text);
      ++read;
      const std::string printed = to_text(dag);
      ASSERT_EQ(parse(printed).structural_hash(), dag.structural_hash()) << "seed " << seed << "\n"
                                                                         << text << "\nprinted:\n"
                                                                         << printed;
    } catch (const UserError& e) {
      ASSERT_GT(e.line(), 0) << "seed " << seed << ": " << e.what() << "\n" << text;
    } catch (const std::exception& e) {
      FAIL() << "seed " << seed << ": " << e.what() << "\n" << text;
    }
  }
  EXPECT_GT(read, 500);
}

}  // namespace
}  // namespace tenon::te
