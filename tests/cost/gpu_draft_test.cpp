// SPDX-License-Identifier: Apache-2.0
// What anybody who writes kernels knows, and so must the draft for GPUs: nothing here is fitted.
#include "cost/gpu_draft.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cost/draft.h"
#include "cost/features.h"
#include "schedule/primitives/bind.h"
#include "schedule/scheduled.h"

namespace tenon::cost {
namespace {

using ir::ThreadTag;
using Bound = std::vector<std::pair<std::string, ThreadTag>>;

schedule::State bound(const std::string& te, const std::string& trace, const Bound& loops) {
  schedule::State s = schedule::scheduled(te, trace, "cuda sm_90");
  const schedule::StageId id = s.find("C");
  for (const auto& [name, tag] : loops) {
    const schedule::Stage& st = s.stage(id);
    for (const schedule::LoopId l : st.leaves) {
      if (st.loop_name(l) != name) continue;
      schedule::Bind{{id}, {l}, tag}.apply(s);
      break;
    }
  }
  return s;
}

double seconds(const std::string& te, const std::string& trace, const Bound& loops) {
  const schedule::State s = bound(te, trace, loops);
  const auto b = schedule::infer_bounds(s, -1, schedule::BoundsFor::kSearch);
  EXPECT_TRUE(b) << trace;
  const double drafted = gpu_draft_seconds(s, *b);
  EXPECT_EQ(drafted, draft_seconds(s, *b));
  EXPECT_GT(drafted, 0);
  // Cost models look at such programs too.
  EXPECT_FALSE(extract(s, *b).values.empty());
  return drafted;
}

constexpr const char* kSum = R"(
input A: f32[4096, 1024]
C[i: 4096, j: 1024] = A[i, j] + 1.0
output C
)";

constexpr const char* kProduct = R"(
input A: f32[1024, 1024]
input B: f32[1024, 1024]
C[i: 1024, j: 1024] = sum(k: 1024) A[i, k] * B[k, j]
output C
)";

const Bound kRows = {{"i", ThreadTag::kBlockX}, {"j.1", ThreadTag::kThreadX}};

TEST(GpuDraft, ThreadsAreFasterThanOneThread) {
  const double alone = seconds(kSum, "", {});
  EXPECT_GT(alone, 100 * seconds(kSum, "split C j [256]", kRows));
}

TEST(GpuDraft, AFullCardIsFasterThanAFewBlocks) {
  const double full = seconds(kSum, "split C j [256]", kRows);
  const double few = seconds(kSum, "split C i [1024]\nsplit C j [256]",
                             {{"i.0", ThreadTag::kBlockX}, {"j.1", ThreadTag::kThreadX}});
  EXPECT_LT(2 * full, few);
}

TEST(GpuDraft, NeighboursSideBySideAreFasterThanFarApart) {
  const double apart = seconds(kSum, "split C i [256]\nreorder C [j, i.0, i.1]",
                               {{"j", ThreadTag::kBlockX}, {"i.1", ThreadTag::kThreadX}});
  EXPECT_LT(2 * seconds(kSum, "split C j [256]", kRows), apart);
}

TEST(GpuDraft, ATileOfSumsIsFasterThanOneSum) {
  const double one =
      seconds(kProduct, "split C i [16]\nsplit C j [16]\nreorder C [i.0, j.0, i.1, j.1, k]",
              {{"i.0", ThreadTag::kBlockY},
               {"j.0", ThreadTag::kBlockX},
               {"i.1", ThreadTag::kThreadY},
               {"j.1", ThreadTag::kThreadX}});
  const double tile = seconds(
      kProduct, "split C i [4, 16]\nsplit C j [4, 16]\nreorder C [i.0, j.0, i.2, j.2, k, i.1, j.1]",
      {{"i.0", ThreadTag::kBlockY},
       {"j.0", ThreadTag::kBlockX},
       {"i.2", ThreadTag::kThreadY},
       {"j.2", ThreadTag::kThreadX}});
  EXPECT_LT(tile, one);
  const double peak = 2.0 * 1024 * 1024 * 1024 / 60e12;
  EXPECT_GT(tile, peak);
}

TEST(GpuDraft, NothingIsFasterThanALaunch) {
  EXPECT_GT(seconds("input A: f32[32]\nC[i: 32] = A[i] + 1.0\noutput C\n", "",
                    {{"i", ThreadTag::kThreadX}}),
            1e-6);
}

}  // namespace
}  // namespace tenon::cost
