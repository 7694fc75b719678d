// SPDX-License-Identifier: Apache-2.0
// Every family on small odd shapes, as a program for GPUs: the interpreter, which finds races, gives
// the answer of the definition.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "schedule/algorithms/algorithms.h"
#include "schedule/state.h"
#include "te/ops.h"
#include "te/text.h"
#include "templates/by_name.h"
#include "templates/case_tables.h"
#include "templates/cases.h"
#include "templates/template.h"

namespace tenon::templates {
namespace {

using schedule::Algorithm;

schedule::State state_of(const te::ComputeDag& dag, const std::string& target) {
  return {std::make_shared<const te::ComputeDag>(dag),
          std::make_shared<const target::Target>(target::parse_target(target))};
}

class GpuTemplateTest : public ::testing::TestWithParam<Case> {};

TEST_P(GpuTemplateTest, FitsAndIsRight) {
  const auto dag = std::make_shared<const te::ComputeDag>(GetParam().make());
  Rng rng(1);
  const auto inputs = fuzz::random_inputs(*dag, rng);
  const auto expected = te::evaluate(*dag, inputs);
  for (const target::Target& t : target::gpu_targets()) {
    if (t.gpu().processor != "sm_90" && t.gpu().processor != "simt") continue;
    if (kSanitized && t.gpu().processor != "simt") continue;
    const schedule::State initial(dag, std::make_shared<target::Target>(t));
    const Choice choice = choose(initial);
    const auto state = schedule::replay(initial, choice.trace);
    ASSERT_TRUE(state);
    const auto outcome = fuzz::check_program(*state, inputs, expected);
    EXPECT_FALSE(outcome.refused);
    ASSERT_EQ(outcome.problem, "") << t.name << "\n" << schedule::to_text(choice.trace, initial);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GpuTemplateTest, ::testing::ValuesIn(cases()),
                         [](const auto& i) { return i.param.name; });

// Convolution of three taps with bias, residual and ReLU.
te::ComputeDag conv_dag(int64_t in, int64_t out, const std::vector<int64_t>& extents, int64_t pad,
                        int64_t images = 1) {
  te::Builder b;
  std::vector<int64_t> x{images, in}, w{out, in}, bias{out}, y{images, out};
  te::ConvParams p;
  for (const int64_t e : extents) {
    x.push_back(e);
    w.push_back(3);
    bias.push_back(1);
    y.push_back(e + 2 * pad - 2);
    p.stride.push_back(1);
    p.pad_before.push_back(pad);
    p.pad_after.push_back(pad);
  }
  const auto c = te::conv(b, "C", b.input("X", ir::kF32, x), b.constant("W", ir::kF32, w), p);
  const auto z =
      te::elementwise(b, "B", {c, b.constant("bias", ir::kF32, bias), b.input("R", ir::kF32, y)},
                      [](auto v) { return v[0] + v[1] + v[2]; });
  b.output(te::relu(b, "A", z));
  return b.finish();
}

TEST(GpuWinograd, IsRightWhereItIsAskedFor) {
  const std::vector<te::ComputeDag> dags = {
      conv_dag(5, 6, {8, 8}, 1),    conv_dag(3, 9, {7, 5}, 1), conv_dag(8, 4, {6, 9}, 0),
      conv_dag(4, 8, {6, 5}, 1, 2), conv_dag(5, 7, {13}, 1),   conv_dag(2, 3, {3, 4, 5}, 1)};
  for (const te::ComputeDag& dag : dags) {
    for (const Algorithm a : {Algorithm::kWinograd2, Algorithm::kWinograd4}) {
      const schedule::State initial = state_of(dag, "cuda simt");
      Request request;
      request.algorithm = 1 + static_cast<int64_t>(a);
      const Choice choice = choose(initial, request);
      const std::string steps = schedule::to_text(choice.trace, initial);
      ASSERT_TRUE(choice.passed_over.empty()) << choice.passed_over[0];
      ASSERT_EQ(choice.name, "gpu_winograd") << steps;
      Rng rng(1);
      const auto inputs = fuzz::random_inputs(dag, rng);
      const auto s = schedule::replay(initial, choice.trace);
      ASSERT_TRUE(s);
      const auto outcome = fuzz::check_program(*s, inputs, te::evaluate(dag, inputs));
      EXPECT_FALSE(outcome.refused) << steps;
      EXPECT_EQ(outcome.problem, "") << steps;
    }
  }
}

// Blocks share the sums, and the transform of the output adds them up.
TEST(GpuWinograd, IsRightWhereSumsAreShared) {
  const te::ComputeDag dag = conv_dag(6, 5, {7, 6}, 1);
  const schedule::State initial = state_of(dag, "cuda simt");
  Request request;
  request.algorithm = 1 + static_cast<int64_t>(Algorithm::kWinograd2);
  const auto p =
      write_with("gpu_winograd", initial, request, {{"one_kernel", 0}, {"split", 3}, {"depth", 2}});
  ASSERT_TRUE(p);
  const std::string steps = schedule::to_text(p->trace, initial);
  EXPECT_NE(steps.find("rfactor"), std::string::npos) << steps;
  Rng rng(1);
  const auto inputs = fuzz::random_inputs(dag, rng);
  const auto outcome = fuzz::check_program(p->state, inputs, te::evaluate(dag, inputs));
  EXPECT_FALSE(outcome.refused) << steps;
  EXPECT_EQ(outcome.problem, "") << steps;
}

// Tiles, channels and steps that divide nothing, one step and several, several images.
TEST(GpuWinograd, IsRightAsOneKernel) {
  const struct {
    te::ComputeDag dag;
    Numbers sizes;
  } kCases[] = {{conv_dag(8, 6, {11, 17}, 1), {{"channels", 4}, {"tiles", 4}, {"depth", 2}}},
                {conv_dag(4, 9, {6, 21}, 1, 2), {{"channels", 8}, {"tiles", 4}, {"depth", 4}}},
                {conv_dag(6, 5, {7, 36}, 0), {{"channels", 4}, {"tiles", 8}, {"depth", 1}}},
                {conv_dag(5, 4, {8, 16}, 1), {{"channels", 4}, {"tiles", 4}, {"depth", 1}}}};
  for (const auto& c : kCases) {
    for (const Algorithm a : {Algorithm::kWinograd2, Algorithm::kWinograd4}) {
      const schedule::State initial = state_of(c.dag, "cuda simt");
      Request request;
      request.algorithm = 1 + static_cast<int64_t>(a);
      Numbers sizes = c.sizes;
      sizes["one_kernel"] = 1;
      const auto p = write_with("gpu_winograd", initial, request, sizes);
      ASSERT_TRUE(p);
      const std::string steps = schedule::to_text(p->trace, initial);
      EXPECT_EQ(steps.find("variant C.m gemm"), std::string::npos) << steps;
      Rng rng(1);
      const auto inputs = fuzz::random_inputs(c.dag, rng);
      const auto outcome = fuzz::check_program(p->state, inputs, te::evaluate(c.dag, inputs));
      EXPECT_FALSE(outcome.refused) << steps;
      EXPECT_EQ(outcome.problem, "") << steps;
    }
  }
}

TEST(GpuWinograd, KeepsToWhatIsAllowed) {
  const schedule::State initial = state_of(conv_dag(64, 64, {56, 56}, 1), "cuda sm_90");
  EXPECT_EQ(choose(initial).name, "gpu_winograd");
  Request strict;
  strict.accuracy = Accuracy::kStrict;  // tiles of two are as accurate as that
  const std::string steps = schedule::to_text(choose(initial, strict).trace, initial);
  EXPECT_EQ(steps.find("winograd4"), std::string::npos) << steps;
  Request without;
  without.without = {Algorithm::kWinograd2, Algorithm::kWinograd4};
  EXPECT_EQ(choose(initial, without).name, "gpu_contraction");
  Request direct;
  direct.algorithm = 0;
  EXPECT_EQ(choose(initial, direct).name, "gpu_contraction");
}

// Sizes of ResNet: larger tiles for larger images.
TEST(GpuWinograd, IsChosenByItsTime) {
  const auto steps_of = [](int64_t channels, int64_t extent) {
    const schedule::State initial =
        state_of(conv_dag(channels, channels, {extent, extent}, 1), "cuda sm_90");
    return schedule::to_text(choose(initial).trace, initial);
  };
  EXPECT_NE(steps_of(64, 56).find("winograd4"), std::string::npos);
  EXPECT_NE(steps_of(128, 28).find("winograd4"), std::string::npos);
  EXPECT_NE(steps_of(256, 14).find("winograd2"), std::string::npos);
  EXPECT_NE(steps_of(512, 7).find("winograd2"), std::string::npos);
  // Three kernels, until one is found to be faster by search.
  for (const auto& [channels, extent] :
       {std::pair{64, 56}, std::pair{128, 28}, std::pair{256, 14}, std::pair{512, 7}})
    EXPECT_NE(steps_of(channels, extent).find("gemm"), std::string::npos) << channels;
}

struct Family {
  const char* name;
  const char* text;
};
constexpr Family kFamilies[] = {
    {"gpu_sums",
     "input X: f32[1, 512]\nconst W: f32[512, 1000]\nconst B: f32[1000]\n"
     "M[i: 1, j: 1000] = sum(k: 512) X[i, k] * W[k, j]\nY[i: 1, j: 1000] = M[i, j] + B[j]\n"
     "output Y\n"},
    {"gpu_sums",
     "input X: f32[1, 480, 1, 1]\nconst W: f32[20, 480, 1, 1]\n"
     "M[n: 1, k: 20, y: 1, x: 1] = sum(c: 480, r: 1, s: 1) X[n, c, y + r, x + s] * W[k, c, r, s]\n"
     "Y[n: 1, k: 20, y: 1, x: 1] = max(M[n, k, y, x], 0.0)\noutput Y\n"},
    {"gpu_sums",
     "input X: f32[1, 1280, 7, 7]\nM[n: 1, k: 1280] = sum(y: 7, x: 7) X[n, k, y, x]\n"
     "Y[n: 1, k: 1280] = M[n, k] / 49.0\noutput Y\n"},
    {"gpu_sums",
     "input X: f32[1, 3136]\nconst W: f32[12, 3136]\n"
     "M[i: 1, j: 12] = sum(k: 3136) X[i, k] * W[j, k]\noutput M\n"},
    {"gpu_sums", "input X: f32[900, 70]\nM[k: 70] = sum(i: 900) X[i, k]\noutput M\n"},
};

// What networks consist of is not left to the last resort, and nothing that fits is refused.
TEST(GpuTemplates, TakeShapesOfNetworks) {
  for (const Case& c : network_cases()) {
    const Choice choice = choose(state_of(c.make(), "cuda sm_90"));
    EXPECT_TRUE(choice.passed_over.empty()) << c.name << ": " << choice.passed_over[0];
    if (c.name.starts_with("net_conv") || c.name.starts_with("net_matmul")) {
      EXPECT_NE(choice.name, "gpu_elements") << c.name;
    }
  }
}

TEST(GpuSums, TakeShapesOfNetworks) {
  for (const Family& f : kFamilies) {
    const te::ComputeDag dag = te::parse(f.text);
    for (const char* target : {"cuda sm_90", "cuda simt"}) {
      const schedule::State initial = state_of(dag, target);
      const Choice choice = choose(initial);
      const std::string steps = schedule::to_text(choice.trace, initial);
      EXPECT_EQ(choice.name, f.name) << steps;
      Rng rng(1);
      const auto inputs = fuzz::random_inputs(dag, rng);
      const auto s = schedule::replay(initial, choice.trace);
      ASSERT_TRUE(s);
      const auto outcome = fuzz::check_program(*s, inputs, te::evaluate(dag, inputs));
      EXPECT_EQ(outcome.problem, "") << steps;
    }
  }
}

// Where a tile is larger than the result, it has fewer threads.
TEST(GpuContraction, TakesFewChannels) {
  for (const int64_t channels : {12, 16, 24, 40}) {
    const te::ComputeDag dag =
        te::parse(fmt::format("input X: f32[144, 784]\nconst W: f32[{0}, 144]\nconst B: f32[{0}]\n"
                              "Y[i: {0}, j: 784] = sum(k: 144) W[i, k] * X[k, j]\n"
                              "O[i: {0}, j: 784] = Y[i, j] + B[i]\noutput O\n",
                              channels));
    const Choice choice = choose(state_of(dag, "cuda sm_90"));
    EXPECT_EQ(choice.name, "gpu_contraction");
    EXPECT_TRUE(choice.passed_over.empty()) << choice.passed_over[0];
  }
}

// A product whose first operand lies along the sum, and which groups of threads and blocks share.
TEST(GpuContraction, IsRightWhereGroupsShareSums) {
  const te::ComputeDag dag = te::parse(
      "input A: f32[20, 96]\nconst W: f32[96, 64]\nconst B: f32[64]\n"
      "Y[i: 20, j: 64] = sum(k: 96) A[i, k] * W[k, j]\n"
      "O[i: 20, j: 64] = max(Y[i, j] + B[j], 0.0)\noutput O\n");
  const schedule::State initial = state_of(dag, "cuda simt");
  Rng rng(1);
  const auto inputs = fuzz::random_inputs(dag, rng);
  const auto expected = te::evaluate(dag, inputs);
  for (const int64_t fast : {4, 8}) {
    for (const int64_t split : {1, 3}) {
      for (const int64_t groups : {1, 2, 4}) {
        const Numbers given{{"slow", 4},         {"fast", fast},   {"slow_threads", 4},
                            {"fast_threads", 4}, {"split", split}, {"depth", 16},
                            {"groups", groups},  {"pipeline", 1}};
        const auto p = write_with("gpu_contraction", initial, {}, given);
        ASSERT_TRUE(p);
        for (const auto& [name, value] : given) EXPECT_EQ(p->numbers.at(name), value) << name;
        const auto outcome = fuzz::check_program(p->state, inputs, expected);
        EXPECT_FALSE(outcome.refused);
        EXPECT_EQ(outcome.problem, "") << schedule::to_text(p->trace, initial);
      }
    }
  }
}

// Answers that no rule gave: what is accepted is right.
TEST_P(GpuTemplateTest, IsRightWithBlindAnswers) {
  const te::ComputeDag dag = GetParam().make();
  const schedule::State initial = state_of(dag, "cuda simt");
  Rng rng(1);
  const auto inputs = fuzz::random_inputs(dag, rng);
  const auto expected = te::evaluate(dag, inputs);
  for (const Template& t : templates(initial.target())) {
    space::Blindly decider(rng);
    space::Builder b(initial, decider);
    if (!t.write(b, {}) || b.refused() || b.choices().empty()) continue;
    const auto outcome = fuzz::check_program(b.state(), inputs, expected);
    EXPECT_EQ(outcome.problem, "") << t.name << "\n" << schedule::to_text(b.trace(), initial);
  }
}

}  // namespace
}  // namespace tenon::templates
