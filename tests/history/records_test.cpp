// SPDX-License-Identifier: Apache-2.0
// What is read back of a database, also where some of it cannot be.
#include "history/records.h"

#include <gtest/gtest.h>

#include <cmath>

#include "history/recorded.h"

namespace tenon::history {
namespace {

TEST(Records, AllTasksOfTheTargetComeBackFastestFirst) {
  Recorded r;
  const task::Task a = product(16), b = product(48);
  r.add(a, 20);
  r.add(b, 30);
  const Records known = read_records(*r.db, where(a));
  ASSERT_EQ(known.tasks.size(), 2U);
  EXPECT_EQ(known.rows, 50);
  EXPECT_EQ(known.left_out, 0) << known.why;
  for (const Known& k : known.tasks) {
    EXPECT_TRUE(k.task.key == a.key || k.task.key == b.key);
    ASSERT_FALSE(k.entries.empty());
    for (size_t i = 1; i < k.entries.size(); ++i) {
      EXPECT_LE(k.entries[i - 1].seconds, k.entries[i].seconds);
    }
    EXPECT_FALSE(k.entries[0].choices.empty());
  }
  EXPECT_EQ(count_rows(*r.db, where(a)), 50);
}

TEST(Records, OthersTargetsAndProtocolsAreNotRead) {
  Recorded r;
  const task::Task t = product(16);
  r.add(t, 5);
  Where other = where(t);
  other.measured = "there";
  EXPECT_TRUE(read_records(*r.db, other).tasks.empty());
  other = where(t);
  other.protocol = "v1 threads=2 cold";
  EXPECT_EQ(read_records(*r.db, other).rows, 0);
}

TEST(Records, TheFastestStayUnderACapAndTheSlowestToo) {
  Recorded r;
  const task::Task t = product(16);
  r.add(t, 60);
  const Known all = read_records(*r.db, where(t)).tasks.at(0);
  const Known some = read_records(*r.db, where(t), {.per_task = 11}).tasks.at(0);
  ASSERT_GT(all.entries.size(), 11U);
  ASSERT_EQ(some.entries.size(), 11U);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(some.entries[i].seconds, all.entries[i].seconds);
  EXPECT_EQ(some.entries.back().seconds, all.entries.back().seconds);
}

TEST(Records, ManyTasksShareTheTotal) {
  Recorded r;
  for (const int64_t n : {16, 32, 48, 64}) r.add(product(n), 24);
  const Limits limits{.total = 40, .least = 4};
  const Records known = read_records(*r.db, where(product(16)), limits);
  ASSERT_EQ(known.tasks.size(), 4U);
  for (const Known& k : known.tasks) EXPECT_EQ(k.entries.size(), 10U);
  EXPECT_EQ(known.entries(), 40);
}

TEST(Records, WhatCannotBeUsedIsCountedAndCostsNothingElse) {
  Recorded r;
  const task::Task t = product(16), unsaid = product(32), damaged = product(48);
  r.add(t, 8);
  r.add(t, "[[\"no such step\"]]", 1e-3);
  r.add(t, "not JSON", 1e-3);
  r.add(unsaid, "[]", 1e-3);  // no row says what it is
  r.db->add_task({damaged.key, "nonsense", "", "x", 1});
  r.add(damaged, "[]", 1e-3);
  const Records known = read_records(*r.db, where(t));
  ASSERT_EQ(known.tasks.size(), 1U);
  EXPECT_EQ(known.rows, 12);
  EXPECT_EQ(known.left_out, 4);
  EXPECT_FALSE(known.why.empty());
}

TEST(Records, FailuresComeLastAndFillNoMoreThanAQuarter) {
  Recorded r;
  const task::Task t = product(16);
  r.add(t, 40);
  const auto programs = read_records(*r.db, where(t)).tasks.at(0).entries;
  for (size_t i = 20; i < programs.size(); ++i) {
    r.add(t, schedule::to_json(programs[i].trace), 0, task::Outcome::kWrong);
  }
  const auto entries = read_records(*r.db, where(t), {.per_task = 16}).tasks.at(0).entries;
  ASSERT_EQ(entries.size(), 16U);
  EXPECT_TRUE(std::isfinite(entries[11].seconds));
  EXPECT_TRUE(std::isinf(entries[12].seconds));
  EXPECT_EQ(entries[12].outcome, task::Outcome::kWrong);
}

TEST(Records, TheNumberOfThreadsChangesNothing) {
  Recorded r;
  for (const int64_t n : {16, 48}) r.add(product(n), 16);
  const auto one = read_records(*r.db, where(product(16)), {.threads = 1});
  const auto four = read_records(*r.db, where(product(16)), {.threads = 4});
  ASSERT_EQ(one.tasks.size(), four.tasks.size());
  for (size_t i = 0; i < one.tasks.size(); ++i) {
    ASSERT_EQ(one.tasks[i].entries.size(), four.tasks[i].entries.size());
    for (size_t e = 0; e < one.tasks[i].entries.size(); ++e) {
      EXPECT_EQ(schedule::to_json(one.tasks[i].entries[e].trace),
                schedule::to_json(four.tasks[i].entries[e].trace));
    }
  }
}

}  // namespace
}  // namespace tenon::history
