// SPDX-License-Identifier: Apache-2.0
// Runs on a pretend device where every part of the end takes its time: all of them end with their budgets.
#include "tune/session_fixture.h"

namespace tenon::tune {
namespace {

using Now = std::shared_ptr<double>;

// A job takes a tenth of a second, the finals of a task what they were given and a second for building.
class SlowMeasurer : public measure::Measurer {
 public:
  SlowMeasurer(std::unique_ptr<measure::Measurer> device, Now now)
      : device_(std::move(device)), now_(std::move(now)) {}
  std::string target(const target::Target& t) const override { return device_->target(t); }
  std::string protocol() const override { return device_->protocol(); }
  measure::JobId submit(measure::Job job) override { return device_->submit(std::move(job)); }
  std::vector<measure::Done> poll(double wait_s) override {
    auto done = device_->poll(wait_s);
    *now_ += 0.1 * static_cast<double>(done.size());
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
    return device_->finals(t, traces, seconds);
  }
  int finals_of = 0;

 private:
  std::unique_ptr<measure::Measurer> device_;
  Now now_;
};

// Loading takes a second besides.
class SlowTimer : public PretendTimer {
 public:
  explicit SlowTimer(Now now) : now_(std::move(now)) {}
  measure::NetworkTimes compare(const fs::path& a, const fs::path& b,
                                const measure::NetworkOptions& o) override {
    *now_ += 1 + o.seconds;
    return PretendTimer::compare(a, b, o);
  }

 private:
  Now now_;
};

class EndingTest : public SessionTest {
 protected:
  Summary run_for(double budget_s, const std::function<void(SlowTimer&)>& set = {}) {
    SessionOptions o = options(0);
    o.budget_s = budget_s;
    const Now now = std::make_shared<double>(0);
    o.tuner.clock = [now] { return *now += 1e-4; };
    SlowMeasurer measurer(device(), now);
    SlowTimer timer(now);
    if (set) set(timer);
    Session s({{.name = "net", .graph = graph_, .directory = out(), .provenance = {}}}, o, measurer,
              timer, *db_, {});
    const Summary summary = s.run({});
    finals_of_ = measurer.finals_of;
    compared_ = timer.asked;
    return summary;
  }
  int finals_of_ = 0, compared_ = 0;
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

}  // namespace
}  // namespace tenon::tune
