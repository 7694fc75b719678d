// SPDX-License-Identifier: Apache-2.0
// A convolution, its bias and its activation are one nest, however the result is stored.
#include <gtest/gtest.h>

#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "schedule/state.h"
#include "te/ops.h"
#include "templates/template.h"

namespace tenon::templates {
namespace {

te::ComputeDag conv_bias_relu(Rng& rng) {
  te::Builder b;
  const auto rank = static_cast<size_t>(rng.between(1, 3));
  std::vector<int64_t> x{rng.between(1, 2), rng.between(1, 9)}, w{rng.between(1, 20), x[1]};
  te::ConvParams p;
  for (size_t d = 0; d < rank; ++d) {
    x.push_back(rng.between(3, rank == 3 ? 5 : 9));
    w.push_back(rng.between(1, 3));
    p.stride.push_back(rng.between(1, 2));
    p.pad_before.push_back(rng.between(0, 1));
    p.pad_after.push_back(rng.between(0, 1));
  }
  std::vector<int64_t> bias(rank + 1, 1);
  bias[0] = w[0];
  const auto y = te::conv(b, "C", b.input("X", ir::kF32, x), b.constant("W", ir::kF32, w), p);
  const auto sum = te::elementwise(b, "B", {y, b.constant("bias", ir::kF32, bias)},
                                   [](std::span<const ir::Expr> e) { return e[0] + e[1]; });
  b.output(te::relu(b, "A", sum));
  return b.finish();
}

// One to four steps that store every element once. Parts are not cut into parts that do not divide them: which elements
// are missing there depends on two dimensions.
layout::Layout random_layout(const std::vector<int64_t>& shape, Rng& rng) {
  layout::Layout l(shape);
  bool parts = false;
  for (int64_t n = rng.between(1, 4); n > 0; --n) {
    const auto rank = static_cast<int64_t>(l.storage_shape().size());
    const int64_t d = rng.between(0, rank - 1);
    const int64_t size = l.storage_shape()[static_cast<size_t>(d)];
    layout::LayoutStep step{layout::LayoutOp::kFuse, d, {2}};
    if (rng.chance(0.4)) {
      int64_t inner = rng.between(1, std::min<int64_t>(size, 16));
      while (parts && size % inner != 0) --inner;
      parts = true;
      step = {layout::LayoutOp::kSplit, d, {(size + inner - 1) / inner, inner}};
    } else if (rng.chance(0.7)) {
      step = {layout::LayoutOp::kReorder, 0, {}};
      for (int64_t i = 0; i < rank; ++i) {
        step.args.insert(step.args.begin() + rng.between(0, i), i);
      }
    }
    if (l.why_not(step).empty()) l = l.then(step);
  }
  return l;
}

int nests(const schedule::State& s) {
  int n = 0;
  for (const schedule::StageId id : s.order()) {
    n += !s.stage(id).is_input() && s.stage(id).place == schedule::Place::kRoot ? 1 : 0;
  }
  return n;
}

TEST(Fused, ConvolutionBiasAndActivationAreOneNestForAnyLayoutOfTheResult) {
  const uint64_t seed = 31;
  std::map<std::string_view, int> chosen;
  for (uint64_t i = 0; i < 150; ++i) {
    Rng rng(seed + i);
    const auto dag = std::make_shared<const te::ComputeDag>(conv_bias_relu(rng));
    const layout::Layout wanted = random_layout(dag->outputs[0].shape(), rng);
    SCOPED_TRACE("seed " + std::to_string(seed + i) + ": " + layout::to_string(wanted));
    const schedule::State initial(dag, std::make_shared<const target::Target>(target::parse_target(
                                           i % 2 == 0 ? "x86-64-v4" : "x86-64-v3")));
    Request request;
    request.fixed.emplace("A", wanted);
    request.borders = false;
    request.algorithm = 0;  // others have nests of their own for tiles
    const Choice choice = choose(initial, request);
    ++chosen[choice.name];
    const auto s = schedule::replay(initial, choice.trace);
    ASSERT_TRUE(s);
    EXPECT_TRUE(layout::same_storage(choice.edges.at("A"), wanted));
    EXPECT_EQ(nests(*s), 1) << ::testing::PrintToString(choice.passed_over) << "\n"
                            << schedule::to_string(*s);
    const auto inputs = fuzz::random_inputs(*dag, rng);
    const auto outcome = fuzz::check_program(*s, inputs, te::evaluate(*dag, inputs));
    EXPECT_FALSE(outcome.refused);
    EXPECT_EQ(outcome.problem, "") << choice.name;
  }
  EXPECT_GT(chosen["fused"], 30);
}

}  // namespace
}  // namespace tenon::templates
