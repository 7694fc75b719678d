// SPDX-License-Identifier: Apache-2.0
// Convolutions with stride, dilated ones, and sums in bfloat16: the algorithm that is asked for is
// used where it fits, and right for each kind of target.
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "lower/lower.h"
#include "te/ops.h"
#include "te/text.h"
#include "templates/by_name.h"

namespace tenon::templates {
namespace {

using schedule::Algorithm;

te::ComputeDag conv_dag(int64_t in, int64_t out, std::vector<int64_t> extents, int64_t stride,
                        int64_t dilation, int64_t taps = 3) {
  te::Builder b;
  std::vector<int64_t> x{1, in}, w{out, in}, bias{out};
  te::ConvParams p;
  for (const int64_t e : extents) {
    x.push_back(e);
    w.push_back(taps);
    bias.push_back(1);
    p.stride.push_back(stride);
    p.dilation.push_back(dilation);
    p.pad_before.push_back(taps / 2);
    p.pad_after.push_back(taps / 2 * dilation);
  }
  const auto y = te::conv(b, "C", b.input("X", ir::kF32, x), b.constant("W", ir::kF32, w), p);
  const auto z = te::elementwise(b, "B", {y, b.constant("bias", ir::kF32, bias)},
                                 [](auto v) { return v[0] + v[1]; });
  b.output(te::relu(b, "A", z));
  return b.finish();
}

te::ComputeDag dense_dag(std::vector<int64_t> x, int64_t columns, bool transposed) {
  te::Builder b;
  const int64_t k = x.back();
  const auto w = transposed ? b.constant("W", ir::kF32, {columns, k})
                            : b.constant("W", ir::kF32, {k, columns});
  const auto y = te::batch_matmul(b, "C", b.input("X", ir::kF32, x), w, false, transposed);
  b.output(te::relu(b, "A", y));
  return b.finish();
}

schedule::State state_of(const te::ComputeDag& dag, const std::string& target) {
  return {std::make_shared<const te::ComputeDag>(dag),
          std::make_shared<const target::Target>(target::parse_target(target))};
}

void expect_right(const schedule::State& s, const std::string& steps) {
  Rng rng(1);
  const auto inputs = fuzz::random_inputs(s.dag(), rng);
  std::unique_ptr<backend::Compiler> compiler;
  if (target::runs_here(s.target())) compiler = backend::make_compiler(s.target());
  const auto outcome =
      fuzz::check_program(s, inputs, te::evaluate(s.dag(), inputs), compiler.get());
  EXPECT_FALSE(outcome.refused);
  EXPECT_EQ(outcome.problem, "") << steps;
}

struct Ran {
  Choice choice;
  std::string steps;
};

// The program that is chosen, which must be right.
Ran run(const te::ComputeDag& dag, const std::string& target, const Request& request) {
  const schedule::State initial = state_of(dag, target);
  Ran ran{choose(initial, request), ""};
  ran.steps = schedule::to_text(ran.choice.trace, initial);
  const auto s = schedule::replay(initial, ran.choice.trace);
  EXPECT_TRUE(s);
  expect_right(*s, ran.steps);
  return ran;
}

Request asking_for(Algorithm a) {
  Request e;
  e.borders = false;
  e.algorithm = 1 + static_cast<int64_t>(a);
  return e;
}

TEST(Variants, ConvolutionsWithStrideAreComputedByPhases) {
  for (const char* target : {"x86-64-v4 cores=2", "x86-64-v3", "aarch64 cores=3"}) {
    for (const auto& extents :
         std::vector<std::vector<int64_t>>{{13, 16}, {9, 7}, {31}, {4, 9, 10}}) {
      for (const auto& [a, name] : {std::pair(Algorithm::kPolyphase2, "polyphase2"),
                                    {Algorithm::kPolyphase4, "polyphase4"}}) {
        SCOPED_TRACE(std::string(target) + " " + name);
        const Ran ran = run(conv_dag(16, 32, extents, 2, 1), target, asking_for(a));
        EXPECT_EQ(ran.choice.name, "winograd");
        EXPECT_NE(ran.steps.find(name), std::string::npos) << ran.steps;
      }
    }
  }
}

TEST(Variants, DilatedConvolutionsAreComputedByPhases) {
  for (const char* target : {"x86-64-v4 cores=2", "x86-64-v3"}) {
    for (const int64_t dilation : {2, 3}) {
      for (const auto& extents : std::vector<std::vector<int64_t>>{{13, 16}, {9, 11}, {31}}) {
        SCOPED_TRACE(std::string(target) + " " + std::to_string(dilation));
        const Ran ran =
            run(conv_dag(16, 32, extents, 1, dilation), target, asking_for(Algorithm::kWinograd4));
        EXPECT_EQ(ran.choice.name, "winograd");
        EXPECT_NE(ran.steps.find("variant C phases"), std::string::npos) << ran.steps;
        EXPECT_NE(ran.steps.find("variant C.u winograd4"), std::string::npos) << ran.steps;
      }
    }
  }
}

TEST(Variants, WindowsAreCopiedForThoseWhoAsk) {
  for (const char* target : {"x86-64-v4 cores=2", "x86-64-v3"}) {
    for (const auto& extents :
         std::vector<std::vector<int64_t>>{{13, 16}, {9, 7}, {31}, {4, 5, 6}}) {
      for (const int64_t stride : {1, 2}) {
        SCOPED_TRACE(std::string(target) + " " + std::to_string(stride));
        const Ran ran =
            run(conv_dag(3, 20, extents, stride, 2), target, asking_for(Algorithm::kIm2col));
        EXPECT_EQ(ran.choice.name, "im2col") << ::testing::PrintToString(ran.choice.passed_over);
      }
    }
  }
}

// Large enough for the estimate to say so, small enough to be refused where there is too little to
// gain.
TEST(Variants, AreChosenWhereTheyAreEstimatedToPay) {
  target::Target target = target::parse_target("x86-64-v4");
  target.cpu().rates = {};
  const auto shared = std::make_shared<const target::Target>(target);
  const auto chosen = [&](const te::ComputeDag& dag) {
    const schedule::State initial(std::make_shared<const te::ComputeDag>(dag), shared);
    return schedule::to_text(choose(initial, {.fixed = {}, .borders = false}).trace, initial);
  };
  EXPECT_NE(chosen(conv_dag(64, 128, {56, 56}, 2, 1)).find("polyphase"), std::string::npos);
  EXPECT_EQ(chosen(conv_dag(512, 512, {14, 14}, 2, 1)).find("polyphase"), std::string::npos);
  EXPECT_NE(chosen(conv_dag(64, 64, {56, 56}, 1, 2)).find("winograd"), std::string::npos);
}

TEST(Variants, SumsInBfloat16AreTakenWhereTheyAreAllowed) {
  const std::string narrow = "x86-64-v4-bf16 cores=2";
  Request fast = asking_for(Algorithm::kBfloat16);
  fast.accuracy = Accuracy::kFast;
  const te::ComputeDag dags[] = {
      conv_dag(32, 48, {7, 9}, 1, 1), conv_dag(16, 20, {9, 7}, 2, 1),
      conv_dag(6, 32, {31}, 1, 2),    conv_dag(64, 32, {5, 9}, 1, 1, 1),
      dense_dag({5, 48}, 33, false),  dense_dag({2, 7, 32}, 64, true),
  };
  for (const te::ComputeDag& dag : dags) {
    SCOPED_TRACE(te::to_text(dag));
    const Ran ran = run(dag, narrow, fast);
    EXPECT_TRUE(ran.choice.name.ends_with("_bfloat16"))
        << ran.choice.name << ::testing::PrintToString(ran.choice.passed_over);
    EXPECT_NE(ran.steps.find("dot_bf16bf16"), std::string::npos) << ran.steps;
    EXPECT_FALSE(run(dag, narrow, asking_for(Algorithm::kBfloat16)).choice.name.ends_with("16"));
    EXPECT_FALSE(run(dag, "x86-64-v4", fast).choice.name.ends_with("16"));
    fast.without = {Algorithm::kBfloat16};
    EXPECT_FALSE(run(dag, narrow, fast).choice.name.ends_with("16"));
    fast.without.clear();
  }
}

TEST(Variants, SumsInBfloat16UseTheInstruction) {
  Request fast;
  fast.accuracy = Accuracy::kFast;
  const auto dag = std::make_shared<const te::ComputeDag>(dense_dag({16, 64}, 64, false));
  const schedule::State initial(
      dag, std::make_shared<const target::Target>(target::parse_target("x86-64-v4-bf16")));
  const auto s = schedule::replay(initial, choose(initial, fast).trace);
  ASSERT_TRUE(s);
  const auto f = lower::lower(*s);
  ASSERT_TRUE(f);
  const std::string text = backend::emit(*f, initial.target(), backend::Emit::kAssembly).bytes;
  EXPECT_NE(text.find("vdpbf16ps"), std::string::npos);
}

// Depthwise, then pointwise: all of the first one beforehand, or a block of rows where the second
// one reads them.
TEST(Pairs, WhereTheFirstOneIsComputedIsAChoice) {
  for (const int64_t height : {7, 12}) {
    te::Builder b;
    const auto x = b.input("X", ir::kF32, {1, 16, height, 9});
    const auto d = b.constant("D", ir::kF32, {16, 1, 3, 3});
    const auto w = b.constant("W", ir::kF32, {24, 16, 1, 1});
    const auto y = te::relu(b, "Y", te::conv(b, "S", x, d, {{1, 1}, {1, 1}, {1, 1}, {}, 16}));
    b.output(te::relu(b, "Z", te::conv(b, "P", y, w, {})));
    const te::ComputeDag dag = b.finish();
    const schedule::State initial = state_of(dag, "x86-64-v3");
    EXPECT_EQ(choose(initial).name, "pair");
    for (const int64_t at : {1, 2}) {
      const auto program = write_with("pair", initial, {}, {{"at", at}, {"rows", 4}});
      ASSERT_TRUE(program);
      EXPECT_EQ(program->numbers.at("at"), at);
      const std::string steps = schedule::to_text(program->trace, initial);
      EXPECT_EQ(steps.find("compute_at Y Z") != std::string::npos, at == 2);
      expect_right(program->state, steps);
    }
  }
}

}  // namespace
}  // namespace tenon::templates
