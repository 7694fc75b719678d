// SPDX-License-Identifier: Apache-2.0
// Who works where and when.
#include "measure/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <future>
#include <numeric>
#include <set>

#include "measure/job_queue.h"

namespace tenon::measure {
namespace {

std::vector<int> cpus(int n) {
  std::vector<int> all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(Cores, OneThreadOnTwoCores) {
  const CorePlan p = plan_cores(cpus(2), 1, 0, false);
  ASSERT_EQ(p.runners.size(), 1U);
  EXPECT_EQ(p.runners[0].cpus, std::vector<int>{1});
  EXPECT_EQ(p.runners[0].builders, 1);
  EXPECT_EQ(p.builders, 1);
  EXPECT_EQ(p.spare, std::vector<int>{0});
  EXPECT_TRUE(p.overlaps);
}

TEST(Cores, AllCoresAreSharedInTurns) {
  for (const int threads : {2, 3}) {
    const CorePlan p = plan_cores(cpus(2), threads, 0, false);
    ASSERT_EQ(p.runners.size(), 1U);
    EXPECT_TRUE(p.runners[0].cpus.empty());
    EXPECT_EQ(p.runners[0].builders, 2);
    EXPECT_EQ(p.builders, 0);
    EXPECT_FALSE(p.overlaps);
  }
  EXPECT_FALSE(plan_cores({}, 1, 2, false).overlaps) << "nothing is known";
}

// No core has two runners, or a runner and a builder that works at any time.
TEST(Cores, AreDealtOutOnce) {
  for (const int cores : {1, 2, 3, 4, 8, 16, 64}) {
    for (const int threads : {1, 2, 3, 4, 8, 16}) {
      for (const int builders : {0, 1, 5}) {
        const CorePlan p = plan_cores(cpus(cores), threads, builders, false);
        std::set<int> used(p.spare.begin(), p.spare.end());
        size_t dealt = p.spare.size();
        int all = p.builders;
        for (const RunCores& r : p.runners) {
          used.insert(r.cpus.begin(), r.cpus.end());
          dealt += r.cpus.size();
          all += r.builders;
          if (p.overlaps) EXPECT_EQ(r.cpus.size(), static_cast<size_t>(threads));
        }
        EXPECT_EQ(used.size(), dealt) << cores << " " << threads;
        EXPECT_EQ(all, builders > 0 ? builders : cores) << cores << " " << threads;
        EXPECT_EQ(p.overlaps, threads < cores);
      }
    }
  }
  EXPECT_EQ(plan_cores(cpus(16), 1, 0, false).runners.size(), 4U);
}

TEST(Cores, OverlapBuildsEverywhere) {
  const CorePlan p = plan_cores(cpus(2), 2, 0, true);
  EXPECT_TRUE(p.overlaps);
  EXPECT_EQ(p.builders, 2);
  EXPECT_TRUE(p.spare.empty());
  EXPECT_EQ(p.runners[0].builders, 0);
}

TEST(Cores, KeepToIsForAWhile) {
  cpu_set_t before, within, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  {
    const std::vector<int> one = {usable_cores().at(0)};
    const KeepTo here(one);
    ASSERT_EQ(sched_getaffinity(0, sizeof within, &within), 0);
    EXPECT_EQ(CPU_COUNT(&within), 1);
  }
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

// ---- the queue, without processes --------------------------------------------------------------------------------

constexpr auto kAMoment = std::chrono::milliseconds(50);

template <class T>
bool waits(std::future<T>& f) {
  return f.wait_for(kAMoment) == std::future_status::timeout;
}

TEST(JobQueue, NothingIsBuiltWhereATimeIsTaken) {
  JobQueue q(plan_cores(cpus(2), 1, 0, false));
  for (int i = 0; i < 3; ++i) q.add({});
  const auto first = q.next_build(0);
  q.end_build(0, first->entries);
  const auto run = q.next_run(0);
  EXPECT_EQ(run->entries.at(0)->id, first->entries.at(0)->id);
  auto here = std::async(std::launch::async, [&] { return q.next_build(0); });
  EXPECT_TRUE(waits(here)) << "its runner takes a time";
  const auto elsewhere = q.next_build(JobQueue::kFree);
  EXPECT_EQ(elsewhere->entries.at(0)->id, 2U);
  q.end_run(0, run->entries, task::Measurement{});
  const auto third = here.get();
  EXPECT_EQ(third->entries.at(0)->id, 3U);
  q.end_build(JobQueue::kFree, elsewhere->entries);
  auto next = std::async(std::launch::async, [&] { return q.next_run(0); });
  EXPECT_TRUE(waits(next)) << "one of its builders is at work";
  q.end_build(0, third->entries);
  EXPECT_EQ(next.get()->entries.at(0)->id, 2U);
  EXPECT_EQ(q.poll(0).size(), 1U);
}

TEST(JobQueue, WhatIsVisitedAgainComesAfterTheOthers) {
  JobQueue q(plan_cores(cpus(2), 1, 0, false));
  for (int i = 0; i < 2; ++i) {
    q.add({});
    q.end_build(JobQueue::kFree, q.next_build(JobQueue::kFree)->entries);
  }
  const auto first = q.next_run(0);
  q.run_again(0, first->entries[0]);
  EXPECT_TRUE(q.poll(0).empty()) << "it is in flight";
  const auto second = q.next_run(0);
  EXPECT_EQ(second->entries.at(0)->id, 2U);
  q.end_run(0, second->entries, task::Measurement{});
  const auto again = q.next_run(0);
  EXPECT_EQ(again->entries.at(0)->id, 1U);
  q.cancel_waiting();
  again->entries[0]->visits.add(task::Measurement{});
  q.run_again(0, again->entries[0]);
  const auto done = q.poll(0);
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[1].id, 1U);
  EXPECT_TRUE(done[1].measurement) << "what was cancelled ends with what is known of it";
}

TEST(JobQueue, AllCoresBuildAFewAndThenRunThem) {
  const CorePlan plan = plan_cores(cpus(2), 2, 0, false);
  JobQueue q(plan);
  for (int i = 0; i < 10; ++i) q.add({});
  for (int i = 0; i < plan.burst; ++i) {
    const auto o = q.next_build(0);
    q.end_build(0, o->entries);
  }
  auto more = std::async(std::launch::async, [&] { return q.next_build(0); });
  for (int i = 0; i < plan.burst; ++i) {
    EXPECT_TRUE(i > 0 || waits(more));
    const auto o = q.next_run(0);
    EXPECT_EQ(o->entries.at(0)->id, static_cast<JobId>(i + 1));
    q.end_run(0, o->entries, task::Measurement{});
  }
  EXPECT_EQ(more.get()->entries.at(0)->id, static_cast<JobId>(plan.burst + 1));
}

TEST(JobQueue, BuildersOfACardAreGivenSeveralProgramsOfATask) {
  JobQueue q(plan_card(cpus(2), 2));
  const auto add = [&](const std::string& task, int jobs) {
    Job job;
    job.task.key = task;
    for (int i = 0; i < jobs; ++i) q.add(job);
  };
  add("a", 10);
  add("b", 8);
  const auto first = q.next_build(JobQueue::kFree), second = q.next_build(JobQueue::kFree);
  EXPECT_EQ(first->entries.size(), 4U) << "18 wait for two builders";
  EXPECT_EQ(second->entries.size(), 3U) << "14";
  EXPECT_EQ(second->entries[0]->id, 5U);
  const auto third = q.next_build(JobQueue::kFree), fourth = q.next_build(JobQueue::kFree);
  EXPECT_EQ(third->entries.size(), 2U) << "11";
  EXPECT_EQ(fourth->entries.size(), 1U) << "the last of its task";
  JobQueue::Known known(4);
  known[1] = task::Measurement{};
  q.end_build(JobQueue::kFree, first->entries, known);
  const auto done = q.poll(0);
  ASSERT_EQ(done.size(), 1U) << "one of them has failed";
  EXPECT_EQ(done[0].id, 2U);
  for (const JobId id : {1U, 3U, 4U}) {
    const auto run = q.next_run(0);
    ASSERT_EQ(run->entries.size(), 1U);
    EXPECT_EQ(run->entries[0]->id, id);
    q.end_run(0, run->entries, task::Measurement{});
  }
}

TEST(JobQueue, EachJobComesBackOnce) {
  JobQueue q(plan_cores(cpus(2), 1, 0, false));
  for (int i = 0; i < 4; ++i) q.add({});
  const auto built = q.next_build(JobQueue::kFree);
  q.end_build(JobQueue::kFree, built->entries);
  const auto run = q.next_run(0);
  const auto building = q.next_build(JobQueue::kFree);
  q.cancel_waiting();
  std::map<JobId, int> seen;
  for (const Done& d : q.poll(0)) {
    ++seen[d.id];
    EXPECT_FALSE(d.measurement);
  }
  EXPECT_EQ(seen.size(), 3U) << "what runs comes to its end";
  q.end_build(JobQueue::kFree, building->entries);
  q.end_run(0, run->entries, task::Measurement{});
  for (const Done& d : q.poll(0)) {
    ++seen[d.id];
    EXPECT_TRUE(d.measurement);
  }
  EXPECT_EQ(seen, (std::map<JobId, int>{{1, 1}, {2, 1}, {3, 1}, {4, 1}}));
  EXPECT_TRUE(q.poll(10).empty()) << "nothing is in flight, so it does not wait";
}

TEST(Cores, ACardHasOneRunnerAndBuildersOnEveryCore) {
  const CorePlan p = plan_card({0, 1, 2, 3}, 0);
  ASSERT_EQ(p.runners.size(), 1U);
  EXPECT_TRUE(p.runners[0].cpus.empty());
  EXPECT_EQ(p.runners[0].builders, 0);
  EXPECT_EQ(p.builders, 4);
  EXPECT_TRUE(p.overlaps);
  EXPECT_TRUE(p.spare.empty());
  EXPECT_EQ(plan_card({0, 1, 2, 3}, 2).builders, 2);
  EXPECT_EQ(plan_card({}, 0).builders, 1);
}

}  // namespace
}  // namespace tenon::measure
