// SPDX-License-Identifier: Apache-2.0
// From records to schedules, also where some of them are damaged.
#include "tune/best_schedules.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "events/events.h"
#include "plan/text.h"
#include "search/tasks.h"
#include "te/text.h"

namespace tenon::tune {
namespace {

constexpr const char* kTarget = "here";
constexpr const char* kProtocol = "v1 threads=1 cold";

task::Task product(int64_t n) {
  return search::make_task([=](te::Builder& b) {
    const auto x = b.input("A", ir::kF32, {8, 8});
    b.output(te::matmul(b, "C", x, b.constant("W", ir::kF32, {8, n})));
  });
}

// Its result is stored with columns first.
task::Task turned(int64_t n) {
  const task::Task t = product(n);
  return task::make_task(t.dag, task::parse_edges("C: reorder([1,0])\n", *t.dag), t.target);
}

task::Measurement record(const task::Task& t, const std::string& trace, double median_s) {
  task::Measurement m;
  m.task = t.key;
  m.target = kTarget;
  m.protocol = kProtocol;
  m.trace = trace;
  m.seconds = {median_s};
  m.best_s = m.median_s = m.low_s = m.high_s = median_s;
  m.verified = true;
  return m;
}

class BestSchedules : public testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() /
             ("records_test_" + std::to_string(getpid()) + ".db"))
                .string();
    TearDown();
    db_ = db::Database::open(path_);
  }
  void TearDown() override {
    db_.reset();
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + end);
  }
  void add(const task::Task& t) {
    db_->add_task({t.key, te::to_text(*t.dag), task::edges_text(t.edges), t.label, t.flops});
  }
  BestRecords best() const { return best_records(*db_, target::host_target(), kTarget, kProtocol); }

  std::string path_;
  std::unique_ptr<db::Database> db_;
};

TEST_F(BestSchedules, TheFastestThatMayServe) {
  const task::Task t = turned(6);
  add(t);
  const std::string edges = schedule::to_json(task::edge_steps(t));
  db_->record({record(t, edges, 3e-3), record(t, "[]", 1e-9), record(t, "garbage", 1e-9)});
  const BestRecords b = best();
  const plan::TaskPlan* program = b.plan.find(t.key);
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->trace, tuned_program(t, task::edge_steps(t), plan::From::kRecord).trace);
  EXPECT_EQ(program->from, plan::From::kRecord);
  ASSERT_EQ(b.layout_times.tasks.size(), 1U);
  EXPECT_EQ(b.layout_times.tasks.begin()->second[0].seconds, 3e-3);
  EXPECT_NE(program->refused.find("its best record is refused"), std::string::npos);
}

// Whoever writes the edges out of a task's row makes another task of it.
TEST_F(BestSchedules, ATaskWhoseEdgesWereTakenAway) {
  const task::Task t = turned(6);
  db_->add_task({t.key, te::to_text(*t.dag), "", t.label, t.flops});
  db_->record({record(t, "[]", 1e-9)});
  const BestRecords b = best();
  const plan::TaskPlan* program = b.plan.find(t.key);
  ASSERT_NE(program, nullptr);
  EXPECT_FALSE(program->has_program);
  EXPECT_TRUE(b.layout_times.empty());
  EXPECT_NE(program->refused.find(t.key), std::string::npos) << program->refused;
}

TEST_F(BestSchedules, OneThatCannotBeReadCostsOthersNothing) {
  const task::Task good = product(5), bad = product(7);
  add(good);
  db_->add_task({bad.key, "this is no expression", "", "", 0});
  db_->add_task({"0123456789abcdef", "", "", "", 0});
  task::Measurement stranger = record(good, "[]", 1e-9);
  stranger.task = "0123456789abcdef";
  db_->record({record(bad, "[]", 1e-3), record(good, "[]", 1e-3), stranger});
  const BestRecords b = best();
  ASSERT_EQ(b.plan.tasks.size(), 3U);
  EXPECT_TRUE(b.plan.find(good.key)->has_program);
  for (const std::string& key : {bad.key, std::string("0123456789abcdef")}) {
    EXPECT_FALSE(b.plan.find(key)->has_program);
    EXPECT_NE(b.plan.find(key)->refused, "");
  }
}

// A run that measured tasks `kept` and `dropped` and kept the program of one of them in model "net".
class Verdicts : public BestSchedules {
 protected:
  void SetUp() override {
    BestSchedules::SetUp();
    for (const task::Task& t : {kept_, dropped_, other_}) add(t);
  }
  std::string judge(const std::string& model, bool finished = true) {
    const std::string run = db_->begin_run("tune " + model, model);
    for (const task::Task& t : {kept_, dropped_}) {
      task::Measurement m = record(t, "[]", 1e-3);
      m.run = run;
      db_->record({m});
    }
    events::RunStarted started;
    started.run = run;
    started.target = kTarget;
    started.protocol = kProtocol;
    for (const task::Task& t : {kept_, dropped_}) {
      started.tasks.push_back({t.key, t.label, {1}, 1, "template matmul"});
    }
    plan::NetworkPlan plan;
    plan.set(tuned_program(kept_, {}, plan::From::kMeasured));
    events::PlanDecided decided{"programs", {{model, {plan::to_text(plan)}}}};
    for (const events::Event& e :
         {events::Event(started),
          events::Event(events::DefaultTimed{dropped_.key, 1e-3, "ok", "[]"}),
          events::Event(decided)}) {
      db_->add_event(run, {1, events::to_json(e, 1)});
    }
    if (finished) db_->end_run(run);
    return run;
  }
  BestRecords records(bool whole = false) const {
    return records_for(*db_, target::host_target(), {"net", kTarget, kProtocol}, whole);
  }
  task::Task kept_ = product(5), dropped_ = product(6), other_ = product(7);
};

TEST_F(Verdicts, WhatTheRunRejectedIsNotUsed) {
  db_->record({record(other_, "[]", 1e-3)});
  const std::string run = judge("net");
  const BestRecords r = records();
  EXPECT_EQ(r.run, run);
  ASSERT_NE(r.plan.find(kept_.key), nullptr);
  EXPECT_EQ(r.plan.find(kept_.key)->from, plan::From::kMeasured);
  EXPECT_EQ(r.plan.find(dropped_.key), nullptr);
  EXPECT_EQ(r.judged, (std::set<std::string>{kept_.key, dropped_.key}));
  ASSERT_NE(r.plan.find(other_.key), nullptr) << "the run knows nothing of it";
  EXPECT_EQ(r.plan.find(other_.key)->from, plan::From::kRecord);
  EXPECT_TRUE(r.layout_times.empty());
  const BestRecords whole = records(true);
  ASSERT_NE(whole.plan.find(dropped_.key), nullptr);
  EXPECT_EQ(whole.plan.find(dropped_.key)->origin, "template matmul");
}

TEST_F(Verdicts, AreOfOneModelAndOfRunsThatEnded) {
  judge("another");
  judge("net", /*finished=*/false);
  const BestRecords r = records();
  EXPECT_EQ(r.run, "");
  EXPECT_TRUE(r.judged.empty());
  ASSERT_NE(r.plan.find(dropped_.key), nullptr);
  EXPECT_EQ(r.plan.find(dropped_.key)->from, plan::From::kRecord);
}

}  // namespace
}  // namespace tenon::tune
