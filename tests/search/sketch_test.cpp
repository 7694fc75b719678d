// SPDX-License-Identifier: Apache-2.0
#include "search/sketch/sketch.h"

#include <gtest/gtest.h>

#include "search/programs.h"
#include "search/space/spaces.h"
#include "search/strategy/mutation.h"
#include "search/tasks.h"

namespace tenon::search {
namespace {

using te::Builder;

struct Count {
  const char* name;
  size_t sketches;
  Build build;
};
void PrintTo(const Count& c, std::ostream* out) { *out << c.name; }

te::Tensor product(Builder& b, const char* name, const te::Tensor& a, std::vector<int64_t> w) {
  return te::matmul(b, name, a, b.input(std::string(name) + "w", ir::kF32, std::move(w)));
}

void conv_bn_relu(Builder& b) {
  const auto x = b.input("X", ir::kF32, {1, 64, 56, 56});
  const auto w = b.constant("W", ir::kF32, {64, 64, 3, 3});
  const auto scale = b.constant("G", ir::kF32, {64, 1, 1});
  const auto shift = b.constant("H", ir::kF32, {64, 1, 1});
  const auto y = te::conv(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, 1});
  const auto s = te::elementwise(b, "S", {y, scale}, [](auto v) { return v[0] * v[1]; });
  const auto t = te::elementwise(b, "T", {s, shift}, [](auto v) { return v[0] + v[1]; });
  b.output(te::relu(b, "R", t));
}

std::vector<Count> counts() {
  const auto matmul = [](int64_t m, int64_t n, int64_t k) {
    return [=](Builder& b) { b.output(product(b, "C", b.input("A", ir::kF32, {m, k}), {k, n})); };
  };
  const auto reduction = [](std::vector<int64_t> shape, std::vector<int64_t> dims) {
    return [=](Builder& b) {
      const auto x = b.input("X", ir::kF32, shape);
      b.output(te::reduce_dims(b, "Y", x, ir::BinaryOp::kMin, dims, false));
    };
  };
  const auto softmax = [](std::vector<int64_t> shape) {
    return [=](Builder& b) { b.output(te::softmax(b, "Y", b.input("X", ir::kF32, shape))); };
  };
  return {
      {"matmul", 3, matmul(512, 512, 512)},
      {"deep_matmul", 5, matmul(8, 8, 512)},
      {"two_matmuls", 9,
       [](Builder& b) {
         const auto c = product(b, "C", b.input("A", ir::kF32, {512, 512}), {512, 512});
         b.output(product(b, "D", c, {512, 512}));
       }},
      {"conv_bn_relu", 3, conv_bn_relu},
      {"max_pool", 1,
       [](Builder& b) {
         const auto x = b.input("X", ir::kF32, {1, 56, 56, 512});
         b.output(te::pool(b, "Y", x, te::Pool::kMax, {2, 2}, {{1, 1}, {1, 1}, {1, 1}, {}, 1}));
       }},
      {"row_min", 3, reduction({10, 1024}, {1})},
      {"softmax_row", 9, softmax({1, 1024})},
      {"softmax_attention", 9, softmax({1, 12, 128, 128})},
      {"winograd", 3, [](Builder& b) { winograd(b, 64, 64, 64); }},
      {"full_reduction", 3, reduction({128}, {0})},
  };
}

class SketchCounts : public testing::TestWithParam<Count> {};

TEST_P(SketchCounts, AreThoseOfThePaper) {
  const task::Task t = make_task(GetParam().build);
  const auto sketches = make_sketches(t);
  EXPECT_EQ(sketches.size(), GetParam().sketches);
  for (const Sketch& s : sketches) {
    EXPECT_TRUE(schedule::replay(schedule::State(t.dag, t.target), s.trace));
    EXPECT_TRUE(task::keeps_edges(t, s.state));
  }
}
INSTANTIATE_TEST_SUITE_P(Ops, SketchCounts, testing::ValuesIn(counts()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Sketch, TextOfTheFusedProduct) {
  const task::Task t = make_task([](Builder& b) {
    b.output(product(b, "C", b.input("A", ir::kF32, {16, 8}), {8, 32}));
  });
  const auto sketches = make_sketches(t);
  ASSERT_EQ(sketches.size(), 3u);
  std::vector<std::string> texts;
  for (const Sketch& s : sketches)
    texts.push_back(schedule::to_text(s.trace, schedule::State(t.dag, t.target)));
  EXPECT_EQ(texts[0],
            "split C i [1, 1, 1]\n"
            "split C j [1, 1, 1]\n"
            "split C k [1]\n"
            "reorder C [i.0, j.0, i.1, j.1, k.0, i.2, j.2, k.1, i.3, j.3]\n");
  EXPECT_EQ(texts[2],
            "cache_write C local\n"
            "split C i [1, 1]\n"
            "split C j [1, 1]\n"
            "reorder C [i.0, j.0, i.1, j.1, i.2, j.2]\n"
            "compute_at C.cache C j.1\n"
            "split C.cache i [1]\n"
            "split C.cache j [1]\n"
            "split C.cache k [1]\n"
            "reorder C.cache [k.0, i.0, j.0, k.1, i.1, j.1]\n");
}

// The loops of the matrix are unrolled inside all others, which are split; so only products with what is not zero stay.
TEST(Sketch, ConstantMatricesAreUnrolled) {
  const task::Task t = make_task([](Builder& b) { winograd(b, 16, 16, 8); });
  for (const Sketch& s : make_sketches(t)) {
    const schedule::Stage& v = s.state.stage(s.state.find("V"));
    std::vector<std::string> loops;
    for (const schedule::LoopId l : v.leaves) loops.push_back(v.loop_name(l));
    EXPECT_EQ(loops, (std::vector<std::string>{"c.0", "p.0", "c.1", "p.1", "a", "e"}));
    for (const char* name : {"a", "e"})
      EXPECT_EQ(v.loop(v.find_loop(name)).mark, schedule::Mark::kUnroll) << name;
    const schedule::Stage& y = s.state.stage(s.state.find("Y"));
    for (const char* name : {"a", "j"})
      EXPECT_EQ(y.loop(y.find_loop(name)).mark, schedule::Mark::kUnroll) << name;
    const schedule::StageId m = s.state.find("M");
    EXPECT_TRUE(std::any_of(s.tiled.begin(), s.tiled.end(),
                            [&](const TiledStage& d) { return d.stage == m || d.host == m; }));
  }
}

// An axis that is too long to unroll, or a condition on spatial axes alone (padding), is no constant matrix.
TEST(Sketch, LongConditionsAreNotUnrolled) {
  const task::Task t = make_task([](Builder& b) {
    const auto x = b.input("X", ir::kF32, {32, 16});
    b.output(b.reduce("Y", {32}, ir::BinaryOp::kAdd, {16}, [&](auto a, auto r) {
      return ir::select(ir::lt(r[0], 9), ir::load(x, {a[0], r[0]}), ir::zero_of(ir::kF32));
    }));
  });
  for (const Sketch& s : make_sketches(t)) {
    for (const schedule::Step& step : s.trace)
      EXPECT_FALSE(std::holds_alternative<schedule::Unroll>(step));
  }
}

// Whatever the table says, a user's rule comes first.
TEST(Sketch, UserRulesComeFirst) {
  const SketchRule keep{"keep",
                        [](const Sketch& s, schedule::StageId id) {
                          return s.state.stage(id).name == "C" ? Applies::kOnly : Applies::kNo;
                        },
                        [](const Sketch& s, schedule::StageId id) {
                          return std::vector<Next>{{s, stage_before(s.state, id)}};
                        }};
  const task::Task t = make_task([](Builder& b) {
    b.output(product(b, "C", b.input("A", ir::kF32, {16, 8}), {8, 32}));
  });
  const auto sketches = make_sketches(t, std::span(&keep, 1));
  ASSERT_EQ(sketches.size(), 1u);
  EXPECT_TRUE(sketches[0].trace.empty());
}

// The rule of docs/adding/sketch-rule.md: a program whose columns are cut in tiles of 8, beside the table's own.
Applies is_product(const Sketch& s, schedule::StageId id) {
  const schedule::Stage& st = s.state.stage(id);
  const bool fits = st.output && !st.loops_touched() && st.op->reduce_axes.size() == 1 &&
                    st.op->axes.size() == 2 && st.op->axes[1].extent % 8 == 0;
  return fits ? Applies::kYes : Applies::kNo;
}
std::vector<Next> tile_by_eight(const Sketch& s, schedule::StageId id) {
  Sketch next = s;
  const schedule::StageRef stage{id};
  if (!next.add(schedule::Split{stage, {1}, {8}})) return {};  // j -> j.0 (3), j.1 (4)
  const auto rows = next.split(id, 0, 1);                      // i -> open tiles
  if (rows.empty()) return {};
  if (!next.add(schedule::Reorder{stage, {{rows[0]}, {3}, {rows[1]}, {2}, {4}}})) return {};
  const schedule::StageId before = stage_before(next.state, id);
  return {{std::move(next), before}};
}

TEST(Sketch, AUsersRuleAddsProgramsToTheSpace) {
  const SketchRule rule{"tile_by_eight", is_product, tile_by_eight};
  const task::Task t = make_task([](Builder& b) {
    b.output(product(b, "C", b.input("A", ir::kF32, {12, 8}), {8, 32}));
  });
  ASSERT_EQ(make_sketches(t).size(), 3u);
  ASSERT_EQ(make_sketches(t, std::span(&rule, 1)).size(), 4u);
  const auto space = make_sketch_space(t, std::span(&rule, 1));
  Rng rng(1);
  int drawn = 0;
  for (int i = 0; i < 60; ++i) {
    const auto c = space->sample(rng);
    if (!c) continue;
    const std::string text = schedule::to_text(c->trace, {t.dag, t.target});
    if (text.find("split C j [8]\n") != 0) continue;
    ++drawn;
    const auto changed = mutated(*space, *c, rng);
    if (changed) EXPECT_EQ(fault_of(t, *changed), "");
    const auto back = space->recognise(c->trace);
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->made, c->choices);
  }
  EXPECT_GE(drawn, 5);
}

TEST(Sketch, StagesInsideAreStoredLikeTheirNeighbours) {
  for (const NamedTask& t : small_tasks()) {
    if (t.name.find("conv_blocked ") == std::string::npos) continue;
    const auto sketches = make_sketches(t.task);
    ASSERT_EQ(sketches.size(), 3u) << t.name;
    const schedule::State& s = sketches[0].state;
    EXPECT_EQ(s.stage(s.find("Y")).buffer.shape(), (std::vector<int64_t>{1, 2, 6, 6, 8}));
    EXPECT_EQ(s.stage(s.find("Y.pad")).buffer.shape(), (std::vector<int64_t>{1, 1, 8, 8, 8}));
  }
}

}  // namespace
}  // namespace tenon::search
