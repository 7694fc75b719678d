// SPDX-License-Identifier: Apache-2.0
// Adds a device as docs/adding/device.md says: an implementation, a row, a target that names it. Nothing else knows it.
#include <gtest/gtest.h>

#include "measure/tasks.h"
#include "measure/toy_device.h"

namespace tenon::measure {
namespace {

using task::Outcome;

task::Task toy_matmul() {
  const task::Task t = matmul_task(17, 31, 5);
  target::Target toy = *t.target;
  toy.device = "toy";
  return task::make_task(t.dag, {}, std::make_shared<const target::Target>(toy));
}

DeviceOptions tools(const char* run_tool) {
  DeviceOptions o;
  o.build_tool = TENON_BUILD;
  o.run_tool = run_tool;
  o.builders = 1;
  return o;
}

TEST(ToyDevice, IsMeasuredAndVerifiedLikeAnyOther) {
  const task::Task t = toy_matmul();
  const auto m = device_measurer(tools(TENON_TOY_RUN));
  const std::vector<schedule::Trace> traces(1);
  const auto r = measure(*m, t, traces, 0);
  ASSERT_EQ(r[0].outcome, Outcome::kOk) << r[0].error;
  EXPECT_EQ(r[0].median_s, run::kToySeconds);
  EXPECT_EQ(m->verify(t, traces[0]).why, "");
  EXPECT_EQ(m->finals(t, traces, 0.01)[0].median_s, run::kToySeconds);
}

TEST(ToyDevice, AMachineWithoutItDecidesNothing) {
  const task::Task t = toy_matmul();
  const auto m = device_measurer(tools(TENON_RUN));
  const std::vector<schedule::Trace> traces(1);
  const auto r = measure(*m, t, traces, 0);
  EXPECT_EQ(to_string(r[0].outcome), "undecided");
  EXPECT_EQ(r[0].error, "there is no device 'toy'");
  EXPECT_EQ(m->verify(t, traces[0]).kind, Verdict::Kind::kUndecided);
}

}  // namespace
}  // namespace tenon::measure
