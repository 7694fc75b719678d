// SPDX-License-Identifier: Apache-2.0
#include "search/layout/layout_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "search/layout_fuzz.h"
#include "search/sketch/sketch.h"
#include "search/tasks.h"
#include "te/text.h"
#include "templates/template.h"

namespace tenon::search {
namespace {

using layout::Layout;
using te::Builder;
using Point = LayoutSpace::Point;

te::ComputeDag build(const Build& f) {
  Builder b;
  f(b);
  return b.finish();
}

target::Target v4() { return target::parse_target("x86-64-v4 cores=2"); }

void conv_bias_residual_relu(Builder& b) {
  const auto x = b.input("X", ir::kF32, {1, 32, 56, 56});
  const auto w = b.constant("W", ir::kF32, {64, 32, 3, 3});
  const auto bias = b.constant("B", ir::kF32, {64, 1, 1});
  const auto s = b.input("S", ir::kF32, {1, 64, 56, 56});
  const auto y = te::conv(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, 1});
  const auto t = te::elementwise(b, "T", {y, bias}, [](auto v) { return v[0] + v[1]; });
  const auto a = te::elementwise(b, "A", {t, s}, [](auto v) { return v[0] + v[1]; });
  b.output(te::relu(b, "R", a));
}

// The value of a factor set by name; all others as in `p`.
Point with(const LayoutSpace& s, Point p, const std::map<std::string, int64_t>& values) {
  for (const auto& [name, value] : values) {
    const auto it = std::find_if(s.factors().begin(), s.factors().end(),
                                 [&, n = name](const LayoutFactor& f) { return f.name == n; });
    EXPECT_NE(it, s.factors().end()) << name;
    p[static_cast<size_t>(it - s.factors().begin())] = value;
  }
  return p;
}

std::vector<std::string> names(const LayoutSpace& s) {
  std::vector<std::string> out;
  for (const LayoutFactor& f : s.factors()) out.push_back(f.name);
  return out;
}

std::string stored(const LayoutSpace& s, const Point& p, const std::string& tensor) {
  const auto edges = s.edges(p);
  if (!edges) return std::string(illegal_name(edges.illegal().code));
  return layout::to_string(edges->at(tensor));
}

TEST(LayoutSpace, FactorsOfAConvolution) {
  const auto s = make_layout_space(build(conv_bias_residual_relu), v4());
  ASSERT_TRUE(s);
  EXPECT_EQ(names(*s), (std::vector<std::string>{"h_t", "w_t", "o_t", "i_t", "x_t"}));
  EXPECT_EQ(s->factors()[0].choices, (std::vector<int64_t>{1, 2, 4, 7, 8, 14, 28, 56}));
  EXPECT_EQ(s->factors()[2].choices, (std::vector<int64_t>{1, 4, 8, 16, 32, 64}));
  EXPECT_EQ(s->context().size(), kLayoutContextSize);
}

// The degenerate choices of the paper's template, and the template itself.
TEST(LayoutSpace, KnownLayoutsArePoints) {
  const auto s = make_layout_space(build(conv_bias_residual_relu), v4());
  ASSERT_TRUE(s);
  const Point whole = with(*s, Point(5, 0), {{"h_t", 56}, {"w_t", 56}, {"o_t", 1}, {"i_t", 1}});
  EXPECT_EQ(stored(*s, whole, "R"), "");
  EXPECT_EQ(stored(*s, whole, "X"), "");
  EXPECT_EQ(stored(*s, with(*s, whole, {{"o_t", 64}}), "R"), "reorder([0,2,3,1])");
  EXPECT_EQ(stored(*s, with(*s, whole, {{"o_t", 16}}), "R"),
            "split(1,[4,16]).reorder([0,1,3,4,2])");
  EXPECT_EQ(stored(*s, with(*s, whole, {{"o_t", 16}}), "S"),
            "split(1,[4,16]).reorder([0,1,3,4,2])");
  EXPECT_EQ(stored(*s, with(*s, whole, {{"h_t", 1}, {"w_t", 1}, {"o_t", 16}}), "R"),
            "reorder([0,2,3,1])");
  const Point tiled = with(*s, whole, {{"h_t", 4}, {"w_t", 14}, {"o_t", 16}, {"i_t", 8}});
  // N H/4 W/14 O/16 4 14 16
  EXPECT_EQ(stored(*s, tiled, "R"),
            "split(3,[4,14]).split(2,[14,4]).split(1,[4,16]).reorder([0,3,5,1,4,6,2])");
  EXPECT_EQ(stored(*s, tiled, "X"), "split(1,[4,8]).reorder([0,1,3,4,2])");
  EXPECT_EQ(stored(*s, with(*s, tiled, {{"x_t", 1}}), "X"),
            "split(3,[4,14]).split(2,[14,4]).split(1,[4,8]).reorder([0,3,5,1,4,6,2])");
  EXPECT_EQ(stored(*s, with(*s, tiled, {{"x_t", 2}}), "X"), "kBadFactor");
  EXPECT_EQ(s->text(tiled), "h_t=4 w_t=14 o_t=16 i_t=8 x_t=0");
}

// The paper's worked example: 3x3 windows over 58 x 58 elements, output tiles of 4 x 14.
TEST(LayoutSpace, TilesWithTheirHalo) {
  const auto dag = build([](Builder& b) {
    const auto x = b.input("X", ir::kF32, {1, 64, 58, 58});
    b.output(te::conv(b, "Y", x, b.constant("W", ir::kF32, {64, 64, 3, 3}), {}));
  });
  const auto s = make_layout_space(dag, v4());
  ASSERT_TRUE(s);
  const std::map<std::string, int64_t> sizes{
      {"h_t", 4}, {"w_t", 14}, {"o_t", 16}, {"i_t", 16}, {"x_t", 2}};
  const Point p = with(*s, Point(5, 0), sizes);
  const auto edges = s->edges(p);
  ASSERT_TRUE(bool(edges));
  EXPECT_EQ(edges->at("X").storage_shape(), (std::vector<int64_t>{1, 14, 4, 4, 6, 16, 16}));
  EXPECT_EQ(edges->at("Y").storage_shape(), (std::vector<int64_t>{1, 14, 4, 4, 4, 14, 16}));
  // 9 copies of everything are too many.
  EXPECT_EQ(stored(*s, with(*s, p, {{"h_t", 1}, {"w_t", 1}}), "X"), "kLayoutGrowth");
}

TEST(LayoutSpace, FixedEdgesStay) {
  const auto dag = build(conv_bias_residual_relu);
  const Layout last = Layout({1, 64, 56, 56}).reorder({0, 2, 3, 1});
  const auto s = make_layout_space(dag, v4(), {{"R", last}, {"S", last}});
  ASSERT_TRUE(s);
  for (const Point& p : s->seeds()) {
    EXPECT_EQ(s->edges(p)->at("R"), last);
    EXPECT_EQ(s->edges(p)->at("S"), last);
  }
  EXPECT_FALSE(
      make_layout_space(dag, v4(), {{"R", last}, {"S", last}, {"X", Layout({1, 32, 56, 56})}}));
}

TEST(LayoutSpace, FactorsOfOtherOperators) {
  struct Case {
    std::vector<std::string> names;
    Build build;
  };
  const std::vector<Case> cases{
      {{"m_t", "n_t", "k_t"},
       [](Builder& b) {
         const auto a = b.input("A", ir::kF32, {12, 24});
         b.output(te::relu(b, "R", te::matmul(b, "C", a, b.constant("W", ir::kF32, {24, 32}))));
       }},
      {{"m_t", "n_t", "k_t"},
       [](Builder& b) {
         const auto a = b.input("A", ir::kF32, {2, 12, 24});
         b.output(te::batch_matmul(b, "C", a, b.input("B", ir::kF32, {2, 24, 32})));
       }},
      {{"h_t", "w_t", "c_t", "x_t"},
       [](Builder& b) {
         const auto x = b.input("X", ir::kF32, {1, 32, 14, 14});
         b.output(te::depthwise_conv2d(b, "Y", x, b.constant("W", ir::kF32, {32, 1, 3, 3}), {}));
       }},
      {{"d_t", "h_t", "w_t", "o_t", "i_t", "x_t"},
       [](Builder& b) {
         const auto x = b.input("X", ir::kF32, {1, 8, 6, 6, 6});
         b.output(te::conv(b, "Y", x, b.constant("W", ir::kF32, {8, 8, 3, 3, 3}), {}));
       }},
      {{"w_t", "o_t", "i_t", "x_t"},
       [](Builder& b) {
         const auto x = b.input("X", ir::kF32, {1, 8, 16});
         b.output(te::conv(b, "Y", x, b.constant("W", ir::kF32, {8, 8, 3}), {}));
       }},
      {{"h_t", "w_t", "o_t", "i_t"},
       [](Builder& b) {
         const auto x = b.input("X", ir::kF32, {1, 8, 6, 6});
         b.output(te::conv_transpose(b, "Y", x, b.constant("W", ir::kF32, {8, 8, 2, 2}),
                                     {{2, 2}, {0, 0}, {0, 0}, {1, 1}, 1}));
       }},
  };
  for (const Case& c : cases) {
    const auto dag = build(c.build);
    const auto s = make_layout_space(dag, v4());
    ASSERT_TRUE(s) << te::to_text(dag);
    EXPECT_EQ(names(*s), c.names) << te::to_text(dag);
  }
}

TEST(LayoutSpace, NothingWithoutAComplexOperator) {
  EXPECT_FALSE(make_layout_space(build([](Builder& b) {
                                   b.output(te::softmax(b, "S", b.input("X", ir::kF32, {5, 37})));
                                 }),
                                 v4()));
  EXPECT_FALSE(make_layout_space(build([](Builder& b) {
                                   const auto x = b.input("X", ir::kF32, {1, 8, 9, 9});
                                   b.output(te::pool(b, "P", x, te::Pool::kAverage, {3, 3}, {}));
                                 }),
                                 v4()));
}

// The first seed is what templates wish for, written as they write it: the same task as without a search of layouts.
TEST(LayoutSpace, TheFirstSeedIsWhatTemplatesWish) {
  const auto dag = std::make_shared<const te::ComputeDag>(build(conv_bias_residual_relu));
  const auto target = std::make_shared<const target::Target>(v4());
  const auto wish = templates::choose(schedule::State(dag, target), {{}, false});
  const auto s = make_layout_space(*dag, *target);
  ASSERT_TRUE(s);
  const auto edges = s->edges(s->seeds().at(0));
  for (const char* name : {"X", "S", "R"}) EXPECT_EQ(edges->at(name), wish.edges.at(name));
  std::vector<std::string> texts;
  for (const Point& p : s->seeds()) texts.push_back(s->text(p));
  EXPECT_EQ(texts, (std::vector<std::string>{
                       "h_t=56 w_t=56 o_t=16 i_t=16 x_t=0", "h_t=56 w_t=56 o_t=1 i_t=1 x_t=0",
                       "h_t=56 w_t=56 o_t=64 i_t=32 x_t=0", "h_t=56 w_t=56 o_t=8 i_t=8 x_t=0",
                       "h_t=56 w_t=56 o_t=4 i_t=4 x_t=0"}));
}

// ---- every point is good for the whole path -----------------------------------------------------

TEST(LayoutSpace, EveryPointIsRight) {
  std::map<std::string, int> counts;
  for (uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
    EXPECT_EQ(LayoutFuzz(seed, counts).run_all(), "");
  }
  for (const auto& [what, n] : counts) std::printf("%6d %s\n", n, what.c_str());
}

// Whatever the layout of its output, a convolution with bias and activation is one nest: the sum is computed inside the
// tiles of the output, everything else is inlined.
TEST(LayoutSpace, TailsStayFused) {
  const auto dag = std::make_shared<const te::ComputeDag>(build([](Builder& b) {
    const auto x = b.input("X", ir::kF32, {1, 12, 14, 18});
    const auto w = b.constant("W", ir::kF32, {24, 12, 3, 3});
    const auto bias = b.constant("B", ir::kF32, {24, 1, 1});
    const auto y = te::conv(b, "Y", x, w, {});
    const auto t = te::elementwise(b, "T", {y, bias}, [](auto v) { return v[0] + v[1]; });
    b.output(te::relu(b, "R", t));
  }));
  const auto target = std::make_shared<const target::Target>(v4());
  const auto s = make_layout_space(*dag, *target);
  Rng rng(1);
  std::set<std::string> outputs;
  while (outputs.size() < 100) {
    const auto edges = s->edges(random_point(*s, rng));
    if (!edges || !outputs.insert(layout::to_string(edges->at("R"))).second) continue;
    const auto sketches = make_sketches(task::make_task(dag, *edges, target));
    const auto nests = [](const Sketch& sketch) {
      return std::count_if(sketch.state.order().begin(), sketch.state.order().end(),
                           [&](schedule::StageId id) {
                             const schedule::Stage& st = sketch.state.stage(id);
                             return !st.is_input() && st.place == schedule::Place::kRoot;
                           });
    };
    EXPECT_TRUE(std::any_of(sketches.begin(), sketches.end(), [&](const Sketch& sketch) {
      return nests(sketch) == 1;
    })) << *outputs.rbegin();
  }
}

}  // namespace
}  // namespace tenon::search
