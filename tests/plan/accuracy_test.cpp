// SPDX-License-Identifier: Apache-2.0
// Errors that are measured by a model of each algorithm's rounding are those of its programs.
#include "plan/accuracy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compile/compile.h"
#include "compile/run.h"
#include "graph/builder.h"
#include "graph/random_graph.h"
#include "lower/lower.h"
#include "support/sanitized.h"
#include "te/ops.h"

namespace tenon::plan {
namespace {

using compile::compile;

using schedule::Algorithm;
using templates::Accuracy;

te::ComputeDag conv_dag(ir::DType t, int64_t channels, size_t rank, int64_t stride) {
  te::Builder b;
  te::ConvParams p;
  p.stride.assign(rank, stride);
  std::vector<int64_t> x{1, channels}, w{8, channels};
  for (size_t d = 0; d < rank; ++d) {
    x.push_back(stride * (rank == 1 ? 32 : 8) + 2);
    w.push_back(3);
  }
  b.output(te::conv(b, "C", b.input("X", t, x), b.constant("W", t, w), p));
  return b.finish();
}

te::ComputeDag dense_dag(ir::DType t, int64_t depth) {
  te::Builder b;
  b.output(te::dense(b, "C", b.input("X", t, {12, depth}), b.constant("W", t, {16, depth})));
  return b.finish();
}

std::vector<ir::Array> random_floats(const te::ComputeDag& dag, uint64_t seed) {
  Rng rng(seed);
  std::vector<ir::Array> out;
  for (const te::Input& in : dag.inputs) {
    ir::Array a(ir::kF32, in.tensor.shape());
    for (int64_t i = 0; i < a.elements(); ++i) {
      double v = -3;
      for (int n = 0; n < 6; ++n) v += rng.unit();
      a.set_double(i, v);
    }
    out.push_back(std::move(a));
  }
  return out;
}

std::vector<ir::Array> as_doubles(const std::vector<ir::Array>& all) {
  std::vector<ir::Array> out;
  for (const ir::Array& a : all) {
    out.emplace_back(ir::kF64, a.shape());
    for (int64_t i = 0; i < a.elements(); ++i) out.back().set_double(i, a.get_double(i));
  }
  return out;
}

// Of the program that `variant` makes, against the same dag in float64.
double error_of(const te::ComputeDag& dag, const te::ComputeDag& exact,
                std::optional<Algorithm> algorithm) {
  const schedule::State initial(std::make_shared<const te::ComputeDag>(dag),
                                std::make_shared<const target::Target>(target::host_target()));
  schedule::Trace trace;
  if (algorithm) trace.emplace_back(schedule::Variant{{initial.find("C")}, *algorithm});
  const auto s = schedule::replay(initial, trace);
  EXPECT_TRUE(s);
  const auto f = lower::lower(*s);
  EXPECT_TRUE(f);
  const auto inputs = random_floats(dag, 5);
  const auto got = lower::interpret(*s, *f, inputs);
  const auto want = te::evaluate(exact, as_doubles(inputs));
  double largest = 0, error = 0;
  for (int64_t i = 0; i < want[0].elements(); ++i) {
    largest = std::max(largest, std::abs(want[0].get_double(i)));
    error = std::max(error, std::abs(want[0].get_double(i) - got[0].get_double(i)));
  }
  return error / largest;
}

void expect_alike(double modelled, double real) {
  EXPECT_LT(modelled, 3 * real);
  EXPECT_GT(modelled, real / 3);
}

TEST(Rounding, OfWinogradsAlgorithmsIsThatOfTheirPrograms) {
  for (const schedule::AlgorithmRow& row : schedule::algorithms()) {
    if (!schedule::is_winograd(row.algorithm)) continue;
    for (const size_t rank : {1u, 2u}) {
      SCOPED_TRACE(std::string(row.name) + " " + std::to_string(rank));
      const auto dag = conv_dag(ir::kF32, 24, rank, row.stride);
      const auto exact = conv_dag(ir::kF64, 24, rank, row.stride);
      const LayerError e = winograd_error(row.algorithm, rank, 24);
      expect_alike(e.relative, error_of(dag, exact, row.algorithm));
      expect_alike(e.direct, error_of(dag, exact, std::nullopt));
    }
  }
}

TEST(Rounding, OfStrassensAlgorithmIsThatOfItsPrograms) {
  for (const int64_t depth : {33, 200}) {
    const auto dag = dense_dag(ir::kF32, depth), exact = dense_dag(ir::kF64, depth);
    const LayerError e = strassen_error(depth);
    expect_alike(e.relative, error_of(dag, exact, Algorithm::kStrassen));
    expect_alike(e.direct, error_of(dag, exact, std::nullopt));
  }
}

// What is known of them: tiles of 2 round about as well as direct sums, tiles of 4 several times worse.
TEST(Rounding, DecidesWhatAccuraciesAllow) {
  for (const int64_t channels : {1, 3, 16, 64, 512, 2048}) {
    SCOPED_TRACE(channels);
    const LayerError two = winograd_error(Algorithm::kWinograd2, 2, channels);
    const LayerError four = winograd_error(Algorithm::kWinograd4, 2, channels);
    EXPECT_TRUE(allows(Accuracy::kStrict, two)) << two.relative << " " << two.direct;
    EXPECT_TRUE(allows(Accuracy::kDefault, four)) << four.relative;
    EXPECT_TRUE(allows(Accuracy::kStrict, winograd_error(Algorithm::kPolyphase2, 2, channels)));
    EXPECT_TRUE(allows(Accuracy::kDefault, winograd_error(Algorithm::kPolyphase4, 2, channels)));
    EXPECT_GT(four.relative, two.relative);
    EXPECT_LT(four.relative, 5e-5);
  }
  EXPECT_FALSE(allows(Accuracy::kStrict, winograd_error(Algorithm::kWinograd4, 2, 128)));
  for (const int64_t depth : {2, 64, 768, 3072}) {
    EXPECT_TRUE(allows(Accuracy::kStrict, strassen_error(depth))) << depth;
    const LayerError direct = direct_error(depth);
    EXPECT_EQ(direct.relative, direct.direct);
    EXPECT_LT(direct.relative, 1e-5);
  }
}

TEST(Rounding, IsTheSameEveryTime) {
  EXPECT_EQ(direct_error(100).relative, direct_error(100).relative);
  EXPECT_EQ(winograd_error(Algorithm::kWinograd4, 2, 32).relative,
            winograd_error(Algorithm::kWinograd4, 2, 32).relative);
}

graph::Graph one_conv(int64_t channels) {
  Rng rng(3);
  graph::Graph g;
  graph::GraphBuilder b(g);
  te::ConvParams same;
  same.pad_before = same.pad_after = {1, 1};
  const auto x = b.input("x", ir::kF32, {1, channels, 28, 28});
  const auto w = b.constant(graph::random_array(rng, ir::kF32, {channels, channels, 3, 3}));
  g.add_output(b.add("conv", graph::Conv{same}, {x, w}), "y");
  return g;
}

Options with(Accuracy a) {
  Options o;
  o.target = target::host_target();
  o.accuracy = a;
  return o;
}

const TaskPlan* conv_task(const artifact::Program& p) {
  for (const TaskPlan& t : p.plan.tasks) {
    if (!t.algorithm.empty()) return &t;
  }
  return nullptr;
}

// Schedules that are given count too: one that is not accurate enough is not taken.
TEST(Accuracy, OfKernelsIsRecordedAndBounded) {
  if (target::host_target().cpu().lanes(4) < 4) GTEST_SKIP() << "no vectors of channels";
  const artifact::Program p = compile(one_conv(128), "net", with(Accuracy::kDefault));
  const TaskPlan* k = conv_task(p);
  ASSERT_NE(k, nullptr);
  EXPECT_EQ(k->algorithm, "winograd4");
  EXPECT_EQ(k->error, winograd_error(Algorithm::kWinograd4, 2, 128).relative);
  EXPECT_GT(k->error, k->direct_error);
  EXPECT_EQ(k->allowed, 1e-4);
  EXPECT_EQ(k->from, From::kRule);
  EXPECT_EQ(p.plan.accuracy, "default");
  EXPECT_EQ(p.plan.error, k->error);

  Options strict = with(Accuracy::kStrict);
  strict.plan = p.plan;
  std::vector<std::string> warnings;
  strict.warn = [&](const std::string& text) { warnings.push_back(text); };
  const artifact::Program q = compile(one_conv(128), "net", strict);
  ASSERT_NE(conv_task(q), nullptr);
  EXPECT_NE(conv_task(q)->algorithm, "winograd4");
  EXPECT_LE(conv_task(q)->error, 4 * conv_task(q)->direct_error);
  // It is said which one gave way, by whose error, and what would have been allowed.
  ASSERT_EQ(warnings.size(), 1U);
  for (const std::string& word :
       {k->task, std::string("winograd4"), std::string("strict allows")}) {
    EXPECT_NE(warnings[0].find(word), std::string::npos) << warnings[0];
  }
  EXPECT_NE(conv_task(q)->refused.find("winograd4"), std::string::npos) << conv_task(q)->refused;
  strict.frozen = true;
  EXPECT_THROW(compile(one_conv(128), "net", strict), MissingSchedule);
}

// The same convolution so many times, then one of another kind.
graph::Graph conv_chain(int64_t channels, int64_t calls) {
  Rng rng(3);
  graph::Graph g;
  graph::GraphBuilder b(g);
  te::ConvParams same, smaller;
  same.pad_before = same.pad_after = {1, 1};
  smaller.pad_before = smaller.pad_after = {0, 0};
  auto x = b.input("x", ir::kF32, {1, channels, 28, 28});
  const auto w = b.constant(graph::random_array(rng, ir::kF32, {channels, channels, 3, 3}));
  for (int64_t i = 0; i < calls; ++i) {
    x = b.add("same" + std::to_string(i), graph::Conv{same}, {x, w});
  }
  g.add_output(b.add("smaller", graph::Conv{smaller}, {x, w}), "y");
  return g;
}

// By step; those that only convert layouts are left out.
std::vector<std::string> algorithms_of_convs(const artifact::Program& p) {
  std::vector<std::string> algorithms;
  for (const artifact::Step& s : p.steps) {
    const TaskPlan& t = p.plan.tasks[static_cast<size_t>(s.kernel)];
    if (t.direct_error > 0) algorithms.push_back(t.algorithm);
  }
  return algorithms;
}

double error_of_steps(const artifact::Program& p) {
  double sum = 0;
  for (const artifact::Step& s : p.steps) sum += p.plan.tasks[static_cast<size_t>(s.kernel)].error;
  return sum;
}

// Each layer keeps its own bound of 1e-4, all of them together not that of the network: what adds most gives way, and
// nothing else does.
TEST(Accuracy, OfTheNetworkTakesTheFastAlgorithmFromWhatAddsMost) {
  if (kSanitized) GTEST_SKIP() << "hundreds of layers take minutes to compile under a sanitizer";
  if (target::host_target().cpu().lanes(4) < 4) GTEST_SKIP() << "no vectors of channels";
  constexpr int64_t kChannels = 64;
  const LayerError four = winograd_error(Algorithm::kWinograd4, 2, kChannels);
  ASSERT_TRUE(allows(Accuracy::kDefault, four));
  const double most = most_in_network(Accuracy::kDefault);
  EXPECT_EQ(most, 1e-3);
  const auto fit = static_cast<int64_t>(most / four.relative);  // calls, of all kinds

  const artifact::Program within =
      compile(conv_chain(kChannels, fit - 1), "net", with(Accuracy::kDefault));
  const auto fast = algorithms_of_convs(within);
  ASSERT_EQ(static_cast<int64_t>(fast.size()), fit);
  EXPECT_EQ(fast.front(), "winograd4");
  EXPECT_EQ(fast.back(), "winograd4");
  EXPECT_LE(within.plan.error, most);

  const artifact::Program beyond =
      compile(conv_chain(kChannels, fit), "net", with(Accuracy::kDefault));
  const auto slower = algorithms_of_convs(beyond);
  ASSERT_FALSE(slower.empty());
  EXPECT_NE(slower.front(), "winograd4");
  EXPECT_EQ(slower.back(), "winograd4") << "one call adds little";
  EXPECT_LE(beyond.plan.error, most);
  EXPECT_NEAR(beyond.plan.error, error_of_steps(beyond), 1e-9);
  EXPECT_NEAR(within.plan.error, error_of_steps(within), 1e-9);
}

// What was given is told of, too, where it is all layers together that round too much.
TEST(Accuracy, OfTheNetworkIsToldWhereAGivenProgramGivesWay) {
  if (kSanitized) GTEST_SKIP() << "hundreds of layers take minutes to compile under a sanitizer";
  if (target::host_target().cpu().lanes(4) < 4) GTEST_SKIP() << "no vectors of channels";
  constexpr int64_t kChannels = 64;
  const LayerError four = winograd_error(Algorithm::kWinograd4, 2, kChannels);
  const auto fit = static_cast<int64_t>(most_in_network(Accuracy::kDefault) / four.relative);
  Options o = with(Accuracy::kDefault);
  o.plan = decide(conv_chain(kChannels, 1), "net", o).plan;
  for (TaskPlan& t : o.plan.tasks) t.from = From::kLock;
  std::vector<std::string> warnings;
  o.warn = [&](const std::string& text) { warnings.push_back(text); };
  const Network n = decide(conv_chain(kChannels, fit), "net", o);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("all layers together"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[0].find("winograd4"), std::string::npos) << warnings[0];
  EXPECT_LE(n.plan.error, most_in_network(Accuracy::kDefault));
}

// A sum of two thousand million products is not summed up to know its error.
TEST(Accuracy, ErrorsOfDeepSumsGrowWithTheRootOfTheirDepth) {
  Errors errors;
  const auto error = [&](int64_t depth) {
    const schedule::State initial(
        std::make_shared<const te::ComputeDag>(dense_dag(ir::kF32, depth)),
        std::make_shared<const target::Target>(target::host_target()));
    return errors.of(initial, {})->error.relative;
  };
  const double deep = error(int64_t{1} << 18);
  EXPECT_NEAR(error(int64_t{1} << 30), 64 * deep, 1e-9 * deep);
  EXPECT_GT(deep, error(int64_t{1} << 14));
}

}  // namespace
}  // namespace tenon::plan
