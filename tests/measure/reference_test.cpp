// SPDX-License-Identifier: Apache-2.0
#include "measure/reference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lower/lower.h"
#include "measure/tasks.h"
#include "support/rng.h"
#include "task/serve.h"

namespace tenon::measure {
namespace {

TEST(Reference, SeesWhatRoundingDoesNotExplain) {
  const te::ComputeDag dag = te::parse("input A: f32[3]\nB[i: 3] = A[i] * 2.0\noutput B\n");
  const auto array = [](double a, double b, double c) {
    ir::Array x(ir::kF32, {3});
    x.set_double(0, a);
    x.set_double(1, b);
    x.set_double(2, c);
    return x;
  };
  const Case c = {{}, {array(1, 2, INFINITY)}};
  EXPECT_EQ(differs(dag, c, {array(1, 2 + 1e-7, INFINITY)}), "");
  EXPECT_NE(differs(dag, c, {array(1, 2.001, INFINITY)}), "");
  EXPECT_NE(differs(dag, c, {array(1, NAN, INFINITY)}), "");
  EXPECT_NE(differs(dag, c, {array(1, 2, 5)}), "");
  const Case nan = {{}, {array(1, NAN, 2)}};
  EXPECT_EQ(differs(dag, nan, {array(1, NAN, 2)}), "");
  EXPECT_NE(differs(dag, nan, {array(1, 0, 2)}), "");
}

// Which loop of each stage is dealt out to the threads; "-" where none is.
std::string parallel_loops(const std::string& text) {
  const auto dag = std::make_shared<const te::ComputeDag>(te::parse(text));
  const task::Task t =
      task::make_task(dag, {}, std::make_shared<const target::Target>(target::host_target()));
  const schedule::State plain(t.dag, t.target);
  const schedule::Trace trace = plain_program(t, Plain::kAsItStands);
  const auto scheduled = schedule::replay(plain, trace);
  EXPECT_TRUE(bool(scheduled)) << text;
  std::string found;
  for (const schedule::StageId id : scheduled->order()) {
    const schedule::Stage& stage = scheduled->stage(id);
    if (stage.op == nullptr) continue;  // an input
    EXPECT_EQ(stage.leaves, plain.stage(id).leaves) << "the order of summation is the definition's";
    std::string marked;
    for (const schedule::LoopId l : stage.leaves) {
      const schedule::Loop& loop = stage.loop(l);
      if (loop.mark == schedule::Mark::kNone) continue;
      EXPECT_EQ(loop.mark, schedule::Mark::kParallel);
      marked += std::to_string(l);
    }
    found += fmt::format("{} {} ", stage.name, marked.empty() ? "-" : marked);
  }
  return found;
}

TEST(Reference, TheDefinitionRunsOnAllCores) {
  EXPECT_EQ(parallel_loops("input A: f32[7, 5]\nB[i: 7, j: 5] = A[i, j]\noutput B\n"), "B 0 ");
  EXPECT_EQ(parallel_loops("input A: f32[1, 1, 2]\nB[n: 1, i: 1, j: 2] = A[n, i, j]\noutput B\n"),
            "B 2 ")
      << "a loop of one iteration has nothing to deal out";
  EXPECT_EQ(parallel_loops("input A: f32[1, 9]\nS[i: 1] = sum(j: 9) A[i, j]\n"
                           "B[i: 3, j: 9] = A[0, j] * S[0]\noutput B\n"),
            "S - B 0 ")
      << "what is summed up stays in one thread";
}

task::Task task_of(const std::string& text) {
  return task::make_task(std::make_shared<const te::ComputeDag>(te::parse(text)), {},
                         std::make_shared<const target::Target>(target::host_target()));
}

Case case_of(const te::ComputeDag& dag) {
  Rng rng(3);
  Case c;
  for (const te::Input& in : dag.inputs) {
    c.inputs.emplace_back(in.tensor.dtype(), in.tensor.shape());
    ir::Array& a = c.inputs.back();
    for (int64_t i = 0; i < a.elements(); ++i) a.set_double(i, 2 * rng.unit() - 1);
  }
  c.outputs = te::evaluate(dag, c.inputs);
  return c;
}

constexpr const char* kPaddedSums =
    "input X: f32[3, 37]\nconst W: f32[2, 3, 3]\n"
    "P[c: 3, x: 39] = select(1 <= x and x < 38, X[c, x - 1], 0.0)\n"
    "C[k: 2, x: 37] = sum(c: 3, r: 3) P[c, x + r] * W[k, c, r]\n"
    "R[k: 2, x: 37] = max(C[k, x], 0.0)\noutput R\n";

TEST(Reference, SumsByVectorsAreThoseOfTheDefinition) {
  const task::Task t = task_of(kPaddedSums);
  const schedule::Trace trace = plain_program(t, Plain::kByVectors);
  EXPECT_GT(trace.size(), plain_program(t, Plain::kAsItStands).size());
  const task::Served served = task::serve(t, trace);
  ASSERT_TRUE(bool(served)) << served.why;
  const Case c = case_of(*t.dag);
  const std::vector<ir::Array> got =
      lower::interpret(served->state, lower::lower(served->state, served->bounds), c.inputs);
  for (int64_t i = 0; i < got[0].elements(); ++i) {
    EXPECT_EQ(got[0].get_double(i), c.outputs[0].get_double(i)) << i;
  }
}

TEST(Reference, ASampleSeesWhatIsWrongAtTheEnds) {
  const task::Task t = task_of(kPaddedSums);
  const Case right = case_of(*t.dag);
  EXPECT_EQ(sample_differs(*t.dag, right), "");
  for (const int64_t column : {0, 36}) {
    Case wrong = right;
    for (int64_t k = 0; k < 2; ++k) {
      const int64_t at = k * 37 + column;
      wrong.outputs[0].set_double(at, wrong.outputs[0].get_double(at) + 1);
    }
    EXPECT_NE(sample_differs(*t.dag, wrong), "") << column;
  }
}

// Counts how the definition was run, and what is computed by vectors may be wrong.
struct Runs {
  bool wrong = false;
  std::vector<Plain> how = {};
  RunDefinition fn() {
    return [this](const task::Task& t, const std::vector<ir::Array>& inputs, Plain plain) {
      how.push_back(plain);
      auto out = te::evaluate(*t.dag, inputs);
      if (wrong && plain == Plain::kByVectors) {
        for (int64_t i = 0; i < out[0].elements(); ++i) out[0].set_double(i, 100);
      }
      return out;
    };
  }
};

TEST(Reference, WhatIsQuickAndWrongIsNotBelieved) {
  const task::Task t = task_of(
      "input A: f32[70, 70]\ninput B: f32[70, 70]\n"
      "C[i: 70, j: 70] = sum(k: 70) A[i, k] * B[k, j]\noutput C\n");
  Runs good, bad{.wrong = true};
  References believed(good.fn()), refused(bad.fn());
  const auto a = believed.cases(t), b = refused.cases(t);
  EXPECT_EQ(good.how, (std::vector<Plain>{Plain::kByVectors, Plain::kByVectors}));
  EXPECT_EQ(bad.how, (std::vector<Plain>{Plain::kByVectors, Plain::kAsItStands, Plain::kByVectors,
                                         Plain::kAsItStands}));
  ASSERT_EQ(a->size(), b->size());
  for (size_t i = 0; i < a->size(); ++i) {
    EXPECT_EQ((*a)[i].outputs[0].get_double(7), (*b)[i].outputs[0].get_double(7));
  }
}

}  // namespace
}  // namespace tenon::measure
