// SPDX-License-Identifier: Apache-2.0
// The runner, and what the pipeline as a whole promises: the answer after every pass, no test per element in the long
// part of a loop that does not divide, and nothing left for the backend to expand.
#include <gtest/gtest.h>

#include "fuzz/random_dag.h"
#include "ir/build.h"
#include "ir/print.h"
#include "ir/visit.h"
#include "lower/lower.h"
#include "schedule/trace.h"
#include "te/text.h"

namespace tenon::lower {
namespace {

const char* const kCopy = R"(
input A: f32[49]
C[i: 49] = A[i] * 2.0
output C
)";
const char* const kMatmul = R"(
input A: f32[49, 7]
const B: f32[7, 24]
C[i: 49, j: 24] = sum(k: 7) A[i, k] * B[k, j]
output C
)";
const char* const kPadded = R"(
input X: f32[3, 9]
const W: f32[3, 3]
P[c: 3, x: 11] = select(1 <= x and x < 10, X[c, x - 1], 0.0)
Y[x: 9] = sum(c: 3, s: 3) P[c, x + s] * W[c, s]
output Y
)";
const char* const kTile =
    "cache_write C register\nsplit C i [4] parts\nsplit C j [16]\nreorder C [j.0, i.0, i.1, j.1]\n"
    "unroll C i.1\nvectorize C j.1\ncompute_at C.cache C i.0\nreorder C.cache [k, i, j]\n"
    "unroll C.cache i\nvectorize C.cache j\n";

schedule::State scheduled(const std::string& te, const std::string& trace) {
  const auto dag = std::make_shared<const te::ComputeDag>(te::parse(te));
  const auto target = std::make_shared<target::Target>(target::parse_target("x86-64-v4"));
  const schedule::State initial(dag, target);
  return *schedule::replay(initial, schedule::parse_trace(trace, initial));
}

struct Program {
  const char* te;
  const char* trace;
};

const Program kPrograms[] = {
    {kCopy, "split C i [16]\nvectorize C i.1\n"},
    {kCopy, "split C i [5] parts\nunroll C i.1\nparallel C i.0\n"},
    {kMatmul, kTile},
    {kPadded, "compute_inline P\nreorder Y [c, s, x]\nunroll Y s\n"},
    {kPadded,
     "compute_inline P\nlayout_pad X 1 1 1\nsplit Y x [4]\nreorder Y [x.0, c, s, x.1]\nvectorize Y "
     "x.1\n"},
    {kPadded, "split Y x [4]\ncompute_at P Y x.0\nvectorize P x\n"},
};

TEST(Pipeline, KeepsTheAnswerAfterEveryPass) {
  for (const Program& p : kPrograms) {
    const schedule::State s = scheduled(p.te, p.trace);
    Rng rng(7);
    const auto inputs = fuzz::random_inputs(s.dag(), rng);
    const auto expected = te::evaluate(s.dag(), inputs);
    RunOptions options;
    options.verify = true;
    size_t passes = 0;
    options.on_pass = [&](int, std::string_view name, const ir::Function& f, bool) {
      ++passes;
      EXPECT_EQ(fuzz::compare(expected, interpret(s, f, inputs), s.dag()), "")
          << name << "\n"
          << p.trace << ir::to_string(f);
    };
    ASSERT_TRUE(lower(s, options)) << p.trace;
    EXPECT_EQ(passes, pipeline().size() + 1);
  }
}

// Ifs and predicates inside loops that run more than twice.
int tests_in_long_loops(const ir::Stmt& s) {
  int tests = 0;
  ir::visit(s, [&](const ir::Stmt& x) {
    const auto* loop = x.as<ir::For>();
    if (loop == nullptr || loop->loop_kind == ir::ForKind::kParallel) return;
    if (ir::const_int(loop->extent).value_or(3) < 3) return;
    ir::visit(loop->body, [&](const ir::Stmt& inner) {
      const auto* store = inner.as<ir::Store>();
      tests += inner.as<ir::If>() != nullptr || (store != nullptr && store->predicate.defined());
    });
  });
  return tests;
}

TEST(Pipeline, TestsNothingPerElement) {
  for (const Program& p : kPrograms) {
    const auto f = lower(scheduled(p.te, p.trace));
    ASSERT_TRUE(f);
    EXPECT_EQ(tests_in_long_loops(f->body), 0) << p.trace << ir::to_string(*f);
  }
}

TEST(Pipeline, LeavesNothingToExpand) {
  for (const Program& p : kPrograms) {
    const auto f = lower(scheduled(p.te, p.trace));
    ir::visit(f->body, [&](const ir::Stmt& x) {
      const auto* loop = x.as<ir::For>();
      if (loop == nullptr) return;
      EXPECT_NE(loop->loop_kind, ir::ForKind::kVectorized);
      EXPECT_NE(loop->loop_kind, ir::ForKind::kUnrolled);
    });
  }
}

TEST(Runner, CallsTimesSkipsAndStops) {
  const schedule::State s = scheduled(kMatmul, kTile);
  std::vector<std::string> seen;
  std::vector<PassTime> times;
  RunOptions options;
  options.times = &times;
  options.skip = {"hoist_guards"};
  options.stop_after = "tighten_loops";
  options.on_pass = [&](int, std::string_view name, const ir::Function&, bool) {
    seen.emplace_back(name);
  };
  ASSERT_TRUE(lower(s, options));
  EXPECT_EQ(seen, (std::vector<std::string>{"emit_loops", "guard_reductions", "simplify_loops",
                                            "tighten_loops"}));
  ASSERT_EQ(times.size(), 3U);
  for (const PassTime& t : times) EXPECT_GE(t.seconds, 0);
}

TEST(Runner, RefusesNamesOfNoPass) {
  const schedule::State s = scheduled(kMatmul, "");
  for (const bool skip : {true, false}) {
    RunOptions options;
    (skip ? options.skip.emplace_back() : options.stop_after) = "no_such_pass";
    try {
      (void)lower(s, options);
      FAIL() << "accepted";
    } catch (const UserError& e) {
      EXPECT_NE(std::string(e.what()).find("there is no pass 'no_such_pass'"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tenon::lower
