// SPDX-License-Identifier: Apache-2.0
// Attention as one kernel: odd shapes with every kind of number, and where it is taken.
#include <gtest/gtest.h>

#include "fuzz/random_dag.h"
#include "fuzz/run_program.h"
#include "schedule/gpu_program.h"
#include "te/ops.h"
#include "templates/by_name.h"

namespace tenon::templates {
namespace {

schedule::State state_for(const te::ComputeDag& dag, const std::string& target) {
  return {std::make_shared<const te::ComputeDag>(dag),
          std::make_shared<const target::Target>(target::parse_target(target))};
}

enum class Mask : uint8_t { kNone, kKeys, kCausal };

// softmax(Q K^T / 4 + mask) V; `turned`: the keys come column by column.
te::ComputeDag attention_of(int64_t heads, int64_t rows, int64_t columns, int64_t depth,
                            int64_t width, Mask mask, bool turned) {
  te::Builder b;
  const auto q = b.input("Q", ir::kF32, {heads, rows, depth});
  const auto k =
      b.input("K", ir::kF32,
              turned ? std::vector{heads, depth, columns} : std::vector{heads, columns, depth});
  const auto v = b.input("V", ir::kF32, {heads, columns, width});
  const auto m = b.input("M", ir::kF32, {columns});
  const auto s = te::batch_matmul(b, "S", q, k, false, !turned);
  const auto a = b.compute("A", {heads, rows, columns}, [&](std::span<const ir::Var> at) {
    const ir::Expr x = ir::load(s, {at[0], at[1], at[2]}) / ir::make_float(ir::kF32, 4);
    if (mask == Mask::kKeys) return x + ir::load(m, {at[2]});
    if (mask == Mask::kNone) return x;
    return ir::select(ir::lt(at[1], at[2]), ir::make_float(ir::kF32, -1e9), x);
  });
  b.output(te::batch_matmul(b, "O", te::softmax(b, "P", a), v));
  return b.finish();
}

void expect_right_with(const te::ComputeDag& dag, const Numbers& numbers) {
  const schedule::State initial = state_for(dag, "cuda simt");
  const auto p = write_with("gpu_attention", initial, {}, numbers);
  ASSERT_TRUE(p);
  Rng rng(1);
  const auto inputs = fuzz::random_inputs(dag, rng);
  const auto outcome = fuzz::check_program(p->state, inputs, te::evaluate(dag, inputs));
  EXPECT_FALSE(outcome.refused) << schedule::to_text(p->trace, initial);
  EXPECT_EQ(outcome.problem, "") << schedule::to_text(p->trace, initial);
}

TEST(GpuAttention, IsRightWithAnyNumbers) {
  const std::vector<te::ComputeDag> dags = {attention_of(2, 9, 13, 8, 8, Mask::kNone, false),
                                            attention_of(1, 11, 21, 6, 7, Mask::kKeys, false),
                                            attention_of(2, 8, 16, 8, 4, Mask::kCausal, true),
                                            attention_of(1, 17, 9, 5, 12, Mask::kKeys, true)};
  for (const te::ComputeDag& dag : dags) {
    expect_right_with(dag, {});
    expect_right_with(dag, {{"rows", 2}, {"row_threads", 2}, {"columns", 2}, {"depth", 8}});
    expect_right_with(dag, {{"rows", 4}, {"row_threads", 1}, {"width", 8}, {"pipeline", 0}});
    expect_right_with(dag, {{"rows", 1}, {"row_threads", 6}, {"columns", 8}, {"depth", 16}});
  }
}

// One kernel for whatever networks have: BERT, ViT, windows of Swin, longer ones.
TEST(GpuAttention, TakesShapesOfNetworks) {
  struct Shape {
    int64_t heads, rows, depth;
  };
  for (const auto& [heads, rows, depth] :
       {Shape{12, 128, 64}, Shape{12, 197, 64}, Shape{96, 49, 32}, Shape{16, 384, 64},
        Shape{8, 77, 40}, Shape{2, 512, 80}}) {
    for (const char* target : {"cuda sm_80", "cuda sm_86", "cuda sm_90"}) {
      const te::ComputeDag dag = attention_of(heads, rows, rows, depth, depth, Mask::kKeys, false);
      const schedule::State initial = state_for(dag, target);
      const Choice choice = choose(initial);
      EXPECT_EQ(choice.name, "gpu_attention") << target << " " << rows << " " << depth;
      const auto s = schedule::replay(initial, choice.trace);
      ASSERT_TRUE(s);
      const auto bounds = schedule::infer_bounds(*s);
      ASSERT_TRUE(bounds);
      const schedule::KernelShape k = schedule::kernel_shape(*s, *bounds, s->find("O"));
      EXPECT_GE(k.threads_per_block(), 64) << target << " " << rows << " " << depth;
      EXPECT_GE(k.all_blocks(), std::min<int64_t>(heads * rows / 64, 40));
    }
  }
}

TEST(GpuAttention, LeavesWhatDoesNotFit) {
  const te::ComputeDag dag = attention_of(2, 64, 20000, 64, 64, Mask::kNone, false);
  EXPECT_NE(choose(state_for(dag, "cuda sm_90")).name, "gpu_attention");
}

}  // namespace
}  // namespace tenon::templates
