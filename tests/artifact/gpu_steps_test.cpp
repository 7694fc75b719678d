// SPDX-License-Identifier: Apache-2.0
#include "artifact/gpu_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "artifact/gpu_programs.h"
#include "support/rng.h"

namespace tenon::artifact {
namespace {

using After = std::vector<std::vector<int32_t>>;

// Kernels with a launch each, and this much workspace.
std::vector<CompiledKernel> kernels_of(const Program& p, const std::vector<int64_t>& workspaces) {
  std::vector<CompiledKernel> kernels(p.kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    kernels[i].gpu.launches.resize(1);
    kernels[i].workspace_bytes = i < workspaces.size() ? workspaces[i] : 0;
  }
  return kernels;
}

After after(const GpuSteps& order) {
  After list;
  for (const GpuStep& s : order.steps) list.push_back(s.after);
  return list;
}

// Steps of one kernel each that read and write places of the arena, 64 bytes each.
Program arena_program(const std::vector<std::pair<std::vector<int64_t>, int64_t>>& steps) {
  Program p;
  for (const auto& [reads, write] : steps) {
    Kernel k;
    k.function.num_inputs = reads.size();
    Step s;
    s.kernel = static_cast<int32_t>(p.kernels.size());
    for (const int64_t at : reads) s.params.push_back({Place::kArena, 0, 64 * at, 64});
    s.params.push_back({Place::kArena, 0, 64 * write, 64});
    p.kernels.push_back(k);
    p.steps.push_back(s);
  }
  return p;
}

TEST(GpuSteps, BranchesWaitForWhatTheyReadOnly) {
  const Program p = branching_program("net", target::gpu_targets().back(), 100);
  EXPECT_EQ(after(order_steps(p, kernels_of(p, {}))), (After{{}, {0}, {0}, {1, 2}, {0}}));
}

TEST(GpuSteps, MemoryThatIsTakenOverIsWaitedFor) {
  // Step 2 writes where step 0 wrote and step 1 reads; step 3 reads what step 2 wrote.
  const Program p = arena_program({{{}, 0}, {{0}, 1}, {{}, 0}, {{0}, 2}, {{1}, 3}});
  EXPECT_EQ(after(order_steps(p, kernels_of(p, {}))), (After{{}, {0}, {1}, {2}, {1}}));
}

TEST(GpuSteps, StepsWithoutLaunchesAreNotWaitedFor) {
  const Program p = arena_program({{{}, 0}, {{0}, 1}, {{1}, 2}});
  std::vector<CompiledKernel> kernels = kernels_of(p, {});
  kernels[1].gpu.launches.clear();
  EXPECT_EQ(after(order_steps(p, kernels)), (After{{}, {}, {}}));
}

TEST(GpuSteps, StepsThatMayRunAtOnceHaveScratchOfTheirOwn) {
  // 0 -> {1 .. 6} side by side, then a chain of two more.
  const Program p = arena_program(
      {{{}, 0}, {{0}, 1}, {{0}, 2}, {{0}, 3}, {{0}, 4}, {{0}, 5}, {{0}, 6}, {{6}, 7}, {{7}, 8}});
  const GpuSteps order = order_steps(p, kernels_of(p, {100, 100, 200, 100, 100, 100, 0, 300, 0}));
  EXPECT_EQ(order.steps[0].scratch_offset, order.steps[1].scratch_offset);  // 1 waits for 0
  // The fifth one beside it waits for the first.
  EXPECT_EQ(after(order), (After{{}, {0}, {0}, {0}, {0}, {1}, {0}, {2, 6}, {7}}));
  EXPECT_EQ(order.steps[5].scratch_offset, order.steps[1].scratch_offset);
  EXPECT_EQ(order.steps[7].scratch_offset, order.steps[2].scratch_offset);
  EXPECT_EQ(order.scratch_bytes, 256 + 512 + 256 + 256);
}

struct RandomSteps {
  explicit RandomSteps(uint64_t seed) {
    Rng rng(seed);
    for (size_t i = 0; i < kCount; ++i) {
      std::vector<int64_t> reads;
      for (int64_t r = rng.between(0, 2); r > 0; --r) reads.push_back(rng.between(0, 11));
      steps.emplace_back(reads, rng.between(0, 11));
      workspaces.push_back(100 * rng.between(0, 2));
    }
  }
  bool meet(size_t s, size_t t) const {
    const auto has = [](const std::vector<int64_t>& list, int64_t v) {
      return std::find(list.begin(), list.end(), v) != list.end();
    };
    const auto& [reads, write] = steps[s];
    const auto& [other_reads, other_write] = steps[t];
    return write == other_write || has(reads, other_write) || has(other_reads, write);
  }
  static constexpr size_t kCount = 20;
  std::vector<std::pair<std::vector<int64_t>, int64_t>> steps;
  std::vector<int64_t> workspaces;
};

// What is done before each step; fails where a step waits for what is done already.
std::vector<std::vector<bool>> done_before(const GpuSteps& order) {
  const size_t n = order.steps.size();
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n, false));
  for (size_t s = 0; s < n; ++s) {
    for (const int32_t t : order.steps[s].after) {
      const auto at = static_cast<size_t>(t);
      EXPECT_LT(at, s);
      before[s][at] = true;
      for (size_t u = 0; u < n; ++u) before[s][u] = before[s][u] || before[at][u];
    }
    for (const int32_t t : order.steps[s].after) {
      for (const int32_t u : order.steps[s].after) {
        EXPECT_FALSE(before[static_cast<size_t>(t)][static_cast<size_t>(u)]);
      }
    }
  }
  return before;
}

// Two steps that meet in memory or in scratch are ordered, whatever they are.
TEST(GpuSteps, RandomProgramsKeepTheirMeaning) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const RandomSteps random(seed);
    const Program p = arena_program(random.steps);
    const GpuSteps order = order_steps(p, kernels_of(p, random.workspaces));
    const auto before = done_before(order);
    for (size_t s = 0; s < RandomSteps::kCount; ++s) {
      for (size_t t = 0; t < s; ++t) {
        const bool share = random.workspaces[s] > 0 && random.workspaces[t] > 0 &&
                           order.steps[s].scratch_offset == order.steps[t].scratch_offset;
        ASSERT_TRUE(before[s][t] || (!random.meet(s, t) && !share))
            << "seed " << seed << ": " << t << " before " << s;
      }
    }
  }
}

}  // namespace
}  // namespace tenon::artifact
