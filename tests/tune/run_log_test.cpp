// SPDX-License-Identifier: Apache-2.0
#include "tune/run_log.h"

#include <gtest/gtest.h>

#include "support/private_folder.h"

namespace tenon::tune {
namespace {

class RunLogTest : public testing::Test {
 protected:
  RunLog log() {
    return {*db_, [this] { return now_; },
            [this](const std::string& json) { forwarded_.push_back(json); }};
  }
  // A run on this machine that told something at `s` seconds.
  std::string run_until(double s, const std::string& machine) {
    RunLog l = log();
    now_ = 100;
    l.start();
    EXPECT_TRUE(l.open("tune x", "x", machine).empty());
    now_ += s;
    events::RunStarted e;
    e.run = l.run();
    e.target = machine;
    l.tell(e);
    return l.run();
  }

  PrivateFolder folder_ = PrivateFolder::temporary("run-log");
  std::unique_ptr<db::Database> db_ = db::Database::open((folder_.path() / "t.db").string());
  double now_ = 0;
  std::vector<std::string> forwarded_;
};

TEST_F(RunLogTest, GoesOnWithWhatWasCutOff) {
  const std::string run = run_until(5, "here");
  EXPECT_EQ(forwarded_.size(), 1U);
  RunLog again = log();
  now_ = 3000;
  again.start();
  const auto told = again.open("tune x", "x", "here");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].json, forwarded_[0]);
  EXPECT_EQ(again.run(), run);
  EXPECT_DOUBLE_EQ(again.spent_before(), 5);
  now_ += 2;
  EXPECT_DOUBLE_EQ(again.spent(), 7);
}

TEST_F(RunLogTest, OtherMachinesRunsAndFinishedOnesAreLeftAlone) {
  const std::string there = run_until(5, "there");
  RunLog here = log();
  here.start();
  EXPECT_TRUE(here.open("tune x", "x", "here").empty());
  EXPECT_NE(here.run(), there);
  EXPECT_EQ(here.spent_before(), 0);
  here.end();
}

TEST_F(RunLogTest, CountsWhatItMeasured) {
  RunLog l = log();
  l.start();
  l.open("tune x", "x", "here");
  task::Measurement m;
  m.task = "a";
  m.target = "here";
  m.protocol = "v1 threads=1 cold";
  m.trace = "[]";
  m.seconds = {1e-3};
  m.best_s = m.median_s = 1e-3;
  m.run = l.run();
  task::Measurement other = m, beside = m;
  other.task = "b";
  beside.run = "another run";
  db_->record({m, other, beside});
  EXPECT_EQ(l.measured(), 2);
  EXPECT_EQ(l.measured_beside([](const std::string& task) { return task == "a"; }), 1);
}

}  // namespace
}  // namespace tenon::tune
