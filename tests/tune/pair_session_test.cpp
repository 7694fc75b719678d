// SPDX-License-Identifier: Apache-2.0
// Whole runs that decide which convolutions are computed in pairs before loops are tuned further.
#include <algorithm>

#include "measure/at_once.h"
#include "tune/session_fixture.h"

namespace tenon::tune {
namespace {

// The pretend device, on which pairs take so many times as long as they do there.
class WithPairs : public measure::AtOnce {
 public:
  WithPairs(std::unique_ptr<measure::Measurer> of, double factor)
      : of_(std::move(of)), factor_(factor) {}

  std::string target(const target::Target& t) const override { return of_->target(t); }
  std::string protocol() const override { return of_->protocol(); }
  task::Measurement one(const task::Task& t, const schedule::Trace& trace) override {
    return scaled(t, measure::measure(*of_, t, std::span(&trace, 1), 0)).at(0);
  }
  measure::Verdict verify(const task::Task& t, const schedule::Trace& trace) override {
    return of_->verify(t, trace);
  }
  std::vector<task::Measurement> finals(const task::Task& t,
                                        std::span<const schedule::Trace> traces,
                                        double seconds) override {
    return scaled(t, of_->finals(t, traces, seconds));
  }

 private:
  std::vector<task::Measurement> scaled(const task::Task& t,
                                        std::vector<task::Measurement> all) const {
    const auto sums = std::count_if(t.dag->ops.begin(), t.dag->ops.end(),
                                    [](const te::OpRef& op) { return op->is_reduction(); });
    for (task::Measurement& m : all) {
      if (sums < 2) continue;
      for (double* s : {&m.best_s, &m.low_s, &m.median_s, &m.high_s}) *s *= factor_;
      for (double& s : m.seconds) s *= factor_;
    }
    return all;
  }

  std::unique_ptr<measure::Measurer> of_;
  double factor_;
};

// stem -> d1 -> p1 -> d2 -> p2 -> pool: two pairs, unlike each other.
class PairSessionTest : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    Rng rng(7);
    graph::Graph g;
    graph::GraphBuilder b(g);
    const auto weight = [&](graph::Shape shape) {
      return b.constant(graph::random_array(rng, ir::kF32, shape));
    };
    te::ConvParams p;
    p.pad_before = p.pad_after = {1, 1};
    graph::ValueId x = b.input("x", ir::kF32, {1, 3, 9, 7});
    x = b.add("stem", graph::Conv{p}, {x, weight({8, 3, 3, 3})});
    const auto block = [&](int64_t out, const std::string& suffix) {
      p.groups = b.shape(x)[1];
      x = b.add("d" + suffix, graph::Conv{p}, {x, weight({p.groups, 1, 3, 3})});
      x = b.add("p" + suffix, graph::Conv{}, {x, weight({out, p.groups, 1, 1})});
    };
    block(16, "1");
    block(24, "2");
    x = b.compute("pool", {x}, [](te::Builder& t, std::span<const te::Tensor> in) {
      return te::pool(t, "pool", in[0], te::Pool::kAverage, {9, 7}, {});
    });
    g.add_output(x, "y");
    set_graph(std::move(g), rng);
    timer_ = {};
    timer_.same_steps = false;
    events_.clear();
  }

  std::unique_ptr<measure::Measurer> device() const override {
    return std::make_unique<WithPairs>(SessionTest::device(), factor_);
  }

  // Both pairs fit into a fourth of these trials.
  SessionOptions options() const {
    SessionOptions o = SessionTest::options(kTrials);
    o.pairs.share = 0.25;
    return o;
  }

  Json event(const std::string& name) const {
    for (const std::string& e : events_) {
      Json j = Json::parse(e);
      if (j.at("event") == name) return j;
    }
    return {};
  }

  using Names = std::vector<std::string>;
  // That were decided, by the search.
  Names pairs() const {
    const Json pairs = decided("pairs").at(0).at("models").at("net").at("pairs");
    EXPECT_EQ(pairs.at("from"), "measured");
    Names out;
    for (const auto& [name, first] : pairs.at("calls").items()) out.push_back(name);
    return out;
  }

  // Without conversions.
  size_t calls() const {
    const artifact::Model m = artifact::Model::load(out());
    return static_cast<size_t>(std::count_if(m.steps().begin(), m.steps().end(), [](const auto& s) {
      return s.nodes.empty() || !s.nodes[0].starts_with("relay of ");
    }));
  }

  static constexpr int64_t kTrials = 240;
  static constexpr size_t kCalls = 6;
  double factor_ = 0.01;
};

TEST_F(PairSessionTest, ChosenWhereTheyAreFaster) {
  const Summary s = run(options());
  EXPECT_EQ(s.reason, "trials");
  EXPECT_EQ(s.measured, kTrials);
  EXPECT_EQ(count("pair"), 2);
  EXPECT_EQ(pairs(), (Names{"p1", "p2"}));
  EXPECT_EQ(count("run"), 2);  // other tasks
  EXPECT_EQ(s.models[0].kept, "tuned");
  EXPECT_EQ(s.tasks.size(), kCalls - 2);
  EXPECT_EQ(calls(), kCalls - 2);
  const Json pair = event("pair");
  EXPECT_LT(pair.at("s").get<double>(), pair.at("apart_s").get<double>());
  EXPECT_TRUE(pair.at("taken").get<bool>());
}

TEST_F(PairSessionTest, NotChosenWhereTheyAreNot) {
  factor_ = 100;
  const Summary s = run(options());
  EXPECT_EQ(s.measured, kTrials);
  EXPECT_EQ(count("pair"), 2);
  EXPECT_EQ(pairs(), Names{});
  EXPECT_FALSE(event("pair").at("taken").get<bool>());
  EXPECT_EQ(count("run"), 1);
  EXPECT_EQ(calls(), kCalls);
}

TEST_F(PairSessionTest, IsTheSameByteForByte) {
  std::vector<std::string> first;
  for (int i = 0; i < 2; ++i) {
    TearDown();
    SetUp();
    run(options());
    if (i == 0) first = story();
  }
  EXPECT_EQ(first, story());
}

// Three tasks with eight trials each are the least that says something of a pair.
TEST_F(PairSessionTest, ASmallShareIsLeftToTheLoops) {
  SessionOptions o = SessionTest::options(kTrials);
  o.pairs.share = 0.09;
  const Summary s = run(o);
  EXPECT_EQ(s.measured, kTrials);
  EXPECT_EQ(count("pair"), 0);
  EXPECT_TRUE(decided("pairs").empty());
  EXPECT_EQ(calls(), kCalls);
}

TEST_F(PairSessionTest, GoesOnWithWhatWasDecided) {
  const Summary a = run(options(), [&] { return !decided("pairs").empty(); });
  EXPECT_EQ(a.reason, "interrupted");
  const Summary b = run(options());
  EXPECT_EQ(b.run, a.run);
  EXPECT_EQ(b.measured, kTrials);
  EXPECT_EQ(count("pair"), 2);
  EXPECT_EQ(decided("pairs").size(), 1U);
  EXPECT_EQ(calls(), kCalls - 2);
}

TEST_F(PairSessionTest, GoesOnInTheMiddleOfTheStage) {
  const Summary a = run(options(), [&] { return count("pair") > 0; });
  EXPECT_EQ(a.reason, "interrupted");
  EXPECT_TRUE(decided("pairs").empty());
  const Summary b = run(options());
  EXPECT_EQ(b.run, a.run);
  EXPECT_EQ(b.measured, kTrials);
  EXPECT_EQ(pairs(), (Names{"p1", "p2"}));
}

TEST_F(PairSessionTest, LayoutsAreThoseOfTheNetworkWithPairs) {
  SessionOptions o = options();
  o.layouts = {};
  o.layouts.trials = 10;
  const Summary s = run(o);
  EXPECT_EQ(s.measured, kTrials);
  EXPECT_EQ(decided("pairs").size(), 1U);
  EXPECT_EQ(decided("layouts").size(), 1U);
  EXPECT_EQ(calls(), kCalls - 2);
}

// Then the best of the tasks that were there at first is tried.
TEST_F(PairSessionTest, TheyMustWinInTheNetworkToo) {
  timer_.ratio = 0.9;
  const Summary s = run(options());
  EXPECT_EQ(s.models[0].kept, "default: the whole network was not faster");
  EXPECT_GE(timer_.asked, 2);
  EXPECT_EQ(calls(), kCalls);
  EXPECT_EQ(tuned_steps(), 0);
}

TEST_F(PairSessionTest, LeftOutWhereItMakesNoSense) {
  struct Case {
    const char* name;
    std::function<void(SessionOptions&)> set;
  };
  const Case cases[] = {
      {"off", [](SessionOptions& o) { o.pairs.on = false; }},
      {"few trials", [](SessionOptions& o) { o.tuner.trials = 90; }},
      {"little time", [](SessionOptions& o) { o.budget_s = 30; }},
      {"some tasks", [](SessionOptions& o) { o.tasks = "p?"; }},
      {"a kernel per node", [](SessionOptions& o) { o.compile.fuse = false; }},
      {"everything row-major", [](SessionOptions& o) { o.compile.row_major = true; }},
      {"decided before",
       [](SessionOptions& o) {
         o.compile.plan.pairs = {{{"p1", ""}}, plan::From::kLock};
       }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    TearDown();
    SetUp();
    SessionOptions o = options();
    c.set(o);
    run(o, [&] { return count("round") > 0; });
    EXPECT_EQ(count("pair"), 0);
    EXPECT_TRUE(decided("pairs").empty());
  }
  EXPECT_EQ(calls(), kCalls - 1);  // the last case
}

}  // namespace
}  // namespace tenon::tune
