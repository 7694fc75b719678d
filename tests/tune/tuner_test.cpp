// SPDX-License-Identifier: Apache-2.0
// Rounds over a few tasks, on pretend devices.
#include "tune/tuner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "measure/at_once.h"
#include "search/tasks.h"
#include "task/serve.h"
#include "templates/template.h"

namespace tenon::tune {
namespace {

using Json = nlohmann::json;
using task::Outcome;

TaskToTune to_tune(const task::Task& t) {
  const auto choice = templates::choose(schedule::State(t.dag, t.target), {t.edges, false});
  return {t, choice.trace, "template"};
}

TaskToTune product(int64_t m, int64_t n, int64_t k) {
  return to_tune(search::make_task([=](te::Builder& b) {
    const auto x = b.input("A", ir::kF32, {m, k});
    b.output(te::matmul(b, "C", x, b.constant("W", ir::kF32, {k, n})));
  }));
}

std::vector<TaskToTune> two_tasks() { return {product(24, 17, 31), product(5, 48, 16)}; }

TunerOptions small(uint64_t seed = 1) {
  TunerOptions o;
  o.seed = seed;
  o.space = "sketch";
  o.round = 8;
  o.trials = 42;
  o.threads = 1;
  o.search.population = 48;
  o.search.generations = 2;
  double n = 0;
  o.clock = [n]() mutable { return n += 1e-3; };
  return o;
}

// A device of the test's making around the pretend one.
class Device : public measure::AtOnce {
 public:
  explicit Device(double failures = 0.05)
      : sim_(measure::sim_measurer(
            {.seed = 3, .protocol = {}, .noise = 0.01, .failures = failures})) {}

  std::string target(const target::Target& t) const override { return sim_->target(t); }
  std::string protocol() const override { return sim_->protocol(); }
  bool overlaps() const override { return works_ahead; }
  task::Measurement one(const task::Task& t, const schedule::Trace& trace) override {
    task::Measurement m = measure::measure(*sim_, t, std::span(&trace, 1), 0).at(0);
    ++measured;
    if (!broken.empty()) {
      m.outcome = Outcome::kRunCrash;
      m.error = broken;
      m.seconds.clear();
      m.median_s = m.best_s = m.low_s = m.high_s = 0;
    }
    return m;
  }
  measure::Verdict verify(const task::Task&, const schedule::Trace& trace) override {
    using Kind = measure::Verdict::Kind;
    const std::string text = schedule::to_json(trace);
    verified.insert(text);
    if (undecided(text)) return {Kind::kUndecided, "no room"};
    if (wrong(text)) return {Kind::kWrong, "element 3 is 7, not 8"};
    return {};
  }
  std::future<measure::Verdict> verify_beside(const task::Task& t,
                                              const schedule::Trace& trace) override {
    if (!late) return measure::Measurer::verify_beside(t, trace);
    return std::async(*late, [v = verify(t, trace)] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return v;
    });
  }
  std::vector<task::Measurement> finals(const task::Task& t,
                                        std::span<const schedule::Trace> traces,
                                        double seconds) override {
    return sim_->finals(t, traces, seconds);
  }

  std::function<bool(const std::string&)> wrong = [](const std::string&) { return false; };
  std::function<bool(const std::string&)> undecided = [](const std::string&) { return false; };
  std::string broken;
  bool works_ahead = false;
  std::optional<std::launch> late;  // when verdicts are made; deferred: once somebody waits
  int measured = 0;
  std::set<std::string> verified;

 private:
  std::unique_ptr<measure::Measurer> sim_;
};

class TunerTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() /
             ("tuner_test_" + std::to_string(getpid()) + ".db"))
                .string();
    TearDown();
    db_ = db::Database::open(path_);
  }
  void TearDown() override {
    db_.reset();
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + end);
  }
  std::unique_ptr<TaskTuner> tuner(Device& d, const TunerOptions& o, const std::string& run) {
    return std::make_unique<TaskTuner>(
        two_tasks(), std::vector<ModelSpec>{{{2, 1}, 0, 0}}, o, d, db_.get(), run,
        [this](const events::Event& e) { events_.push_back(to_json(e)); });
  }
  static void all(TaskTuner& t) {
    while (t.step([] { return false; })) {
    }
  }
  std::vector<Json> of_kind(const std::string& kind) const {
    std::vector<Json> out;
    for (const std::string& e : events_) {
      Json j = Json::parse(e);
      if (j.at("event") == kind) out.push_back(std::move(j));
    }
    return out;
  }

  std::string path_;
  std::unique_ptr<db::Database> db_;
  std::vector<std::string> events_;
};

TEST_F(TunerTest, EveryTrialIsRecordedOnceAndBestsAreVerified) {
  Device d;
  const std::string run = db_->begin_run("c", "m");
  const auto t = tuner(d, small(), run);
  all(*t);
  EXPECT_EQ(t->measured(), 42);
  EXPECT_EQ(d.measured, 42);
  const auto rows = db_->measurements({"", "", "", run});
  EXPECT_EQ(rows.size(), 42U);
  std::set<std::string> traces;
  for (const auto& m : rows) EXPECT_TRUE(traces.insert(m.task + m.trace).second) << "twice";
  for (size_t i = 0; i < t->results().size(); ++i) {
    const TaskResult& r = t->results()[i];
    EXPECT_LE(r.best_s, r.start_s);
    EXPECT_TRUE(d.verified.contains(schedule::to_json(r.best)));
  }
  EXPECT_EQ(of_kind("default").size(), 2U);
  int64_t tried = 2;
  for (const Json& e : of_kind("round")) tried += e.at("tried").get<int64_t>();
  EXPECT_EQ(tried, 42);
}

TEST_F(TunerTest, TheSameSeedGivesTheSameEventsWhateverTheThreads) {
  std::vector<std::string> first;
  for (const int threads : {1, 2, 3}) {
    Device d;
    events_.clear();
    TunerOptions o = small(7);
    o.threads = threads;
    TaskTuner t(two_tasks(), {{{2, 1}, 0, 0}}, o, d, nullptr, "",
                [this](const events::Event& e) { events_.push_back(to_json(e)); });
    all(t);
    if (first.empty()) first = events_;
    EXPECT_EQ(events_, first) << threads << " threads";
  }
  EXPECT_GT(first.size(), 4U);
}

// Two halves of a round in flight: what the strategy knows when it proposes is settled, so the run is the same again.
TEST_F(TunerTest, WorkingAheadIsTheSameEveryTime) {
  std::vector<std::string> first;
  for (const int threads : {1, 2}) {
    Device d;
    d.works_ahead = true;
    events_.clear();
    TunerOptions o = small(7);
    o.threads = threads;
    TaskTuner t(two_tasks(), {{{2, 1}, 0, 0}}, o, d, nullptr, "",
                [this](const events::Event& e) { events_.push_back(to_json(e)); });
    all(t);
    EXPECT_EQ(t.measured(), 42);
    EXPECT_EQ(d.measured, 42);
    if (first.empty()) first = events_;
    EXPECT_EQ(events_, first) << threads << " threads";
  }
  EXPECT_EQ(of_kind("round").size(), 10U) << "of four programs each";
}

TEST_F(TunerTest, WhatIsInFlightWhenItStopsIsKept) {
  Device d;
  d.works_ahead = true;
  const std::string run = db_->begin_run("c", "m");
  const auto t = tuner(d, small(), run);
  int asked = 0;
  while (d.measured < 15) t->step([&] { return ++asked > 15; });
  EXPECT_EQ(t->measured(), 15) << "the second batch was cut short in the middle";
  EXPECT_EQ(db_->measurements({"", "", "", run}).size(), 15U);
  t->step({});  // leaves a batch in flight
  t->settle();
  EXPECT_EQ(t->measured(), d.measured);
  EXPECT_EQ(db_->measurements({"", "", "", run}).size(), static_cast<size_t>(d.measured));
  all(*t);
  EXPECT_EQ(t->measured(), 42);
  EXPECT_EQ(d.measured, 42);
}

TEST_F(TunerTest, WhatWasRecordedIsNotMeasuredAgain) {
  const std::string run = db_->begin_run("c", "m");
  Device d;
  double objective = 0;
  {
    TunerOptions o = small();
    o.trials = 20;
    const auto t = tuner(d, o, run);
    all(*t);
    EXPECT_EQ(t->measured(), 20);
    objective = t->objective();
  }
  const auto t = tuner(d, small(), run);  // 42 trials in all
  EXPECT_EQ(t->measured(), 20);
  all(*t);
  EXPECT_EQ(d.measured, 42);
  EXPECT_LE(t->objective(), objective);
  std::set<std::string> traces;
  for (const auto& m : db_->measurements({})) {
    EXPECT_TRUE(traces.insert(m.task + m.trace).second) << "measured twice";
  }
}

// The first task's records are what the second begins with, in one run.
TEST_F(TunerTest, TasksBeginWithProgramsOfSimilarOnes) {
  const std::vector<TaskToTune> first = {product(24, 16, 32)};
  const std::vector<TaskToTune> second = {product(24, 32, 32)};
  std::vector<std::string> told;
  for (int again = 0; again < 2; ++again) {
    TearDown();
    SetUp();
    events_.clear();
    Device d(0);
    TunerOptions o = small(5);
    o.known = std::make_shared<history::KnownPrograms>();
    const auto& target = first[0].task.target;
    o.known->add_records(*db_, {target, d.target(*target), d.protocol()});
    for (const auto& tasks : {first, second}) {
      o.trials = 0;
      const std::string run = db_->begin_run("c", "m");
      TaskTuner t(tasks, {{{1}, 0, 0}}, o, d, db_.get(), run,
                  [this](const events::Event& e) { events_.push_back(to_json(e)); });
      for (int i = 0; i < 4; ++i) t.step([] { return false; });
    }
    const auto transplanted = of_kind("transplanted");
    ASSERT_EQ(transplanted.size(), 1U) << "nothing is like the first task";
    const Json& e = transplanted[0];
    EXPECT_EQ(e.at("task"), second[0].task.key);
    EXPECT_EQ(e.at("from"), Json::array({first[0].task.key}));
    EXPECT_GE(e.at("tried"), 1);
    EXPECT_LE(e.at("tried"), 2) << "a quarter of a round";
    EXPECT_TRUE(task::serve_json(second[0].task, e.at("trace").get<std::string>()));
    if (told.empty()) told = events_;
    EXPECT_EQ(events_, told);
  }
}

TEST_F(TunerTest, AWrongProgramNeverCounts) {
  Device d(0);
  std::set<std::string> defaults;
  for (const TaskToTune& t : two_tasks()) defaults.insert(schedule::to_json(t.start));
  d.wrong = [&](const std::string& trace) { return !defaults.contains(trace); };
  const auto t = tuner(d, small(), db_->begin_run("c", "m"));
  all(*t);
  for (const TaskResult& r : t->results()) {
    EXPECT_EQ(r.origin, "template");
    EXPECT_EQ(r.best_s, r.start_s);
  }
  size_t wrong = 0;
  for (const auto& m : db_->measurements({})) {
    if (m.outcome != Outcome::kWrong) continue;
    ++wrong;
    EXPECT_EQ(m.error, "element 3 is 7, not 8");
    EXPECT_FALSE(m.verified);
  }
  EXPECT_GT(wrong, 0U);
  EXPECT_EQ(of_kind("wrong").size(), wrong);
}

// A full disk says nothing about programs: they are tried again by a later run.
TEST_F(TunerTest, WhatCouldNotBeJudgedIsToldAndNotKept) {
  Device d(0);
  const std::string run = db_->begin_run("c", "m");
  int asked = 0;
  d.undecided = [&](const std::string&) { return ++asked % 2 == 0; };
  const auto t = tuner(d, small(), run);
  all(*t);
  EXPECT_EQ(t->measured(), 42);
  const auto told = of_kind("undecided");
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told[0].at("why"), "no room");
  std::set<std::string> kept;
  for (const auto& m : db_->measurements({})) {
    EXPECT_NE(m.outcome, Outcome::kWrong) << m.error;
    EXPECT_NE(m.outcome, Outcome::kUndecided);
    kept.insert(m.task + m.trace);
  }
  for (const Json& e : told) {
    EXPECT_FALSE(kept.contains(e.at("task").get<std::string>() + e.at("trace").get<std::string>()));
  }
  EXPECT_EQ(kept.size() + told.size(), 42U);
  for (size_t i = 0; i < t->results().size(); ++i) {
    const TaskResult& r = t->results()[i];
    const std::string key = two_tasks()[i].task.key + schedule::to_json(r.best);
    EXPECT_TRUE(r.origin == "template" || kept.contains(key));
  }
}

TEST_F(TunerTest, AMachineThatJudgesNothingEndsTheRun) {
  Device d(0);
  d.undecided = [](const std::string&) { return true; };
  TunerOptions o = small();
  o.trials = 1000;
  o.verify = Verify::kAll;
  const auto t = tuner(d, o, db_->begin_run("c", "m"));
  try {
    all(*t);
    FAIL() << "it went on";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("could not be judged"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("no room"), std::string::npos) << e.what();
  }
  EXPECT_TRUE(db_->measurements({}).empty());
}

// Rounds go on while verdicts are open; each program is recorded once all the same, with its verdict.
TEST_F(TunerTest, VerdictsMayComeLate) {
  for (const std::launch when : {std::launch::deferred, std::launch::async}) {
    TearDown();
    SetUp();
    events_.clear();
    Device d(0);
    d.works_ahead = true;
    d.late = when;
    std::string refused;  // the first that would win
    std::set<std::string> defaults;
    for (const TaskToTune& t : two_tasks()) defaults.insert(schedule::to_json(t.start));
    d.wrong = [&](const std::string& trace) {
      if (refused.empty() && !defaults.contains(trace)) refused = trace;
      return trace == refused;
    };
    const auto t = tuner(d, small(), db_->begin_run("c", "m"));
    all(*t);
    EXPECT_EQ(t->measured(), 42);
    EXPECT_EQ(db_->measurements({}).size(), 42U);
    for (const TaskResult& r : t->results()) {
      EXPECT_GT(r.start_s, 0);
      EXPECT_LE(r.best_s, r.start_s);
      EXPECT_TRUE(d.verified.contains(schedule::to_json(r.best)));
      EXPECT_NE(schedule::to_json(r.best), refused);
    }
    EXPECT_EQ(of_kind("wrong").size(), 1U);
    EXPECT_EQ(of_kind("default").size(), 2U);
    EXPECT_EQ(of_kind("round").size(), 10U);
  }
}

TEST_F(TunerTest, OpenVerdictsAreWaitedForWhenItSettles) {
  Device d(0);
  d.works_ahead = true;
  d.late = std::launch::deferred;
  const auto t = tuner(d, small(), db_->begin_run("c", "m"));
  for (int i = 0; i < 6; ++i) t->step({});
  EXPECT_LT(t->measured(), d.measured) << "of some the verdict is open";
  t->settle();
  EXPECT_EQ(t->measured(), d.measured);
  EXPECT_EQ(db_->measurements({}).size(), static_cast<size_t>(d.measured));
}

// Records that no program can be made of cost the task nothing but themselves.
TEST_F(TunerTest, RecordsThatMayNotServeAreToldAndLeftOut) {
  Device d(0);
  const TaskToTune first = two_tasks()[0];
  std::vector<task::Measurement> bad;
  for (const char* trace :
       {"garbage", "[]x", R"([["split",99,0,[16],false]])", R"([["layout_reorder",0,[1,0]]])"}) {
    task::Measurement m;
    m.task = first.task.key;
    m.target = d.target(*first.task.target);
    m.protocol = d.protocol();
    m.trace = trace;
    m.seconds = {1e-9};
    m.best_s = m.median_s = m.low_s = m.high_s = 1e-9;
    m.verified = true;
    bad.push_back(m);
  }
  db_->record(bad);
  const auto t = tuner(d, small(), db_->begin_run("c", "m"));
  all(*t);
  const auto told = of_kind("refused");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].at("task"), first.task.key);
  EXPECT_EQ(told[0].at("records"), 4);
  EXPECT_NE(told[0].at("why"), "");
  EXPECT_GT(t->results()[0].best_s, 1e-8);
  EXPECT_EQ(t->measured(), 42);
}

TEST_F(TunerTest, VerifyAllComparesWhateverRan) {
  Device d(0);
  TunerOptions o = small();
  o.verify = Verify::kAll;
  const auto t = tuner(d, o, db_->begin_run("c", "m"));
  all(*t);
  for (const auto& m : db_->measurements({})) EXPECT_TRUE(m.verified);
}

TEST_F(TunerTest, SaysWhyWhenNothingRuns) {
  Device d(0);
  d.broken = "killed by signal 11";
  const auto t = tuner(d, small(), db_->begin_run("c", "m"));
  all(*t);
  EXPECT_EQ(t->failed(), t->measured());
  ASSERT_EQ(t->reasons().size(), 1U);
  EXPECT_EQ(t->reasons()[0].outcome, "run-crash");
  EXPECT_EQ(t->reasons()[0].error, "killed by signal 11");
  EXPECT_EQ(t->reasons()[0].count, t->measured());
  for (const TaskResult& r : t->results()) EXPECT_FALSE(r.best_s > 0 && std::isfinite(r.best_s));
}

TEST_F(TunerTest, StopsBetweenMeasurements) {
  Device d;
  const auto t = tuner(d, small(), db_->begin_run("c", "m"));
  EXPECT_TRUE(t->step([] { return true; }));  // asked before the first measurement
  EXPECT_EQ(t->measured(), d.measured);
  EXPECT_EQ(db_->measurements({}).size(), static_cast<size_t>(d.measured));
}

TEST_F(TunerTest, FinalsNeverLeaveATaskSlowerThanItsDefault) {
  Device d(0);
  const auto t = tuner(d, small(), db_->begin_run("c", "m"));
  all(*t);
  t->finals(0.1, [] { return false; });
  for (const TaskResult& r : t->results()) {
    EXPECT_LE(r.best_s, r.start_s);
    EXPECT_TRUE(d.verified.contains(schedule::to_json(r.best)));
  }
  for (const Json& e : of_kind("finals")) EXPECT_LE(e.at("best_s"), e.at("default_s"));
}

// What one stage measured serves the next, and nothing counts twice.
TEST_F(TunerTest, TunersOfARunShareOneModel) {
  Device d;
  TunerOptions o = small();
  o.model = make_run_model(o);
  all(*tuner(d, o, "run"));
  ASSERT_TRUE(o.model->model().trained());
  const std::string known = o.model->model().save();
  tuner(d, o, "another");  // reads the records again
  EXPECT_EQ(o.model->model().save(), known);
  events_.clear();
  TaskTuner other({product(31, 9, 24)}, {{{1}, 0, 0}}, o, d, nullptr, "run",
                  [this](const events::Event& e) { events_.push_back(events::to_json(e)); });
  all(other);
  ASSERT_FALSE(of_kind("round").empty());
  EXPECT_TRUE(of_kind("round")[0]["ranking"].is_object()) << "trained before its first round";
}

}  // namespace
}  // namespace tenon::tune
