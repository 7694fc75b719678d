// SPDX-License-Identifier: Apache-2.0
// The rows of a trace: small ones by hand, the sketch against bound inference, and how often two programs look alike.
#include "cost/tokens.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "schedule/bounds.h"
#include "search/space/spaces.h"
#include "search/tasks.h"
#include "support/check.h"
#include "support/parallel.h"
#include "support/rng.h"
#include "te/text.h"

namespace tenon::cost {
namespace {

using schedule::Trace;

task::Task task_of_text(const std::string& te, const std::string& target = "x86-64-v4 cores=2") {
  const auto dag = std::make_shared<const te::ComputeDag>(te::parse(te));
  return task::make_task(dag, task::parse_edges("", *dag),
                         std::make_shared<const target::Target>(target::parse_target(target)));
}

Trace parse(const task::Task& t, const std::string& text) {
  return schedule::parse_trace(text, schedule::State(t.dag, t.target));
}

constexpr uint32_t kFlags = kTokenKinds, kRoles = kFlags + 8, kMarks = kRoles + kAxisRoles + 1,
                   kNumbers = kMarks + kTokenMarks;

// One row, with its columns by name.
struct Token {
  const float* at;
  bool is(size_t kind) const { return at[kind] == 1; }
  bool flag(StageFlag f) const {
    size_t bit = 0;
    while ((1U << bit) != f) ++bit;
    return at[kFlags + bit] == 1;
  }
  bool role(AxisRole r) const { return at[kRoles + static_cast<size_t>(r)] == 1; }
  bool mark(size_t m) const { return at[kMarks + m] == 1; }
  float number(size_t n) const { return at[kNumbers + n]; }
};
std::vector<Token> of_kind(const Row& row, size_t kind) {
  std::vector<Token> out;
  for (size_t r = 0; r < row.rows(); ++r) {
    const Token t{row.values.data() + r * row.width};
    if (t.is(kind)) out.push_back(t);
  }
  return out;
}
float logarithm(double v) { return static_cast<float>(std::log2(1 + v) / 8); }

constexpr const char* kMatmul = R"(
input A: f32[24, 40]
const B: f32[40, 56]
C[i: 24, j: 56] = sum(k: 40) A[i, k] * B[k, j]
D[i: 24, j: 56] = max(C[i, j], 0.0)
output D
)";

// D in tiles of 6 by 32, of which the second has a tail; C in a tile, the sum outside of it.
constexpr const char* kTiled = R"(
split D i [6]
split D j [2, 16]
reorder D [i.0, j.0, i.1, j.1, j.2]
vectorize D j.2
parallel D i.0
compute_at C D j.0
split C j [16]
reorder C [k, i, j.0, j.1]
vectorize C j.1
unroll C i
pragma_unroll C 64
)";

TEST(Tokens, OfATiledMatmulByHand) {
  const task::Task t = task_of_text(kMatmul);
  const Row row = *Tokens().encode(t, parse(t, kTiled));
  ASSERT_EQ(row.width, kTokenColumns);
  const auto nest = of_kind(row, kNestToken);  // j.1 j.0 i k of C, then j.0 i.0 of D
  struct Loop {
    double length;
    AxisRole role;
    size_t mark;  // 8: none
    double inside;
  };
  const Loop loops[] = {{16, AxisRole::kColumns, 1, 1},   {2, AxisRole::kColumns, 8, 16},
                        {6, AxisRole::kRows, 2, 32},      {40, AxisRole::kDepth, 8, 192},
                        {2, AxisRole::kColumns, 8, 7680}, {4, AxisRole::kRows, 0, 15360}};
  ASSERT_EQ(nest.size(), std::size(loops));
  const double all = 4 * 15360;
  for (size_t i = 0; i < nest.size(); ++i) {
    const Loop& l = loops[i];
    EXPECT_FLOAT_EQ(nest[i].number(0), logarithm(l.length)) << i;
    EXPECT_TRUE(nest[i].role(l.role)) << i;
    for (size_t m = 0; m < kTokenMarks; ++m) EXPECT_EQ(nest[i].mark(m), m == l.mark) << i;
    EXPECT_NEAR(nest[i].number(3), std::log2(l.inside) / 8, 1e-5) << i;
    EXPECT_NEAR(nest[i].number(4), std::log2(all / l.inside / l.length) / 8, 1e-5) << i;
    EXPECT_EQ(nest[i].number(11), i < 4 ? 0 : 0.5F);
    EXPECT_EQ(nest[i].flag(kIsAnchor), i < 4);
  }
  EXPECT_NEAR(nest[4].number(1), std::log2(64.0 / 56), 1e-6);  // what the tail wastes
  EXPECT_NEAR(nest[3].number(5 + static_cast<size_t>(AxisRole::kColumns)), 5.0 / 8, 1e-6);
  const auto axes = of_kind(row, kAxisToken);
  ASSERT_EQ(axes.size(), 3U);
  EXPECT_EQ(axes[1].number(2), 0.5F);  // 56 = 3 vectors of 16 and a half
  const auto limit = of_kind(row, 7);  // pragma_unroll
  ASSERT_EQ(limit.size(), 1U);
  EXPECT_FLOAT_EQ(limit[0].number(6), logarithm(64));
  const auto place = of_kind(row, 9);  // compute_at
  ASSERT_EQ(place.size(), 1U);
  EXPECT_FLOAT_EQ(place[0].number(0), logarithm(2));
  EXPECT_EQ(of_kind(row, kTensorToken).size(), 4U);
  EXPECT_EQ(of_kind(row, kTaskToken).size(), 1U);
  EXPECT_EQ(of_kind(row, 1).size(), 0U);           // loops show what split did
  EXPECT_EQ(of_kind(row, kLoopToken).size(), 3U);  // of D, inside of where C stands
}

TEST(Tokens, TellWhatTheAxesOfAConvolutionAre) {
  const task::Task t = task_of_text(R"(
input X: f32[1, 8, 17, 17]
const W: f32[12, 8, 3, 3]
Y[n: 1, k: 12, y: 8, x: 8] = sum(c: 8, r: 3, s: 3) X[n, c, y * 2 + r, x * 2 + s] * W[k, c, r, s]
output Y
)");
  const Row row = *Tokens().encode(t, {});
  const auto axes = of_kind(row, kAxisToken);
  const AxisRole roles[] = {AxisRole::kColumns, AxisRole::kWindow, AxisRole::kWindow,
                            AxisRole::kDepth,   AxisRole::kTap,    AxisRole::kTap};
  ASSERT_EQ(axes.size(), std::size(roles));  // n has one element and no row
  for (size_t i = 0; i < axes.size(); ++i) EXPECT_TRUE(axes[i].role(roles[i])) << i;
  EXPECT_FLOAT_EQ(axes[1].number(1), logarithm(2));
}

TEST(Tokens, LayoutsShowInTensorsAndLoops) {
  const task::Task t = task_of_text(kMatmul);
  const Tokens tokens;
  const Row plain = *tokens.encode(t, {});
  const Row blocked =
      *tokens.encode(t, parse(t, "layout_split B 1 [4, 14]\nlayout_reorder B [1, 0, 2]"));
  const auto before = of_kind(plain, kTensorToken), after = of_kind(blocked, kTensorToken);
  ASSERT_EQ(before.size(), after.size());
  EXPECT_FLOAT_EQ(before[1].number(3), logarithm(56));
  EXPECT_FLOAT_EQ(after[1].number(3), logarithm(14));
  EXPECT_FLOAT_EQ(after[1].number(5), logarithm(40));
  EXPECT_TRUE(after[1].role(AxisRole::kColumns));
}

TEST(Tokens, AreTheSameWhoeverAsks) {
  const task::Task t = task_of_text(kMatmul);
  const Trace trace = parse(t, kTiled);
  const Tokens shared;
  std::vector<std::vector<float>> seen(8);
  for_each_parallel(seen.size(), 4, [&](size_t i) { seen[i] = shared.encode(t, trace)->values; });
  for (const auto& values : seen) EXPECT_EQ(values, Tokens().encode(t, trace)->values);
}

TEST(Tokens, AreCutWhereThereAreMany) {
  const task::Task t = task_of_text(kMatmul);
  Trace trace = parse(t, kTiled);
  for (int i = 0; i < 100; ++i) trace.push_back(schedule::PragmaUnroll{{2}, i});
  const Row row = *Tokens().encode(t, trace);
  EXPECT_EQ(row.rows(), kTokenRows);
  EXPECT_EQ(of_kind(row, kNestToken).size(), 6U);
}

// Ids that are not there are refused; nothing else may happen.
TEST(Tokens, RefuseStagesAndLoopsThatAreNotThere) {
  const task::Task t = task_of_text(kMatmul);
  const Trace good = parse(t, kTiled);
  const Tokens tokens;
  Rng rng(5);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string json = schedule::to_json(good);
    for (int change = 0; change < 3; ++change) {
      const auto at = static_cast<size_t>(rng.between(0, static_cast<int64_t>(json.size()) - 1));
      if (json[at] >= '0' && json[at] <= '9') json[at] = static_cast<char>('0' + rng.between(0, 9));
    }
    try {
      refused += tokens.encode(t, schedule::trace_from_json(json)) ? 0 : 1;
    } catch (const UserError&) {  // not a trace at all
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_FALSE(tokens.encode(t, {schedule::Split{{77}, {0}, {2}, false}}));
  EXPECT_FALSE(tokens.encode(t, {schedule::Variant{{77}, schedule::Algorithm::kStrassen}}));
}

// ---- over spaces -----------------------------------------------------------------------------------

struct Drawn {
  size_t programs = 0, alike = 0;  // those that look like an earlier one, with another trace
  size_t loops = 0, right = 0;     // of computed stages; as long as bound inference says
};

void count_loops(const task::Task& t, const space::Program& p, Drawn& out) {
  const size_t variant = [&] {
    size_t n = 0;
    for (size_t i = 0; i < p.trace.size(); ++i) {
      if (std::holds_alternative<schedule::Variant>(p.trace[i])) n = i + 1;
    }
    return n;
  }();
  const Trace first(p.trace.begin(), p.trace.begin() + static_cast<std::ptrdiff_t>(variant));
  const auto state = schedule::replay(schedule::State(t.dag, t.target), first);
  Sketch sketch = sketch_of(*state, roles_of(*state));
  for (size_t i = variant; i < p.trace.size(); ++i) ASSERT_TRUE(sketch.apply(p.trace[i]));
  sketch.settle();
  const auto bounds = schedule::infer_bounds(p.state);
  ASSERT_EQ(sketch.stages.size(), p.state.size());
  for (size_t i = 0; i < sketch.stages.size(); ++i) {
    const schedule::Stage& st = p.state.stage(static_cast<schedule::StageId>(i));
    if (!sketch.stages[i].is_computed()) continue;
    ASSERT_EQ(sketch.stages[i].leaves, st.leaves) << p.state.stage(static_cast<int32_t>(i)).name;
    for (const int32_t l : st.leaves) {
      ++out.loops;
      out.right +=
          sketch.stages[i].loop(l).length == bounds->stages[i].extents[static_cast<size_t>(l)] ? 1
                                                                                               : 0;
    }
  }
}

Drawn draw(const task::Task& t, const std::string& space_name, size_t n, uint64_t seed) {
  Drawn out;
  const auto space = search::make_space(space_name, t);
  if (space == nullptr) return out;
  Rng rng(seed);
  const Tokens tokens;
  std::set<uint64_t> traces;
  std::set<std::vector<float>> rows;
  for (size_t i = 0; i < n; ++i) {
    const auto p = space->sample(rng);
    if (!p || !traces.insert(p->hash).second) continue;
    const auto row = tokens.encode(t, p->trace);
    EXPECT_TRUE(row) << schedule::to_json(p->trace);
    if (!row) continue;
    ++out.programs;
    out.alike += rows.insert(row->values).second ? 0 : 1;
    count_loops(t, *p, out);
  }
  return out;
}

// Tasks of the sizes that networks have.
std::vector<search::NamedTask> real_tasks() {
  const auto conv = [](int64_t c, int64_t k, int64_t size, int64_t kernel, int64_t stride) {
    return [=](te::Builder& b) {
      const auto x = b.input("X", ir::kF32, {1, c, size, size});
      const auto w = b.constant("W", ir::kF32, {k, c, kernel, kernel});
      const int64_t pad = kernel / 2;
      b.output(te::relu(b, "R",
                        te::conv(b, "Y", x, w, {{stride, stride}, {pad, pad}, {pad, pad}, {}, 1})));
    };
  };
  const auto product = [](int64_t m, int64_t n, int64_t k) {
    return [=](te::Builder& b) {
      const auto a = b.input("A", ir::kF32, {m, k});
      b.output(te::matmul(b, "C", a, b.constant("W", ir::kF32, {k, n})));
    };
  };
  const char* target = "x86-64-v4 cores=2";
  return {{"conv3x3", search::make_task(conv(64, 128, 28, 3, 1), target)},
          {"conv1x1", search::make_task(conv(96, 256, 14, 1, 1), target)},
          {"conv3x3s2", search::make_task(conv(32, 48, 56, 3, 2), target)},
          {"product", search::make_task(product(128, 768, 768), target)}};
}

TEST(TokensOfSpaces, ProgramsThatDifferLookDifferent) {
  Drawn all;
  const auto add = [&](const search::NamedTask& t, const char* space, size_t n) {
    const Drawn d = draw(t.task, space, n, 7);
    all.programs += d.programs;
    all.alike += d.alike;
    all.loops += d.loops;
    all.right += d.right;
    RecordProperty(t.name + " " + space,
                   std::to_string(d.alike) + " of " + std::to_string(d.programs));
  };
  for (const auto& t : search::small_tasks()) add(t, "joint", 40);
  for (const auto& t : real_tasks()) {
    add(t, "joint", 150);
    add(t, "sketch", 100);
  }
  const double alike = static_cast<double>(all.alike) / static_cast<double>(all.programs);
  const double right = static_cast<double>(all.right) / static_cast<double>(all.loops);
  RecordProperty("alike", std::to_string(alike));
  RecordProperty("lengths", std::to_string(right));
  EXPECT_GT(all.programs, 1200U);
  EXPECT_LT(alike, 0.01) << all.alike << " of " << all.programs;
  EXPECT_GT(right, 0.9) << all.right << " of " << all.loops;
}

}  // namespace
}  // namespace tenon::cost
