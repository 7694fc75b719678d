// SPDX-License-Identifier: Apache-2.0
// Gathering on the pretend device: distinct programs, failures among them, the same random ones
// however often it was cut off.
#include "tune/gather.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "search/space/spaces.h"
#include "search/strategy/scoring.h"
#include "task/serve.h"
#include "te/text.h"
#include "tune/random_tasks.h"
#include "value/pretend_value.h"

namespace tenon::tune {
namespace {

using task::Measurement;
using task::Outcome;

std::vector<std::string> keys_of(const std::vector<TaskToTune>& tasks) {
  std::vector<std::string> out;
  for (const TaskToTune& t : tasks) out.push_back(t.task.key);
  return out;
}

TEST(RandomTasks, DependOnTheSeedAndTheirNumberAlone) {
  const target::Target target = target::parse_target("x86-64-v3");
  const auto few = keys_of(random_tasks({.count = 12, .seed = 3}, target));
  const auto many = keys_of(random_tasks({.count = 24, .seed = 3}, target));
  ASSERT_EQ(few.size(), 12U);
  ASSERT_EQ(many.size(), 24U);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  EXPECT_EQ(std::set<std::string>(many.begin(), many.end()).size(), 24U);
  EXPECT_NE(few, keys_of(random_tasks({.count = 12, .seed = 4}, target)));
}

TEST(RandomTasks, AreWithinTheBoundsAndHaveADefaultThatServes) {
  const target::Target target = target::parse_target("x86-64-v3");
  std::set<std::string> first_words;
  for (const TaskToTune& t :
       random_tasks({.count = 60, .seed = 1, .least_flops = 1e5, .most_flops = 1e7}, target)) {
    EXPECT_GE(t.task.flops, 1e5);
    EXPECT_LE(t.task.flops, 1e7);
    EXPECT_TRUE(task::serve(t.task, t.start)) << te::to_text(*t.task.dag);
    first_words.insert(t.task.label.substr(0, t.task.label.find(' ')));
  }
  EXPECT_GE(first_words.size(), 5U) << "there are too few kinds";
}

TEST(RandomTasks, SayWhenTheBoundsLeaveNothing) {
  const target::Target target = target::parse_target("x86-64-v3");
  EXPECT_THROW(
      random_tasks({.count = 1, .seed = 1, .least_flops = 1e18, .most_flops = 2e18}, target),
      UserError);
}

class GatherTest : public testing::Test {
 protected:
  static GatherOptions options() {
    GatherOptions o;
    o.programs = 30;
    o.batch = 4;
    o.open_tasks = 2;
    o.threads = 1;
    o.search.population = 32;
    o.search.generations = 1;
    return o;
  }

  static std::vector<TaskToGather> tasks(int64_t n = 3) {
    std::vector<TaskToGather> out;
    const target::Target target = target::parse_target("x86-64-v3");
    for (TaskToTune& t :
         random_tasks({.count = n, .seed = 5, .least_flops = 1e4, .most_flops = 1e6}, target)) {
      out.push_back({std::move(t), std::nullopt});
    }
    return out;
  }

  Gathered gather(db::Database& db, std::vector<TaskToGather> which, int64_t stop_after = 0,
                  uint64_t device_seed = 2) {
    const auto device =
        measure::sim_measurer({.seed = device_seed, .protocol = {}, .noise = 0, .failures = 0.1});
    int64_t measured = 0;
    Gatherer g(
        std::move(which), options(), *device, db, "run",
        [&](const Gathered& sum) { measured = sum.measured; },
        [&](const std::string& text) { warnings_.push_back(text); });
    const Gathered sum = g.run([&] { return stop_after > 0 && measured >= stop_after; });
    return sum;
  }

  // Traces by task; a program that was measured twice is a fault, unless it was compared since.
  static std::map<std::string, std::set<std::string>> traces(const db::Database& db) {
    std::map<std::string, std::set<std::string>> out;
    std::map<std::string, Measurement> first;
    for (const Measurement& m : db.measurements({})) {
      if (out[m.task].insert(m.trace).second) {
        first[m.task + m.trace] = m;
      } else {
        EXPECT_TRUE(m.verified || m.outcome == Outcome::kWrong) << "measured twice";
        EXPECT_EQ(m.median_s, first[m.task + m.trace].median_s);
      }
    }
    return out;
  }

  // The draws that a task is to have.
  static std::set<std::string> draws(const TaskToGather& t) {
    GatherTask one(t, options(), 1);
    std::set<std::string> out;
    const auto programs = one.next(1000);
    for (const space::Program& p : programs) out.insert(schedule::to_json(p.trace));
    return out;
  }

  std::vector<std::string> warnings_;
};

TEST_F(GatherTest, MeasuresDistinctProgramsAndKeepsFailures) {
  const auto db = db::Database::open(":memory:");
  const Gathered sum = gather(*db, tasks());
  EXPECT_EQ(sum.tasks, 3);
  EXPECT_EQ(sum.complete, 3);
  EXPECT_EQ(sum.known, sum.measured);
  EXPECT_EQ(sum.verified, 3);
  int64_t failed = 0, with_choices = 0;
  for (const Measurement& m : db->measurements({})) {
    if (m.outcome == Outcome::kWrong) continue;
    failed += m.outcome != Outcome::kOk ? 1 : 0;
    with_choices += m.outcome != Outcome::kOk && !m.choices.empty() ? 1 : 0;
  }
  EXPECT_GT(failed, 0);
  EXPECT_EQ(failed, sum.failed);
  EXPECT_EQ(with_choices, failed) << "a failure without its choices";
  const auto all = traces(*db);
  ASSERT_EQ(all.size(), 3U);
  for (const TaskToGather& t : tasks()) {
    const std::string& key = t.task.task.key;
    EXPECT_EQ(all.at(key).size(), 30U) << key;
    EXPECT_TRUE(all.at(key).contains(schedule::to_json(t.task.start))) << "no default";
    for (const std::string& trace : draws(t)) EXPECT_TRUE(all.at(key).contains(trace));
    const auto best = db->best({key, "", "", ""}, false);
    ASSERT_TRUE(best);
    EXPECT_EQ(best->median_s, db->best({key, "", "", ""}, true)->median_s) << "not verified";
  }
}

TEST_F(GatherTest, TheSameSeedGivesTheSameList) {
  const auto a = db::Database::open(":memory:"), b = db::Database::open(":memory:");
  gather(*a, tasks());
  gather(*b, tasks());
  EXPECT_EQ(traces(*a), traces(*b));
}

TEST_F(GatherTest, GoesOnWhereItWasCutOff) {
  const auto db = db::Database::open(":memory:");
  int64_t measured = 0;
  Gathered sum;
  int parts = 0;
  do {
    sum = gather(*db, tasks(), 9);
    measured += sum.measured;
    ASSERT_LT(++parts, 50);
  } while (sum.complete < 3);
  EXPECT_GT(parts, 5);
  const auto all = traces(*db);
  int64_t known = 0;
  for (const TaskToGather& t : tasks()) {
    const auto& have = all.at(t.task.task.key);
    EXPECT_EQ(have.size(), 30U);
    known += std::ssize(have);
    for (const std::string& trace : draws(t)) EXPECT_TRUE(have.contains(trace));
  }
  EXPECT_EQ(measured, known) << "something was measured again";
  EXPECT_EQ(gather(*db, tasks()).measured, 0) << "it is complete";
}

// Random draws of an algorithm say little of how good it can be.
TEST(GatherTask, BeginsWithTheRulesProgramOfEachAlgorithm) {
  const auto tasks = random_tasks({.count = 8, .seed = 3}, target::parse_target("x86-64-v4"));
  size_t most = 0;
  for (const TaskToTune& task : tasks) {
    GatherOptions o;
    o.programs = 64;
    GatherTask t({task, std::nullopt}, o, 1);
    std::set<uint64_t> hashes;
    for (int i = 0; i < 2; ++i) {
      for (const space::Program& p : t.next(8)) hashes.insert(p.hash);
    }
    const auto first = search::make_space("joint", task.task)->first();
    for (const space::Program& p : first) EXPECT_TRUE(hashes.contains(p.hash)) << task.task.label;
    most = std::max(most, first.size());
  }
  EXPECT_GT(most, 1U) << "no task has a choice of algorithms";
}

// A task without random draws takes what the function leads to: distinct programs, other ones than another function's.
TEST(GatherTask, IsLedByAValueFunction) {
  const auto tasks = random_tasks({.count = 1, .seed = 3}, target::parse_target("x86-64-v3"));
  const auto led_by = [&](float sign) {
    GatherOptions o;
    o.programs = 12;
    o.random_share = 0;
    o.value = std::make_shared<const value::ValueFunction>(
        value::pretend_value([sign](const cost::Row& r) { return sign * value::by_hash(r); }));
    GatherTask t({tasks[0], std::nullopt}, o, 1);
    std::set<uint64_t> hashes;
    for (const space::Program& p : t.next(1)) hashes.insert(p.hash);  // the default
    for (const space::Program& p : t.next(8)) EXPECT_TRUE(hashes.insert(p.hash).second);
    EXPECT_GT(hashes.size(), 4U);
    return hashes;
  };
  EXPECT_EQ(led_by(1), led_by(1));
  EXPECT_NE(led_by(1), led_by(-1));
}

TEST_F(GatherTest, AListIsMeasuredAndNothingElse) {
  const auto made = db::Database::open(":memory:");
  gather(*made, tasks(2));
  const auto want = traces(*made);
  std::vector<TaskToGather> listed;
  for (TaskToGather& t : tasks(2)) {
    t.list.emplace();
    for (const std::string& trace : want.at(t.task.task.key)) t.list->push_back({trace, ""});
    t.list->push_back({"[[\"nonsense\"]]", ""});
    listed.push_back(std::move(t));
  }
  const auto other = db::Database::open(":memory:");
  const Gathered sum = gather(*other, listed, 0, 7);
  EXPECT_EQ(traces(*other), want);
  EXPECT_EQ(sum.refused, 2);
  EXPECT_EQ(sum.complete, 2);
}

}  // namespace
}  // namespace tenon::tune
