// SPDX-License-Identifier: Apache-2.0
// Jobs in flight while others fail, are killed or are cancelled: what happens to one is no other's business.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <map>

#include "measure/processes.h"
#include "measure/tasks.h"

namespace tenon::measure {
namespace {

using task::Outcome;

DeviceOptions faulty_tools() {
  DeviceOptions o;
  o.build_tool = TENON_FAULTY_BUILD;
  o.run_tool = TENON_RUN;
  o.builders = 2;
  o.compile_limit_s = 2;
  o.compile_memory_bytes = int64_t{1} << 30;
  o.run_limit_s = 1;
  o.min_run_s = 0.002;
  return o;
}

// Waits for a child of that name; 0: there is none.
pid_t find_child(const std::string& wanted) {
  for (int i = 0; i < 12000; ++i) {
    for (const pid_t pid : testing::children_of(getpid())) {
      std::string name;
      std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
      if (name == wanted) return pid;
    }
    usleep(5000);
  }
  return 0;
}

class Overlap : public ::testing::Test {
 protected:
  JobId submit(const schedule::Trace& trace) {
    ++submitted_;
    return m_->submit({task_, trace, 0});
  }
  // All that are in flight, each exactly once.
  std::map<JobId, std::optional<task::Measurement>> all() {
    std::map<JobId, std::optional<task::Measurement>> got;
    collect(*m_, submitted_, {},
            [&](Done d) { EXPECT_TRUE(got.emplace(d.id, std::move(d.measurement)).second); });
    submitted_ = 0;
    return got;
  }

  task::Task task_ = matmul_task(16, 16, 16);
  std::unique_ptr<Measurer> m_ = device_measurer(faulty_tools());
  size_t submitted_ = 0;
};

TEST_F(Overlap, ABuilderThatDiesCostsItsJobAlone) {
  const JobId spins = submit(fault_trace(kSpins));
  const JobId crashes = submit(fault_trace(kCompilerCrashes));
  for (int i = 0; i < 6; ++i) submit({});
  for (const auto& [id, m] : all()) {
    ASSERT_TRUE(m);
    const Outcome want = id == spins     ? Outcome::kRunTimeout
                         : id == crashes ? Outcome::kCompileError
                                         : Outcome::kOk;
    EXPECT_EQ(to_string(m->outcome), to_string(want)) << id << " " << m->error;
  }
}

TEST_F(Overlap, ABuilderThatIsKilledWhileAnotherJobRuns) {
  submit(fault_trace(kSpins));
  ASSERT_GT(find_child("tenon-run"), 0);
  const JobId hangs = submit(fault_trace(kCompilerHangs));
  for (int i = 0; i < 4; ++i) submit({});
  const pid_t builder = find_child("faulty_build");
  ASSERT_GT(builder, 0);
  kill(builder, SIGKILL);
  for (const auto& [id, m] : all()) {
    ASSERT_TRUE(m);
    if (id == 1) {
      EXPECT_EQ(m->outcome, Outcome::kRunTimeout);
    } else if (id == hangs) {
      EXPECT_EQ(m->outcome, Outcome::kCompileTimeout) << m->error;
    } else {
      EXPECT_EQ(m->outcome, Outcome::kOk) << m->error;
    }
  }
}

TEST_F(Overlap, ARunnerThatIsKilledWhileBuildersWorkAhead) {
  for (int i = 0; i < 12; ++i) submit({});
  const pid_t runner = find_child("tenon-run");
  ASSERT_GT(runner, 0);
  kill(runner, SIGKILL);
  for (const auto& [id, m] : all()) {
    ASSERT_TRUE(m);
    EXPECT_EQ(m->outcome, Outcome::kOk) << id << " " << m->error;
  }
}

TEST_F(Overlap, VerifyingDoesNotWaitForJobs) {
  for (int i = 0; i < 8; ++i) submit(i % 2 == 0 ? fault_trace(kSpins) : schedule::Trace());
  EXPECT_EQ(m_->verify(task_, {}).why, "");
  EXPECT_TRUE(m_->verify(task_, fault_trace(kReturnsGarbage)).wrong());
  std::map<std::string, int> outcomes;
  for (const auto& [id, m] : all()) ++outcomes[to_string(m->outcome)];
  EXPECT_EQ(outcomes, (std::map<std::string, int>{{"ok", 4}, {"run-timeout", 4}}));
}

TEST_F(Overlap, WhatIsCancelledComesBackEmptyAndTheRestIsKept) {
  for (int i = 0; i < 2; ++i) submit(fault_trace(kSpins));
  for (int i = 0; i < 10; ++i) submit({});
  ASSERT_GT(find_child("tenon-run"), 0);
  usleep(200'000);
  m_->cancel_waiting();
  const auto start = std::chrono::steady_clock::now();
  size_t kept = 0;
  for (const auto& [id, m] : all()) kept += m ? 1 : 0;
  EXPECT_LT(kept, 12U);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  // All is well afterwards.
  for (int i = 0; i < 4; ++i) submit({});
  for (const auto& [id, m] : all()) EXPECT_TRUE(m && m->outcome == Outcome::kOk);
}

TEST_F(Overlap, StoppingKeepsWhatIsDone) {
  constexpr size_t kJobs = 40;
  for (size_t i = 0; i < kJobs; ++i) submit({});
  size_t kept = 0;
  size_t cancelled = 0;
  const bool whole = collect(
      *m_, kJobs, [&] { return kept >= 2; },
      [&](const Done& d) {
        ++(d.measurement ? kept : cancelled);
        if (d.measurement) EXPECT_EQ(d.measurement->outcome, Outcome::kOk) << d.measurement->error;
      });
  EXPECT_FALSE(whole);
  EXPECT_GE(kept, 2U);
  EXPECT_GT(cancelled, 0U);
  EXPECT_EQ(kept + cancelled, kJobs);
}

TEST_F(Overlap, EndingDoesNotWaitForWhatHangs) {
  DeviceOptions o = faulty_tools();
  o.compile_limit_s = o.run_limit_s = 600;
  m_ = device_measurer(o);
  submit(fault_trace(kSpins));
  ASSERT_GT(find_child("tenon-run"), 0);
  submit(fault_trace(kCompilerHangs));
  submit(fault_trace(kCompilerHangs));
  ASSERT_GT(find_child("faulty_build"), 0);
  const auto start = std::chrono::steady_clock::now();
  m_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_TRUE(testing::children_of(getpid()).empty());
}

}  // namespace
}  // namespace tenon::measure
