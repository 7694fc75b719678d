// SPDX-License-Identifier: Apache-2.0
// Several processes and one database: a tuner waits for whoever writes, and nobody joins another's run.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>

#include "db/statement.h"
#include "tools/tenon_command.h"
#include "tools/tune_run.h"

namespace tenon::testing {
namespace {

namespace fs = std::filesystem;

// As TuneFolder::start, beside another that it started.
std::unique_ptr<Running> start_second(const TuneFolder& f, const Args& args) {
  fs::create_directories(f.path("second"));
  return std::make_unique<Running>(f.command(args), f.path("second"), f.variables);
}

void wait_for(const std::function<bool()>& condition, double seconds) {
  for (int i = 0; i < static_cast<int>(seconds * 50) && !condition(); ++i) usleep(20'000);
}

TEST(TuneTogether, ASecondEqualTunerIsRefused) {
  const TuneFolder f("tune_twice");
  const Args args = {"--sim", "--trials", "100000", "--round", "16", "--jsonl"};
  const auto first = f.start(args);
  wait_for([&] { return contains(first->out(), "\"round\"") || first->ended(); }, 60);
  ASSERT_FALSE(first->ended()) << first->err();
  const auto second = start_second(f, args);
  wait_for([&] { return second->ended(); }, 60);
  ASSERT_TRUE(second->ended()) << "it joined in";
  const Outcome o = second->wait();
  EXPECT_EQ(o.exit_code, 2) << o.err;
  EXPECT_TRUE(contains(o.err, "the same command is running already")) << o.err;
  EXPECT_TRUE(contains(o.err, "process " + std::to_string(first->pid()))) << o.err;
  EXPECT_FALSE(first->ended()) << "the first was disturbed";
  // What is not the same command has a run of its own.
  const auto other = start_second(f, {"--sim", "--trials", "16", "--round", "8", "--seed", "7"});
  EXPECT_EQ(other->wait().exit_code, 0) << other->err();
  EXPECT_EQ(f.database()->runs().size(), 2U);
  // However the first ends, to run again is to go on.
  first->signal(SIGKILL);
  first->wait();
  const auto again = f.start(args);
  wait_for([&] { return contains(again->out(), "\"round\"") || again->ended(); }, 60);
  again->signal(SIGINT);
  EXPECT_EQ(again->wait().exit_code, 130) << again->err();
  EXPECT_EQ(f.database()->runs().size(), 2U) << "it did not go on";
}

// Holds the lock to write, as a process does that imports a large file.
class Writer {
 public:
  explicit Writer(const fs::path& file)
      : c_(file.string(), db::Connection::Mode::kReadWrite), lock_(c_) {}

 private:
  db::Connection c_;
  db::Transaction lock_;
};

TEST(TuneTogether, ATunerWaitsForAWriterAndSaysSo) {
  const TuneFolder f("tune_waits");
  const Args args = {"--sim", "--trials", "24", "--round", "8"};
  ASSERT_EQ(f.run({"--sim", "--trials", "8", "--seed", "9"}).exit_code, 0);
  auto writer = std::make_unique<Writer>(f.path("t.db"));
  const auto run = f.start(args);
  wait_for([&] { return contains(run->err(), "waiting for") || run->ended(); }, 20);
  EXPECT_TRUE(contains(run->err(), "waiting for another process that writes to ")) << run->err();
  EXPECT_TRUE(contains(run->err(), "process " + std::to_string(getpid()))) << run->err();
  usleep(12'000'000);  // longer than anybody waits without being told to
  EXPECT_FALSE(run->ended()) << run->err();
  writer.reset();
  const Outcome o = run->wait();
  EXPECT_EQ(o.exit_code, 0) << o.err;
  const std::string said = o.err.substr(o.err.find("waiting for") + 1);
  EXPECT_FALSE(contains(said, "waiting for")) << "said twice: " << o.err;
  f.expect_right_artifact("after waiting");
}

TEST(TuneTogether, InterruptedWhileItWaitsItEnds) {
  const TuneFolder f("tune_waits_interrupted");
  ASSERT_EQ(f.run({"--sim", "--trials", "8", "--seed", "9"}).exit_code, 0);
  const Writer writer(f.path("t.db"));
  const auto run = f.start({"--sim", "--trials", "24", "--round", "8"});
  wait_for([&] { return contains(run->err(), "waiting for") || run->ended(); }, 20);
  run->signal(SIGINT);
  wait_for([&] { return run->ended(); }, 10);
  ASSERT_TRUE(run->ended());
  EXPECT_EQ(run->wait().exit_code, 130) << run->err();
  EXPECT_FALSE(contains(run->err(), "internal error")) << run->err();
}

}  // namespace
}  // namespace tenon::testing
