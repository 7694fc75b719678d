// SPDX-License-Identifier: Apache-2.0
// Whatever a candidate, its compiler or a stranger does: one outcome per candidate, and no process stays.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "measure/build_process.h"
#include "measure/processes.h"
#include "measure/tasks.h"
#include "support/private_folder.h"
#include "support/rng.h"

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

struct Expected {
  Fault fault;
  Outcome measured;
  Verdict::Kind verified = Verdict::Kind::kUndecided;
};
constexpr auto kComparedWrong = Verdict::Kind::kWrong;

constexpr Expected kExpected[] = {
    {kSpins, Outcome::kRunTimeout},
    {kCrashes, Outcome::kRunCrash},
    {kWritesBehind,
     Outcome::kWrong},  // to verify it, its memory ends at a page that it may not touch
    {kWritesFarBefore, Outcome::kRunCrash},
    {kReturnsGarbage, Outcome::kOk, kComparedWrong},
    {kReturnsNothing, Outcome::kOk, kComparedWrong},
    {kLeaves, Outcome::kRunCrash},
    {kWritesInput, Outcome::kOk, kComparedWrong},
    {kCompilerHangs, Outcome::kCompileTimeout},
    {kCompilerEatsMemory, Outcome::kCompileMemory},
    {kCompilerCrashes, Outcome::kCompileError},
    {kCompilerBabbles, Outcome::kCompileError},
    {kLibraryIsRubbish, Outcome::kRunCrash},
};
static_assert(std::size(kExpected) == kFaults);

TEST(Faults, OfProgramsBuiltTogetherEachIsItsOwn) {
  const task::Task t = matmul_task(16, 16, 16);
  const std::vector<schedule::Trace> traces = {
      {}, fault_trace(kCompilerCrashes), fault_trace(kCompilerBabbles), {}};
  const DeviceOptions options = faulty_tools();
  const auto folder = PrivateFolder::temporary("together");
  BuildProcess process(options, folder.path());
  const auto built = process.build(t, traces, options.compile_limit_s);
  ASSERT_EQ(built.size(), traces.size());
  for (const size_t i : {0U, 3U}) EXPECT_EQ(built[i].outcome, Outcome::kOk) << built[i].error;
  for (const size_t i : {1U, 2U}) EXPECT_EQ(built[i].outcome, Outcome::kCompileError);
  EXPECT_NE(built[1].error, built[2].error);
}

TEST(Faults, EachIsAnOutcomeAndGoodOnesBetweenAreMeasured) {
  const task::Task t = matmul_task(16, 16, 16);
  std::vector<schedule::Trace> traces;
  for (const Expected& e : kExpected) {
    traces.push_back(fault_trace(e.fault));
    traces.emplace_back();
  }
  {
    const auto m = device_measurer(faulty_tools());
    const auto r = measure(*m, t, traces, 0, {});
    ASSERT_EQ(r.size(), traces.size());
    for (size_t i = 0; i < r.size(); ++i) {
      const Outcome want = i % 2 == 1 ? Outcome::kOk : kExpected[i / 2].measured;
      EXPECT_EQ(to_string(r[i].outcome), to_string(want)) << i << " " << r[i].error;
      EXPECT_EQ(r[i].error.empty(), want == Outcome::kOk) << i;
      EXPECT_EQ(r[i].seconds.empty(), want != Outcome::kOk) << i;
    }
  }
  EXPECT_TRUE(testing::children_of(getpid()).empty());
}

// Only what was compared is wrong; what came to no answer is not judged.
TEST(Faults, VerifySeesThem) {
  const task::Task t = matmul_task(16, 16, 16);
  const auto m = device_measurer(faulty_tools());
  for (const Expected& e : kExpected) {
    if (e.fault == kCompilerHangs) continue;  // slow
    const Verdict v = m->verify(t, fault_trace(e.fault));
    EXPECT_EQ(v.kind, e.verified) << e.fault << " " << v.why;
    EXPECT_NE(v.why, "") << e.fault;
  }
  EXPECT_TRUE(m->verify(t, {}).right());
}

TEST(Faults, KnownBestCutsOff) {
  const task::Task t = matmul_task(16, 16, 16);
  DeviceOptions o = faulty_tools();
  o.run_limit_s = 60;
  const auto m = device_measurer(o);
  const std::vector<schedule::Trace> spins = {fault_trace(kSpins)};
  const auto r = measure(*m, t, spins, 1e-5, {});
  EXPECT_EQ(r[0].outcome, Outcome::kRunTimeout);
  EXPECT_LT(r[0].run_s, 30);
}

TEST(Faults, KillingAnyProcessAtAnyTimeLosesNothing) {
  const task::Task t = matmul_task(16, 16, 16);
  constexpr uint64_t kSeed = 20;
  constexpr int kKills = 100;
  std::atomic<int> kills = 0;
  std::atomic<bool> done = false;
  std::thread killer([&] {
    Rng rng(kSeed);
    while (kills < kKills && !done) {
      usleep(static_cast<useconds_t>(rng.between(1000, 60'000)));
      const auto pids = testing::children_of(getpid());
      if (pids.empty()) continue;
      if (kill(rng.pick(pids), SIGKILL) == 0) ++kills;
    }
  });
  int measured = 0;
  {
    const auto m = device_measurer(faulty_tools());
    const std::vector<schedule::Trace> traces(8);
    for (int round = 0; round < 1000 && kills < kKills; ++round) {
      const auto r = measure(*m, t, traces, 0, {});
      ASSERT_EQ(r.size(), traces.size()) << "seed " << kSeed;
      for (const auto& one : r) measured += one.outcome == Outcome::kOk ? 1 : 0;
    }
    done = true;
    killer.join();
    // All is well afterwards.
    for (const auto& one : measure(*m, t, traces, 0, {})) {
      EXPECT_EQ(one.outcome, Outcome::kOk) << one.error;
    }
    EXPECT_EQ(m->verify(t, {}).why, "");
  }
  EXPECT_EQ(kills, kKills);
  EXPECT_GT(measured, 0);
  EXPECT_TRUE(testing::children_of(getpid()).empty());
}

TEST(Faults, NothingOutlivesTheMeasurersProcess) {
  const std::string folder = ::testing::TempDir() + "measure_orphan";
  std::filesystem::create_directories(folder);
  std::string place = "TMPDIR=" + folder;
  char* environment[] = {place.data(), nullptr};
  for (const int fault : {int{kSpins}, int{kCompilerHangs}}) {
    std::string program = TENON_ORPHAN;
    std::string arg = std::to_string(fault);
    char* argv[] = {program.data(), arg.data(), nullptr};
    pid_t pid = 0;
    ASSERT_EQ(posix_spawn(&pid, argv[0], nullptr, nullptr, argv, environment), 0);
    std::vector<pid_t> tools;
    const size_t most = fault == kSpins ? 3 : 2;
    for (int i = 0; i < 1000 && tools.size() < most; ++i) {
      usleep(10'000);
      tools = testing::children_of(pid);
    }
    EXPECT_EQ(tools.size(), most);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    EXPECT_TRUE(testing::gone_within(tools, 10)) << fault;
    EXPECT_TRUE(std::filesystem::is_empty(folder)) << fault;
  }
}

}  // namespace
}  // namespace tenon::measure
