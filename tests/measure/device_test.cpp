// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "measure/processes.h"
#include "measure/tasks.h"
#include "support/check.h"
#include "templates/template.h"

namespace tenon::measure {
namespace {

using task::Outcome;

DeviceOptions real_tools() {
  DeviceOptions o;
  o.build_tool = TENON_BUILD;
  o.run_tool = TENON_RUN;
  o.builders = 2;
  return o;
}

schedule::Trace template_trace(const task::Task& t) {
  return templates::choose(schedule::State(t.dag, t.target), {t.edges, true}).trace;
}

TEST(Device, TemplateIsFasterThanTheDefinitionAndBothAreRight) {
  const task::Task t = matmul_task(192, 160, 224);
  const std::vector<schedule::Trace> traces = {template_trace(t), {}};
  for (const bool cold : {true, false}) {
    DeviceOptions o = real_tools();
    o.protocol.cold = cold;
    const auto m = device_measurer(o);
    const auto r = m->measure(t, traces, 0, {});
    ASSERT_EQ(r.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(r[i].outcome, Outcome::kOk) << r[i].error;
      EXPECT_EQ(r[i].task, t.key);
      EXPECT_EQ(r[i].target, m->target());
      EXPECT_EQ(r[i].protocol, m->protocol());
      EXPECT_EQ(r[i].trace, schedule::to_json(traces[i]));
      EXPECT_LE(r[i].best_s, r[i].median_s);
      EXPECT_LE(r[i].low_s, r[i].median_s);
      EXPECT_GE(r[i].high_s, r[i].median_s);
      EXPECT_GT(r[i].time, 0);
      EXPECT_EQ(m->verify(t, traces[i]), "");
    }
    EXPECT_LT(r[0].median_s, r[1].median_s);
  }
  EXPECT_TRUE(testing::children_of(getpid()).empty());
}

TEST(Device, SmallWorkIsComparedWithTheEvaluator) {
  DeviceOptions o = real_tools();
  o.protocol.threads = 2;
  const auto m = device_measurer(o);
  for (const auto& [a, b, c] : {std::array<int64_t, 3>{1, 1, 1}, {7, 13, 5}, {17, 31, 3}}) {
    const task::Task t = matmul_task(a, b, c);
    EXPECT_EQ(m->verify(t, template_trace(t)), "") << a << " " << b << " " << c;
    EXPECT_EQ(m->verify(t, {}), "") << a << " " << b << " " << c;
  }
}

TEST(Device, EdgesThatAreNotKeptAreRefused) {
  task::Task t = matmul_task(16, 16, 16);
  t = task::make_task(t.dag, {{"C", layout::Layout({16, 16}).reorder({1, 0})}}, t.target);
  const auto m = device_measurer(real_tools());
  const std::vector<schedule::Trace> traces = {{}, task::edge_steps(t)};
  const auto r = m->measure(t, traces, 0, {});
  EXPECT_EQ(r[0].outcome, Outcome::kRefused);
  EXPECT_EQ(r[1].outcome, Outcome::kOk) << r[1].error;
  EXPECT_EQ(m->verify(t, traces[1]), "");
  EXPECT_NE(m->verify(t, traces[0]), "");
}

TEST(Device, FinalsAreOrderedAndStopEndsABatch) {
  const task::Task t = matmul_task(96, 96, 96);
  const auto m = device_measurer(real_tools());
  const std::vector<schedule::Trace> traces = {{}, template_trace(t), fault_trace(1000)};
  const auto r = m->finals(t, traces, 1);
  ASSERT_EQ(r.size(), 3u);
  EXPECT_LT(r[1].median_s, r[0].median_s);
  EXPECT_EQ(r[2].outcome, Outcome::kRefused);  // too much to unroll
  int asked = 0;
  EXPECT_EQ(m->measure(t, traces, 0, [&] { return ++asked > 2; }).size(), 1u);
}

TEST(Device, ToolsThatAreNotThereAreTheUsersFault) {
  DeviceOptions o = real_tools();
  o.build_tool = "/nowhere/tenon-build";
  const auto m = device_measurer(o);
  const std::vector<schedule::Trace> one(1);
  EXPECT_THROW(m->measure(matmul_task(4, 4, 4), one, 0, {}), UserError);
}

}  // namespace
}  // namespace tenon::measure
