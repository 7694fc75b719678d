// SPDX-License-Identifier: Apache-2.0
#include "fuzz/random_dag.h"

#include <gtest/gtest.h>

#include <set>

#include "fuzz/facts.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "te/ops.h"
#include "te/text.h"

namespace tenon::fuzz {
namespace {

// The same dag with every reduction summed from its last element to its first.
te::ComputeDag reversed(const te::ComputeDag& dag) {
  te::ComputeDag out = dag;
  for (te::OpRef& ref : out.ops) {
    auto op = std::make_shared<te::ComputeOp>(*ref);
    ir::VarMap map;
    for (const te::Axis& a : op->reduce_axes) {
      map[a.var.node()] = ir::Expr(a.extent - 1) - a.var;
    }
    op->body = ir::substitute(op->body, map);
    ref = op;
  }
  return out;
}

// The same dag on a machine whose functions are off by two units in the last place.
te::ComputeDag disturbed(const te::ComputeDag& dag) {
  te::ComputeDag out = reversed(dag);
  for (te::OpRef& ref : out.ops) {
    auto op = std::make_shared<te::ComputeOp>(*ref);
    op->body = ir::rewrite(op->body, [](const ir::Expr& e) {
      const bool rounds =
          e.as<ir::Call>() != nullptr && e.as<ir::Call>()->fn != ir::Intrinsic::kAbs;
      const double off = e.dtype() == ir::kF64 ? 0x1p-51 : 0x1p-22;
      return rounds ? e * ir::make_float(e.dtype(), 1 + off) : e;
    });
    ref = op;
  }
  return out;
}

TEST(RandomDag, IsValidReadsBackAndAgreesWithReversedSums) {
  constexpr uint64_t kSeed = 20240;
  std::set<std::string> types;
  int exact = 0;
  int several_outputs = 0;
  constexpr int kRuns = 1500;
  for (uint64_t seed = kSeed; seed < kSeed + kRuns; ++seed) {
    Rng rng(seed);
    const te::ComputeDag dag = random_dag(rng);
    const std::string text = te::to_text(dag);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    ASSERT_EQ(te::parse(text).structural_hash(), dag.structural_hash());
    const auto inputs = random_inputs(dag, rng);
    const auto expected = te::evaluate(dag, inputs);
    ASSERT_EQ(compare(expected, te::evaluate(reversed(dag), inputs), dag), "");
    ASSERT_EQ(compare(expected, te::evaluate(disturbed(dag), inputs), dag), "");
    for (const te::Tensor& t : dag.outputs) {
      exact += tolerance(dag, t) == 0 ? 1 : 0;
      types.insert(ir::to_string(t.dtype()));
    }
    several_outputs += dag.outputs.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(exact, kRuns / 2);
  EXPECT_GT(several_outputs, kRuns / 10);
  for (const char* t : {"f32", "f64", "i32", "f16", "bf16", "bool"}) {
    EXPECT_EQ(types.count(t), 1U) << t;
  }
}

TEST(RandomDag, EveryFamilyCanComeFirst) {
  for (const std::string_view family : family_names()) {
    RandomDagOptions options;
    options.family = family;
    options.max_steps = 2;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      Rng rng(seed);
      if (family == "join") {
        continue;  // needs two computed tensors
      }
      const te::ComputeDag dag = random_dag(rng, options);
      EXPECT_FALSE(dag.ops.empty()) << family;
    }
  }
}

TEST(RandomDag, SameSeedSameDag) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Rng a(seed);
    Rng b(seed);
    EXPECT_EQ(te::to_text(random_dag(a)), te::to_text(random_dag(b))) << seed;
  }
}

TEST(RandomDag, ExactOnlyMeansNoTolerance) {
  RandomDagOptions options;
  options.exact_only = true;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    const te::ComputeDag dag = random_dag(rng, options);
    for (const te::Tensor& t : dag.outputs) {
      EXPECT_EQ(tolerance(dag, t), 0) << seed << "\n" << te::to_text(dag);
    }
  }
}

TEST(Compare, NamesTheFirstElementThatDiffers) {
  const te::ComputeDag dag = te::parse(
      "input A: f32[2, 3]\n"
      "S[i: 2] = sum(k: 3) A[i, k]\n"
      "E[i: 2] = tanh(S[i])\n"
      "output S\n"
      "output E\n");
  Rng rng(1);
  const auto inputs = random_inputs(dag, rng);
  const auto expected = te::evaluate(dag, inputs);
  EXPECT_EQ(compare(expected, expected, dag), "");
  auto wrong = expected;
  wrong[0].set_double(1, expected[0].get_double(1) + 1e-6 * (1 + expected[0].get_double(1)));
  EXPECT_EQ(compare(expected, wrong, dag).substr(0, 5), "S[1]:");
  auto near = expected;
  near[1].set_double(0, expected[1].get_double(0) + 1e-7);
  EXPECT_EQ(compare(expected, near, dag), "");
  near[1].set_double(0, expected[1].get_double(0) + 1e-4);
  EXPECT_EQ(compare(expected, near, dag).substr(0, 5), "E[0]:");
}

TEST(Facts, BoundsAndExactness) {
  const te::ComputeDag dag = te::parse(
      "input A: f32[9]\n"
      "input H: bf16[300]\n"
      "S[] = sum(k: 9) A[k] * A[k]\n"
      "Q[] = S[] / 4.0\n"
      "T[] = S[] / 3.0\n"
      "B[] = sum(k: 300) H[k]\n"
      "output Q\noutput T\noutput B\n");
  const FactMap facts = all_facts(dag);
  const auto of = [&](size_t i) { return facts.at(dag.ops[i]->output.get()); };
  EXPECT_TRUE(of(0).exact);
  EXPECT_EQ(of(0).bound, 36);
  EXPECT_TRUE(of(1).exact);
  EXPECT_EQ(of(1).grain, -2);
  EXPECT_FALSE(of(2).exact);
  EXPECT_FALSE(of(3).exact) << "600 does not fit the 8 bits of bf16";
}

}  // namespace
}  // namespace tenon::fuzz
