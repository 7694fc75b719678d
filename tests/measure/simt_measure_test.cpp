// SPDX-License-Identifier: Apache-2.0
// Programs for a GPU from the trace to the verdict: built as by tenon-build, timed and compared by tenon-run, on this
// machine's processor instead of a card.
#include <gtest/gtest.h>

#include <cstdlib>

#include "measure/measure.h"
#include "te/text.h"

namespace tenon::measure {
namespace {

using task::Outcome;

constexpr const char* kBound = R"(
split C i [8]
split C j [8]
reorder C [i.0, j.0, i.1, j.1, k]
bind C i.0 block_y
bind C j.0 block_x
bind C i.1 thread_y
bind C j.1 thread_x
)";

task::Task product(int64_t n) {
  const std::string size = std::to_string(n);
  const std::string text = "input A: f32[" + size + ", 40]\nconst B: f32[40, " + size +
                           "]\nC[i: " + size + ", j: " + size +
                           "] = sum(k: 40) A[i, k] * B[k, j]\noutput C\n";
  return task::make_task(std::make_shared<const te::ComputeDag>(te::parse(text)), {},
                         std::make_shared<const target::Target>(target::parse_target("cuda simt")));
}

schedule::Trace trace_of(const task::Task& t, const std::string& text) {
  return schedule::parse_trace(text, schedule::State(t.dag, t.target));
}

class SimtMeasure : public testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("TENON_CUDA_LIBRARY", TENON_SIMT_LIBRARY, 1); }

  std::unique_ptr<Measurer> m_ = [] {
    DeviceOptions o;
    o.build_tool = TENON_BUILD;
    o.run_tool = TENON_RUN;
    o.builders = 1;
    o.on_card = true;
    o.min_run_s = 0.005;
    return device_measurer(o);
  }();
};

TEST_F(SimtMeasure, ProgramsAreTimedAndVerified) {
  const task::Task t = product(20);
  const std::vector<schedule::Trace> traces = {trace_of(t, kBound)};
  const auto r = measure(*m_, t, traces, 0);
  ASSERT_EQ(r[0].outcome, Outcome::kOk) << r[0].error;
  EXPECT_GT(r[0].median_s, 0);
  EXPECT_EQ(r[0].target, measured_target(*t.target));
  EXPECT_EQ(m_->verify(t, traces[0]).why, "");
  EXPECT_GT(m_->finals(t, traces, 0.01)[0].median_s, 0);
  EXPECT_TRUE(m_->overlaps());
}

// Too much work for the evaluation of the definition: it is compiled for this machine's own processor.
TEST_F(SimtMeasure, LargerOnesAreComparedWithTheDefinitionOnACpu) {
  const task::Task t = product(100);
  EXPECT_EQ(m_->verify(t, trace_of(t, kBound)).why, "");
}

TEST_F(SimtMeasure, ProgramsAreComparedWhileOthersAreTimed) {
  const task::Task t = product(100);
  const std::vector<schedule::Trace> traces(3, trace_of(t, kBound));
  std::vector<std::future<Verdict>> verdicts;
  for (const schedule::Trace& trace : traces) verdicts.push_back(m_->verify_beside(t, trace));
  for (const auto& r : measure(*m_, t, traces, 0)) EXPECT_EQ(r.outcome, Outcome::kOk) << r.error;
  for (auto& v : verdicts) EXPECT_EQ(v.get().why, "");
}

TEST_F(SimtMeasure, AProgramThatTheCardCannotHoldIsRefused) {
  const task::Task t = product(40);
  const std::vector<schedule::Trace> traces = {
      trace_of(t, "bind C i thread_y\nbind C j thread_x\n")};
  const auto r = measure(*m_, t, traces, 0);
  EXPECT_EQ(r[0].outcome, Outcome::kRefused) << r[0].error;
  EXPECT_NE(r[0].error, "");
}

}  // namespace
}  // namespace tenon::measure
