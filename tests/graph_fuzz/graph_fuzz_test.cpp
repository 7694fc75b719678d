// SPDX-License-Identifier: Apache-2.0
// Random valid models, compiled, against the oracle that interprets them node by node.
//   graph_fuzz_test [--seed=N] [--runs=N] [--failures=N] [--jobs=N] [--special=SHARE] [--out=FOLDER] [--dump=FOLDER]
// Everything about run i follows from seed + i: --seed=THAT --runs=1 repeats it. A failure is shrunk and written to
// OUT/graph-SEED as a case for tests/corpus/graphs. --dump writes the cases of all seeds for peer.py, and runs none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>

#include "graph_fuzz/case_files.h"
#include "graph_fuzz/crew.h"
#include "graph_fuzz/rows.h"
#include "graph_fuzz/shrink_case.h"

namespace tenon::graph_fuzz {
namespace {

struct Options {
  uint64_t seed = 1;
  int64_t runs = 100;
  int64_t failures = 5;  // stop after so many
  double special = Settings().special;
  Limits limits;
  std::string out = ".", dump;
  bool child = false;
};
Options options;  // set by main

// Failures of the same kind differ in names and numbers only.
std::string kind_of(const Verdict& v) {
  std::string text = fmt::format("{} ", to_string(v.status));
  for (const char c : v.reason.substr(0, 160)) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) text += c;
  }
  if (v.status != Status::kWrong) return text;
  return "wrong " + v.reason.substr(0, v.reason.find(':'));
}

void write_smallest(uint64_t seed, const Verdict& failure) {
  const std::string folder = fmt::format("{}/graph-{}", options.out, seed);
  Case c = draw_case({seed, options.special});
  Judge judge(options.limits.seconds, options.special);
  const auto fails = [&](const Case& smaller) {
    write_case(folder, smaller);
    const Verdict v = judge.folder(folder, seed);
    return v.status == failure.status &&
           (v.status == Status::kWrong || kind_of(v) == kind_of(failure));
  };
  if (fails(c)) c = shrink_case(std::move(c), fails);
  write_case(folder, c);
}

void report(uint64_t seed, const Verdict& v) {
  std::string smallest = "the draw was refused: nothing to write";
  if (v.nodes > 0 || v.status == Status::kCrashed || v.status == Status::kHung) {
    try {
      write_smallest(seed, v);
      smallest = fmt::format("{}/graph-{}", options.out, seed);
    } catch (const std::exception& e) {
      smallest = e.what();
    }
  }
  ADD_FAILURE() << "--seed=" << seed << " --runs=1 (" << to_string(draw_route(seed))
                << "): " << to_string(v.status) << ": " << v.reason << "\n  shrunk: " << smallest;
}

struct Totals {
  int64_t runs = 0, failures = 0, nodes = 0, elements = 0, disturbed = 0, open = 0;
  std::map<std::string, int64_t> kinds;
};

TEST(GraphFuzz, CompiledGraphsGiveTheNumbersOfTheirNodes) {
  if (!options.dump.empty()) GTEST_SKIP() << "--dump writes cases and runs none";
  Totals t;
  const auto start = std::chrono::steady_clock::now();
  judge_seeds(options.seed, options.runs, options.limits, options.special,
              [&](uint64_t seed, const Verdict& v) {
                ++t.runs;
                t.nodes += v.nodes;
                t.elements += v.elements;
                t.disturbed += v.disturbed;
                t.open += v.open;
                if (v.status == Status::kRight) return true;
                if (t.kinds[kind_of(v)]++ < 3) report(seed, v);
                return ++t.failures < options.failures;
              });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print(
      "seed {}: {} graphs, {} nodes, {} failures, {:.1f} s; of {} elements {} needed disturbed "
      "runs and {} stayed open\n",
      options.seed, t.runs, t.nodes, t.failures, seconds, t.elements, t.disturbed, t.open);
  EXPECT_EQ(t.failures, 0);
  EXPECT_LE(t.open * 100, t.elements) << "the comparison says too little";
}

TEST(GraphFuzz, TheTableHasAboutAHundredAndFiftyOperators) { EXPECT_GE(count_operators(), 145U); }

TEST(GraphFuzz, DumpsCases) {
  if (options.dump.empty()) GTEST_SKIP() << "without --dump=FOLDER";
  for (int64_t i = 0; i < options.runs; ++i) {
    const uint64_t seed = options.seed + static_cast<uint64_t>(i);
    try {
      const Case c = draw_case({seed, options.special});
      EXPECT_EQ(invalid(c), "") << seed;
      write_case_with_values(fmt::format("{}/{}", options.dump, seed), c);
    } catch (const std::exception& e) {
      ADD_FAILURE() << seed << ": " << e.what();
    }
  }
}

}  // namespace
}  // namespace tenon::graph_fuzz

int main(int argc, char** argv) {
  auto& o = tenon::graph_fuzz::options;
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const std::string value = arg.substr(std::min(arg.find('=') + 1, arg.size()));
    if (arg.rfind("--seed=", 0) == 0) o.seed = std::strtoull(value.c_str(), nullptr, 10);
    if (arg.rfind("--runs=", 0) == 0) o.runs = std::strtoll(value.c_str(), nullptr, 10);
    if (arg.rfind("--failures=", 0) == 0) o.failures = std::strtoll(value.c_str(), nullptr, 10);
    if (arg.rfind("--jobs=", 0) == 0) o.limits.jobs = std::atoi(value.c_str());
    if (arg.rfind("--special=", 0) == 0) o.special = std::strtod(value.c_str(), nullptr);
    if (arg.rfind("--out=", 0) == 0) o.out = value;
    if (arg.rfind("--dump=", 0) == 0) o.dump = value;
    if (arg == "--child") o.child = true;
  }
  if (o.child) return tenon::graph_fuzz::serve(o.special);
  return RUN_ALL_TESTS();
}
