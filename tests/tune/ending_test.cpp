// SPDX-License-Identifier: Apache-2.0
// Runs on a pretend device where every part of the end takes its time: all of them end with their budgets.
#include <cmath>
#include <set>

#include "tune/session_fixture.h"

namespace tenon::tune {
namespace {

using Now = std::shared_ptr<double>;

// A job takes a tenth of a second, the finals of a task what they were given and a second for building. Where `faster_from`
// is set, everything is slower than the first program of its task, which is the default, before that time and faster then.
class SlowMeasurer : public measure::Measurer {
 public:
  SlowMeasurer(std::unique_ptr<measure::Measurer> device, Now now)
      : device_(std::move(device)), now_(std::move(now)) {}
  std::string target(const target::Target& t) const override { return device_->target(t); }
  std::string protocol() const override { return device_->protocol(); }
  measure::JobId submit(measure::Job job) override {
    const bool is_default = tasks_.insert(job.task.key).second;
    const measure::JobId id = device_->submit(std::move(job));
    if (is_default) defaults_.insert(id);
    return id;
  }
  std::vector<measure::Done> poll(double wait_s) override {
    auto done = device_->poll(wait_s);
    *now_ += 0.1 * static_cast<double>(done.size());
    for (measure::Done& d : done) {
      if (d.measurement && !defaults_.contains(d.id)) change(*d.measurement);
    }
    return done;
  }
  void cancel_waiting() override { device_->cancel_waiting(); }
  measure::Verdict verify(const task::Task& t, const schedule::Trace& trace) override {
    return device_->verify(t, trace);
  }
  std::vector<task::Measurement> finals(const task::Task& t,
                                        std::span<const schedule::Trace> traces,
                                        double seconds) override {
    *now_ += 1 + seconds;
    ++finals_of;
    std::vector<task::Measurement> all = device_->finals(t, traces, seconds);
    for (task::Measurement& m : all) {
      if (m.trace != schedule::to_json(traces[0])) change(m);
    }
    return all;
  }
  int finals_of = 0;
  double faster_from = 0;

 private:
  void change(task::Measurement& m) const {
    if (faster_from == 0) return;
    const double factor = *now_ < faster_from ? 100 : 0.01;
    for (double* s : {&m.best_s, &m.low_s, &m.median_s, &m.high_s}) *s *= factor;
    for (double& s : m.seconds) s *= factor;
  }

  std::unique_ptr<measure::Measurer> device_;
  Now now_;
  std::set<std::string> tasks_;
  std::set<measure::JobId> defaults_;
};

// Loading takes a second besides.
class SlowTimer : public PretendTimer {
 public:
  explicit SlowTimer(Now now) : now_(std::move(now)) {}
  measure::NetworkTimes compare(const fs::path& a, const fs::path& b,
                                const measure::NetworkOptions& o) override {
    *now_ += 1 + o.seconds;
    each_s.insert(o.seconds);
    return PretendTimer::compare(a, b, o);
  }
  std::set<double> each_s;  // how long networks were compared

 private:
  Now now_;
};

class EndingTest : public SessionTest {
 protected:
  // Where a default fails, whatever runs is a find.
  std::unique_ptr<measure::Measurer> device() const override {
    return measure::sim_measurer({.seed = 2, .protocol = {}, .noise = 0, .failures = 0});
  }
  Summary run_for(double budget_s, const std::function<void(SlowTimer&)>& set = {},
                  double faster_from = 0) {
    SessionOptions o = options(0);
    o.budget_s = budget_s;
    const Now now = std::make_shared<double>(0);
    o.tuner.clock = [now] { return *now += 1e-4; };
    SlowMeasurer measurer(device(), now);
    measurer.faster_from = faster_from;
    SlowTimer timer(now);
    if (set) set(timer);
    std::vector<Model> models;
    for (size_t m = 0; m < networks_; ++m) {
      const std::string name = m == 0 ? "" : std::to_string(m);
      models.push_back({.name = "net" + name,
                        .graph = graph_,
                        .directory = out().string() + name,
                        .provenance = {}});
    }
    Session s(std::move(models), o, measurer, timer, *db_, {});
    const Summary summary = s.run({});
    finals_of_ = measurer.finals_of;
    compared_ = timer.asked;
    each_s_ = timer.each_s;
    return summary;
  }
  size_t networks_ = 1;
  int finals_of_ = 0, compared_ = 0;
  std::set<double> each_s_;
};

TEST_F(EndingTest, TheWholeRunEndsWithItsBudget) {
  for (const double budget_s : {15.0, 25.0, 40.0}) {
    SCOPED_TRACE(budget_s);
    TearDown();
    SetUp();
    const Summary s = run_for(budget_s);
    EXPECT_EQ(s.reason, "budget");
    EXPECT_LE(s.spent_s, 1.03 * budget_s + 2);
    EXPECT_GE(s.spent_s, 0.8 * budget_s) << "what is not needed at the end is tuned with";
    EXPECT_EQ(s.models[0].kept, "tuned");
    EXPECT_GT(finals_of_, 0);
    EXPECT_GT(compared_, 0);
  }
}

// Tasks that lose inside the network are dropped, which takes a second comparison.
TEST_F(EndingTest, SoItDoesWhereTheFirstComparisonIsNotTheLast) {
  const Summary s = run_for(60, [](SlowTimer& t) { t.slow_inside = true; });
  EXPECT_LE(s.spent_s, 1.03 * 60 + 2);
  EXPECT_EQ(s.models[0].kept, "default: no task gained inside the network");
}

// Else comparing them would take a fourth of the budget of six networks.
TEST_F(EndingTest, NetworksShareTheTimeForComparingThem) {
  networks_ = 3;
  const Summary s = run_for(120);
  EXPECT_EQ(compared_, 3);
  ASSERT_EQ(each_s_.size(), 1u);
  EXPECT_DOUBLE_EQ(*each_s_.begin(), 0.02 * 120 / 3);
  for (const ModelSummary& m : s.models) EXPECT_EQ(m.kept, "tuned");
}

TEST_F(EndingTest, WithoutAFindTheEndNeedsNoTime) {
  for (const double budget_s : {5.0, 10.0, 40.0}) {
    SCOPED_TRACE(budget_s);
    TearDown();
    SetUp();
    const Summary s = run_for(budget_s, {}, INFINITY);
    EXPECT_GE(s.spent_s, 0.95 * budget_s);
    EXPECT_LE(s.spent_s, budget_s + 0.8) << "of the eight programs of a round none is cut off";
    EXPECT_EQ(s.models[0].kept, "default: nothing better was found");
    EXPECT_EQ(compared_, 0);
    EXPECT_EQ(s.measured, std::ssize(db_->measurements({"", "", "", s.run})));
  }
}

// Rounds of 40 seconds end behind 35.4, and up to 37.8 there is time to judge a find.
TEST_F(EndingTest, ALateFindIsJudged) {
  const Summary s = run_for(40, {}, 36.5);
  EXPECT_LE(s.spent_s, 1.1 * 40);
  EXPECT_EQ(s.models[0].kept, "tuned");
  EXPECT_GT(finals_of_, 0);
  EXPECT_GT(compared_, 0);
}

TEST_F(EndingTest, AFindThatIsTooLateIsForTheNextRun) {
  const Summary s = run_for(40, {}, 38.5);
  EXPECT_GE(s.spent_s, 0.95 * 40);
  EXPECT_LE(s.spent_s, 40 + 0.8);
  EXPECT_NE(s.models[0].kept.find("came too late to be compared"), std::string::npos)
      << s.models[0].kept;
  EXPECT_EQ(compared_, 0);
  EXPECT_EQ(tuned_steps(), 0) << "what was not compared is in no artifact";
  const Summary next = run_for(40, {}, 1e-3);
  EXPECT_EQ(next.models[0].kept, "tuned");
}

}  // namespace
}  // namespace tenon::tune
