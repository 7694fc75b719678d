// SPDX-License-Identifier: Apache-2.0
// kill -9 of every process of a tuning run at random moments: no record is lost or doubled, no process stays, the artifact
// on disk is whole and right, and the run goes on.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "measure/processes.h"
#include "support/rng.h"
#include "tools/tenon_command.h"
#include "tools/tune_run.h"

namespace tenon::testing {
namespace {

using Json = nlohmann::json;

// What every moment of a run must keep to, seen from outside.
void expect_sound(const TuneFolder& f, const std::vector<Json>& shown, const std::string& when) {
  EXPECT_TRUE(gone_within(f.processes(), 20)) << when;
  if (shown.empty()) return;
  const std::string run = shown.front()["run"];
  const int64_t recorded = f.expect_sound_records(run, when);
  for (const Json& e : of_kind(shown, "round")) {
    EXPECT_GE(recorded, e["measured"].get<int64_t>()) << when << ": shown, but not recorded";
  }
  const auto stored = f.database()->events(run);
  EXPECT_GE(stored.size(), shown.size()) << when;
  if (!of_kind(shown, "artifact").empty()) f.expect_right_artifact(when);
}

TEST(TuneKills, KillingTheRunLosesNothing) {
  constexpr uint64_t kSeed = 41;
  constexpr int kKills = 34;
  const TuneFolder f("tune_killed");
  Rng rng(kSeed);
  const Args args = {"--trials", "60", "--round", "4", "--jsonl", "-q", "--threads", "1"};
  int kills = 0;
  int finished = 0;
  while (kills < kKills) {
    const auto run = f.start(args);
    usleep(static_cast<useconds_t>(rng.between(0, 1'000'000)));
    finished += run->ended() ? 1 : 0;
    kills += run->ended() ? 0 : 1;
    run->signal(SIGKILL);
    const Outcome o = run->wait();
    const std::string when = "seed " + std::to_string(kSeed) + ", kill " + std::to_string(kills);
    expect_sound(f, events_of(o.out), when);
    if (::testing::Test::HasFailure()) FAIL() << when;
  }
  const Outcome last = f.run(args);
  EXPECT_EQ(last.exit_code, 0) << last.err;
  expect_sound(f, events_of(last.out), "the last run");
  // Of each run 60 programs were measured, however often it was killed.
  const auto runs = f.database()->runs();
  EXPECT_LE(runs.size(), static_cast<size_t>(finished) + 1) << "a kill began a new run";
  for (const auto& r : runs) EXPECT_EQ(f.expect_sound_records(r.id, "at the end"), 60) << r.id;
}

TEST(TuneKills, KillingItsToolsLosesNothing) {
  constexpr uint64_t kSeed = 42;
  constexpr int kKills = 66;
  const TuneFolder f("tune_tools_killed");
  std::map<std::string, int> kills;
  int all = 0;
  Rng rng(kSeed);
  const Args args = {"--trials", "4000", "--round", "16", "--jsonl", "-q", "--threads", "1"};
  const auto run = f.start(args);
  while (all < kKills && !run->ended()) {
    usleep(static_cast<useconds_t>(rng.between(1000, 100'000)));
    auto pids = children_of(run->pid());
    if (pids.empty()) continue;
    const pid_t pid = rng.pick(pids);
    std::string name;
    std::ifstream("/proc/" + std::to_string(pid) + "/comm") >> name;
    // Turn by turn, so that both are hit often enough.
    if (name != (all % 2 == 0 ? "tenon-build" : "tenon-run") || kill(pid, SIGKILL) != 0) continue;
    ++kills[name];
    ++all;
  }
  EXPECT_EQ(all, kKills) << "seed " << kSeed << "\n" << run->err();
  EXPECT_FALSE(run->ended()) << run->err();
  run->signal(SIGINT);
  const Outcome o = run->wait();
  EXPECT_EQ(o.exit_code, 130) << o.err;
  expect_sound(f, events_of(o.out), "seed " + std::to_string(kSeed));
  int64_t good = 0;
  for (const auto& m : f.database()->measurements({})) {
    good += m.outcome == task::Outcome::kOk ? 1 : 0;
  }
  EXPECT_GT(good, 0);
}

}  // namespace
}  // namespace tenon::testing
