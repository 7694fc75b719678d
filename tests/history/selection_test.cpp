// SPDX-License-Identifier: Apache-2.0
// Which records somebody means, and why none of them serves a task.
#include "history/selection.h"

#include <gtest/gtest.h>

#include "history/recorded.h"
#include "history/why_miss.h"
#include "support/check.h"
#include "te/text.h"

namespace tenon::history {
namespace {

constexpr const char* kEmpty = "[]";

task::Measurement measured(const task::Task& t, double seconds, bool verified = true) {
  task::Measurement m;
  m.task = t.key;
  m.target = kMachine;
  m.protocol = kHow;
  m.trace = kEmpty;
  m.seconds = {seconds};
  m.best_s = m.median_s = m.low_s = m.high_s = seconds;
  m.verified = verified;
  return m;
}

task::Measurement failed(const task::Task& t) {
  task::Measurement m = measured(t, 0, false);
  m.seconds.clear();
  m.outcome = task::Outcome::kRunCrash;
  m.error = "it crashed";
  return m;
}

class SelectionTest : public testing::Test {
 protected:
  void add(const task::Task& t, const std::vector<task::Measurement>& rows) {
    r_.add_row(t);
    r_.db->record(rows);
  }
  std::vector<std::string> selected(const SelectionOptions& o) const {
    std::vector<std::string> keys;
    for (const db::TaskRow& t : select(*r_.db, o).tasks) keys.push_back(t.key);
    return keys;
  }

  Recorded r_;
  task::Task a_ = product(16), b_ = product(48);
};

TEST_F(SelectionTest, TasksByKeyAndLabel) {
  add(a_, {measured(a_, 1e-3)});
  add(b_, {});
  EXPECT_EQ(selected({}).size(), 2U);
  EXPECT_EQ(selected({.task = a_.key.substr(0, 8)}), std::vector{a_.key});
  EXPECT_EQ(selected({.task = a_.label}).size(), 2U) << "both are products";
  EXPECT_EQ(selected({.protocol = "threads=1"}), std::vector{a_.key}) << "b was never measured";
  EXPECT_THROW(select(*r_.db, {.task = "no such"}), UserError);
  EXPECT_THROW(select(*r_.db, {.protocol = "threads=9"}), UserError);
  EXPECT_THROW(select(*r_.db, {.run = "last"}), UserError) << "there is no run";
}

TEST_F(SelectionTest, HostIsAWholeFingerprintAndOthersArePartsOfOne) {
  add(a_, {measured(a_, 1e-3)});
  EXPECT_EQ(selected({.target = "her"}).size(), 1U);
  EXPECT_EQ(selected({.target = "host", .host = kMachine}).size(), 1U);
  EXPECT_THROW(select(*r_.db, {.target = "host", .host = "her"}), UserError);
  EXPECT_THROW(select(*r_.db, {.target = "host"}), InternalError) << "nobody said which it is";
}

TEST_F(SelectionTest, TheBestOfAKeyIsVerifiedWhereThereIsSuch) {
  task::Measurement faster = measured(a_, 1e-3, false);
  faster.trace = R"([["fuse",1,[0,1]]])";
  add(a_, {measured(a_, 2e-3), faster, failed(b_)});
  const std::vector<TaskRecords> list = records_of(*r_.db, select(*r_.db, {}));
  ASSERT_EQ(list.size(), 2U) << "the other task was measured without a row";
  for (const TaskRecords& t : list) {
    ASSERT_EQ(t.keys.size(), 1U);
    const KeyRecords& k = t.keys[0];
    if (t.task.key == a_.key) {
      EXPECT_EQ(k.best->median_s, 2e-3);
      EXPECT_EQ(k.tally.measured, 2);
      EXPECT_EQ(k.tally.verified, 1);
    } else {
      EXPECT_FALSE(k.best);
      EXPECT_EQ(k.tally.failed, 1);
      EXPECT_EQ(k.tally.outcomes.at("run-crash"), 1);
    }
  }
}

TEST_F(SelectionTest, FindsOneTask) {
  add(a_, {});
  add(b_, {});
  const auto rows = r_.db->tasks();
  EXPECT_EQ(find_task(rows, b_.key).key, b_.key);
  EXPECT_THROW(find_task(rows, a_.label), UserError) << "two have it";
  EXPECT_THROW(find_task(rows, "nothing"), UserError);
}

class WhyMissTest : public SelectionTest {
 protected:
  Miss ask(const task::Task& t, const std::string& target = kMachine,
           const std::string& protocol = kHow) const {
    const db::TaskRow row{t.key, te::to_text(*t.dag), task::edges_text(t.edges), t.label, t.flops};
    return why_miss(*r_.db, r_.db->tasks(), r_.db->groups({}), {row, t.target, target, protocol});
  }
};

TEST_F(WhyMissTest, WhatServesIsAHit) {
  add(a_, {measured(a_, 2e-3)});
  const Miss m = ask(a_);
  EXPECT_EQ(m.reason, "hit") << m.what;
  EXPECT_EQ(m.median_s, 2e-3);
}

TEST_F(WhyMissTest, UnverifiedFailedAndRefusedAreToldApart) {
  add(a_, {measured(a_, 2e-3, false)});
  EXPECT_EQ(ask(a_).reason, "unverified");
  add(b_, {failed(b_)});
  EXPECT_EQ(ask(b_).reason, "failed");
  const task::Task c = product(80);
  task::Measurement m = measured(c, 1e-3);
  m.trace = R"([["split",99,1]])";
  add(c, {m});
  EXPECT_EQ(ask(c).reason, "refused");
}

TEST_F(WhyMissTest, NamesTheFieldsThatDiffer) {
  add(a_, {measured(a_, 2e-3)});
  const Miss how = ask(a_, kMachine, "v1 threads=2 cold");
  EXPECT_EQ(how.reason, "protocol");
  ASSERT_EQ(how.differences.size(), 1U);
  EXPECT_EQ(how.differences[0].field, "protocol.threads");
  EXPECT_EQ(how.differences[0].wanted, "2");
  EXPECT_EQ(how.differences[0].recorded, "1");
  const Miss where = ask(a_, "there");
  EXPECT_EQ(where.reason, "target");
  ASSERT_EQ(where.differences.size(), 1U);
  EXPECT_EQ(where.differences[0].field, "target.triple");
}

TEST_F(WhyMissTest, UnknownTasksAreComparedWithTheNearest) {
  EXPECT_EQ(ask(a_).reason, "unknown");
  add(a_, {});
  EXPECT_EQ(ask(a_).reason, "never-measured");
  const Miss m = ask(b_);
  EXPECT_EQ(m.reason, "unknown");
  EXPECT_EQ(m.nearest, a_.key);
  ASSERT_EQ(m.differences.size(), 1U);
  EXPECT_EQ(m.differences[0].field, "flops") << "their labels are equal";
}

}  // namespace
}  // namespace tenon::history
