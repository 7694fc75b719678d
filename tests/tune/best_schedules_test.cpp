// SPDX-License-Identifier: Apache-2.0
// From records to schedules, also where some of them are damaged.
#include "tune/best_schedules.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

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

}  // namespace
}  // namespace tenon::tune
