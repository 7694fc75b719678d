// SPDX-License-Identifier: Apache-2.0
#include "measure/sim_gpu_cost.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "measure/sim_cost.h"
#include "schedule/primitives/bind.h"
#include "schedule/scheduled.h"

namespace tenon::measure {
namespace {

using ir::ThreadTag;
using Bound = std::vector<std::pair<std::string, ThreadTag>>;

constexpr const char* kProduct = R"(
input A: f32[256, 256]
input B: f32[256, 256]
C[i: 256, j: 256] = sum(k: 256) A[i, k] * B[k, j]
output C
)";

double pretended(const std::string& trace, const Bound& loops) {
  schedule::State s = schedule::scheduled(kProduct, trace, "cuda sm_90");
  const schedule::StageId id = s.find("C");
  for (const auto& [name, tag] : loops) {
    for (const schedule::LoopId l : s.stage(id).leaves) {
      if (s.stage(id).loop_name(l) != name) continue;
      schedule::Bind{{id}, {l}, tag}.apply(s);
      break;
    }
  }
  const auto b = schedule::infer_bounds(s);
  EXPECT_TRUE(b);
  const double seconds = pretend_gpu_seconds(s, *b);
  EXPECT_EQ(seconds, pretend_seconds(s, *b, 4)) << "cores are nothing to it";
  return seconds;
}

TEST(SimGpuCost, HasSomethingToFind) {
  const double alone = pretended("", {});
  const double blocks = pretended("", {{"i", ThreadTag::kBlockX}});
  const double threads = pretended("", {{"i", ThreadTag::kBlockX}, {"j", ThreadTag::kThreadX}});
  const double apart = pretended("", {{"j", ThreadTag::kBlockX}, {"i", ThreadTag::kThreadX}});
  EXPECT_LT(blocks, alone);
  EXPECT_LT(threads, blocks);
  EXPECT_LT(threads, apart);
  EXPECT_GT(threads, 1e-6);
  EXPECT_LT(threads, 1e-3);
}

}  // namespace
}  // namespace tenon::measure
