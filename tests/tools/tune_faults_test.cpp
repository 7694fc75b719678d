// SPDX-License-Identifier: Apache-2.0
// Whatever programs, compilers, disks and databases do to a tuning run, a record is neither lost nor doubled, and the
// artifact on disk is whole and right.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "measure/faults.h"
#include "support/rng.h"
#include "tools/tenon_command.h"
#include "tools/tune_run.h"

namespace tenon::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

void use_faulty_tools(TuneFolder& f, const std::string& plan) {
  f.variables["TENON_FAULT_PLAN"] = plan;
  f.variables["TENON_FAULT_MEMORY"] = f.path("faults").string();
  fs::create_directories(f.path("faults"));
}

TEST(TuneFaults, BadProgramsAndCompilersDoNotEndARun) {
  TuneFolder f("tune_faults");
  using namespace measure;  // the faults' names
  std::string plan;
  for (const int fault :
       {kSpins, kCrashes, kWritesBehind, kReturnsGarbage, kReturnsNothing, kLeaves, kCompilerHangs,
        kCompilerEatsMemory, kCompilerCrashes, kCompilerBabbles}) {
    plan += "- - " + std::to_string(fault) + " ";
  }
  use_faulty_tools(f, plan);
  const Outcome o =
      f.run({"--trials", "36", "--round", "9", "--jsonl", "--build-tool", TENON_FAULTY_TUNING_BUILD,
             "--compile-limit", "300ms", "--run-limit", "500ms", "--compile-memory", "1024"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const auto events = events_of(o.out);
  const std::string run = events.front()["run"];
  std::map<std::string, int> outcomes;
  for (const auto& m : f.database()->measurements({"", "", "", run})) {
    ++outcomes[task::to_string(m.outcome)];
    EXPECT_EQ(m.error.empty(), m.outcome == task::Outcome::kOk) << m.error;
  }
  for (const char* outcome : {"ok", "run-timeout", "run-crash", "wrong", "compile-timeout",
                              "compile-memory", "compile-error"}) {
    EXPECT_GT(outcomes[outcome], 0) << outcome;
  }
  EXPECT_FALSE(of_kind(events, "wrong").empty());
  EXPECT_EQ(f.expect_sound_records(run, "at the end"), 36);
  EXPECT_TRUE(f.processes().empty());
  f.expect_right_artifact("at the end");
}

TEST(TuneFaults, AFullDisk) {
  const TuneFolder f("tune_full");
  const Args args = {"--sim", "--trials", "4000", "--round", "32", "-q"};
  std::string line = "trap '' XFSZ; ulimit -f 300; exec";  // blocks of 512 bytes
  for (const std::string& word : f.command(args)) line += " '" + word + "'";
  const Outcome o = Running({"/bin/sh", "-c", line}, f.path(""), f.variables).wait();
  EXPECT_EQ(o.exit_code, 2) << o.err;
  EXPECT_TRUE(contains(o.err, "tenon: error: ")) << o.err;
  EXPECT_TRUE(contains(o.err, "t.db")) << o.err;
  const auto runs = f.database()->runs();
  ASSERT_EQ(runs.size(), 1U);
  const int64_t before = f.expect_sound_records(runs[0].id, "when it was full");
  EXPECT_GT(before, 0);
  f.expect_right_artifact("when it was full");
  // There is room again: it goes on.
  const auto run = f.start(args);
  while (!run->ended() && f.expect_sound_records(runs[0].id, "later") <= before) usleep(50'000);
  run->signal(SIGINT);
  EXPECT_EQ(run->wait().exit_code, 130);
  EXPECT_EQ(f.database()->runs().size(), 1U);
}

// tenon-build that finds no room for its files once `full` is there.
std::string build_tool_without_room(const TuneFolder& f) {
  const std::string tool = f.path("build.sh").string();
  std::ofstream(tool) << "#!/bin/sh\nif [ -e '" << f.path("full").string()
                      << "' ]; then trap '' XFSZ; ulimit -f 0; fi\nexec '" << TENON_BUILD
                      << "' \"$@\"\n";
  fs::permissions(tool, fs::perms::owner_all);
  return tool;
}

// Nothing is known of a program that could not be built or compared for want of room.
TEST(TuneFaults, AFullTemporaryFolder) {
  const TuneFolder f("tune_tmp_full");
  const Args args = {"--trials", "80", "--round", "8", "--build-tool", build_tool_without_room(f)};
  std::ofstream(f.path("full")) << "";
  const Outcome full = f.run(args);
  EXPECT_EQ(full.exit_code, 2) << full.err;
  EXPECT_TRUE(contains(full.err, "nothing is recorded of it")) << full.err;
  EXPECT_TRUE(contains(full.err, "could not be judged")) << full.err;
  EXPECT_TRUE(contains(full.err, "cannot be written")) << full.err;
  EXPECT_TRUE(f.database()->measurements({}).empty());
  f.expect_right_artifact("without room");
  fs::remove(f.path("full"));
  const Outcome o = f.run(args);
  EXPECT_EQ(o.exit_code, 0) << o.err;
  const auto runs = f.database()->runs();
  ASSERT_EQ(runs.size(), 1U) << "it did not go on";
  EXPECT_EQ(f.expect_sound_records(runs[0].id, "with room"), 80);
  for (const auto& m : f.database()->measurements({})) {
    EXPECT_TRUE(m.outcome == task::Outcome::kOk || m.outcome == task::Outcome::kRefused) << m.error;
  }
}

// There was room to measure a program, but none to build it again and compare.
TEST(TuneFaults, ADiskThatFillsUpMakesNothingWrong) {
  TuneFolder f("tune_fills_up");
  use_faulty_tools(f, "- " + std::to_string(measure::kNoRoomAgain));
  const Outcome o = f.run(
      {"--trials", "40", "--round", "8", "--jsonl", "--build-tool", TENON_FAULTY_TUNING_BUILD});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_FALSE(of_kind(events_of(o.out), "undecided").empty());
  EXPECT_TRUE(of_kind(events_of(o.out), "wrong").empty());
  for (const auto& m : f.database()->measurements({})) {
    EXPECT_TRUE(m.outcome == task::Outcome::kOk || m.outcome == task::Outcome::kRefused) << m.error;
  }
  f.expect_right_artifact("at the end");
}

TEST(TuneFaults, NoRoomForTheArtifact) {
  const TuneFolder f("tune_no_room");
  std::string line = "trap '' XFSZ; ulimit -f 16; exec";
  for (const std::string& word : f.command({"--sim", "--trials", "8", "-q"})) {
    line += " '" + word + "'";
  }
  const Outcome o = Running({"/bin/sh", "-c", line}, f.path(""), f.variables).wait();
  EXPECT_EQ(o.exit_code, 2) << o.err;
  EXPECT_TRUE(contains(o.err, "tenon: error: ")) << o.err;
  EXPECT_EQ(f.run({"--sim", "--trials", "8"}).exit_code, 0);
  f.expect_right_artifact("with room");
}

TEST(TuneFaults, ADatabaseThatCannotBeWritten) {
  const TuneFolder f("tune_read_only");
  const Args args = {"--sim", "--trials", "8", "-q"};
  ASSERT_EQ(f.run(args).exit_code, 0);
  // Whoever may do everything is not stopped by permissions, but by what is no place for files.
  const bool almighty = geteuid() == 0;
  if (!almighty) fs::permissions(f.path("t.db"), fs::perms::owner_read);
  Args again = args;
  if (almighty) again.insert(again.end(), {"--db", "/proc/tenon.db"});
  const Outcome o = f.run(again);
  EXPECT_EQ(o.exit_code, 2) << o.err;
  EXPECT_TRUE(contains(o.err, "tenon: error: ") && contains(o.err, "database")) << o.err;
  fs::permissions(f.path("t.db"), fs::perms::owner_all);
  f.expect_right_artifact("of the run before");
}

TEST(TuneFaults, ADamagedDatabase) {
  constexpr uint64_t kSeed = 43;
  Rng rng(kSeed);
  const TuneFolder f("tune_damaged");
  const Args args = {"--sim", "--trials", "40", "--round", "16", "-q"};
  ASSERT_EQ(f.run(args).exit_code, 0);
  const auto size = fs::file_size(f.path("t.db"));
  fs::copy_file(f.path("t.db"), f.path("sound.db"));
  for (int i = 0; i < 8; ++i) {
    fs::copy_file(f.path("sound.db"), f.path("t.db"), fs::copy_options::overwrite_existing);
    fs::remove(f.path("t.db-wal"));
    fs::remove(f.path("t.db-shm"));
    {
      std::fstream db(f.path("t.db"), std::ios::in | std::ios::out | std::ios::binary);
      const auto page = i == 0 ? 0 : rng.between(0, static_cast<int64_t>(size) / 4096 - 1);
      db.seekp(page * 4096);
      db << std::string(static_cast<size_t>(rng.between(16, 4096)), 'x');
    }
    const Outcome o = f.run(args);
    const std::string when = "seed " + std::to_string(kSeed) + ", damage " + std::to_string(i);
    EXPECT_TRUE(o.exit_code == 0 || o.exit_code == 2) << when << "\n" << o.err;
    if (o.exit_code == 2) EXPECT_TRUE(contains(o.err, "t.db")) << when << "\n" << o.err;
    f.expect_right_artifact(when);
  }
  fs::copy_file(f.path("sound.db"), f.path("t.db"), fs::copy_options::overwrite_existing);
  EXPECT_EQ(f.run(args).exit_code, 0);
}

}  // namespace
}  // namespace tenon::testing
