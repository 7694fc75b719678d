// SPDX-License-Identifier: Apache-2.0
// Whole runs on the pretend device: artifacts, resuming, the last word of the whole network.
#include "tune/session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "artifact/model.h"
#include "graph/builder.h"
#include "graph/random_graph.h"

namespace tenon::tune {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Says that whatever it is asked about is `ratio` times as fast.
class PretendTimer : public NetworkTimer {
 public:
  NetworkTimes compare(const fs::path& a, const fs::path& b, int, double) override {
    const artifact::Model first = artifact::Model::load(a);
    const artifact::Model second = artifact::Model::load(b);
    if (same_steps) EXPECT_EQ(first.steps().size(), second.steps().size());
    for (const auto& s : first.steps()) EXPECT_NE(s.origin, "tuned") << "the default is tuned";
    ++asked;
    NetworkTimes t;
    t.error = error;
    t.a_s = 1e-3;
    t.b_s = 1e-3 / ratio;
    t.ratio = t.low = t.high = ratio;
    t.difference = difference;
    for (const auto& s : second.steps()) {
      t.a_steps_s.push_back(1e-5);
      t.b_steps_s.push_back(s.origin == "tuned" && slow_inside ? 2e-5 : 0.5e-5);
    }
    return t;
  }
  double ratio = 1.5;
  double difference = 0;
  bool slow_inside = false;
  bool same_steps = true;  // not with other layouts: conversions are steps
  std::string error;
  int asked = 0;
};

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("session_test_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    db_ = db::Database::open((folder_ / "t.db").string());
    Rng rng(5);
    graph_ = std::make_shared<const graph::Graph>(graph::random_graph(rng, 10));
    inputs_ = graph::random_inputs(rng, *graph_);
    expected_ = graph::evaluate(*graph_, inputs_);
  }
  void TearDown() override {
    db_.reset();
    fs::remove_all(folder_);
  }

  SessionOptions options(int64_t trials) const {
    SessionOptions o;
    o.compile.target = target::host_target();
    o.command = "test";
    o.tuner.trials = trials;
    o.tuner.space = "sketch";
    o.tuner.round = 8;
    o.tuner.threads = 1;
    o.layouts.proposer = "";
    o.tuner.search.population = 48;
    o.tuner.search.generations = 2;
    double n = 0;
    o.tuner.clock = [n]() mutable { return n += 1e-3; };
    return o;
  }

  Summary run(const SessionOptions& o, const std::function<bool()>& stop = {}) {
    const auto device =
        measure::sim_measurer({.seed = 2, .protocol = {}, .noise = 0, .failures = 0.05});
    Session s({{.name = "net",
                .graph = graph_,
                .directory = out(),
                .provenance = {{"file", "net.onnx"}}}},
              o, *device, timer_, *db_, [this](const std::string& e) {
                events_.push_back(e);
                artifact_is_right(e);
              });
    return s.run(stop);
  }

  fs::path out() const { return folder_ / "out"; }

  // After each event there is an artifact, and it computes what the model says.
  void artifact_is_right(const std::string& event) {
    if (Json::parse(event).at("event") == "run" || !fs::exists(out())) return;
    const artifact::Model m = artifact::Model::load(out());
    m.verify();
    artifact::Session s(m, 1);
    const graph::Difference d = graph::compare(expected_, s.run(inputs_));
    EXPECT_LT(d.error, 1e-5) << d.where;
  }

  int tuned_steps() const {
    int n = 0;
    const artifact::Model m = artifact::Model::load(out());
    for (const auto& s : m.steps()) n += s.origin == "tuned" ? 1 : 0;
    return n;
  }

  fs::path folder_;
  std::unique_ptr<db::Database> db_;
  std::shared_ptr<const graph::Graph> graph_;
  std::vector<ir::Array> inputs_, expected_;
  PretendTimer timer_;
  std::vector<std::string> events_;
};

TEST_F(SessionTest, LeavesATunedArtifact) {
  const Summary s = run(options(120));
  EXPECT_EQ(s.reason, "trials");
  EXPECT_EQ(s.measured, 120);
  ASSERT_EQ(s.models.size(), 1U);
  EXPECT_EQ(s.models[0].kept, "tuned");
  EXPECT_GT(tuned_steps(), 0);
  EXPECT_GT(timer_.asked, 0);
  ASSERT_EQ(db_->runs().size(), 1U);
  EXPECT_FALSE(db_->runs()[0].finished.empty());
  EXPECT_EQ(Json::parse(events_.front()).at("event"), "run");
  EXPECT_EQ(Json::parse(events_.back()).at("event"), "end");
  EXPECT_EQ(db_->events(s.run).size(), events_.size());
}

TEST_F(SessionTest, IsTheSameByteForByte) {
  std::vector<std::string> first;
  for (int i = 0; i < 2; ++i) {
    TearDown();
    SetUp();
    events_.clear();
    run(options(60));
    for (std::string& e : events_) {
      Json j = Json::parse(e);
      j.erase("run");  // its id is unlike any other's
      e = j.dump();
    }
    if (i == 0) first = events_;
  }
  EXPECT_EQ(first, events_);
}

TEST_F(SessionTest, GoesOnWhereItWasInterrupted) {
  int asked = 0;
  const Summary a = run(options(100), [&] { return ++asked > 40; });
  EXPECT_EQ(a.reason, "interrupted");
  EXPECT_LT(a.measured, 100);
  EXPECT_TRUE(db_->runs()[0].finished.empty());
  const Summary b = run(options(100));
  EXPECT_EQ(b.run, a.run);
  EXPECT_EQ(b.measured, 100);
  EXPECT_GE(b.spent_s, a.spent_s);
  const Summary c = run(options(100));  // finished: a new run, which builds on the old
  EXPECT_NE(c.run, a.run);
}

TEST_F(SessionTest, TheBudgetEndsIt) {
  SessionOptions o = options(0);
  o.budget_s = 2;
  const Summary s = run(o);
  EXPECT_EQ(s.reason, "budget");
  EXPECT_TRUE(fs::exists(out() / "net.json"));
}

struct Verdict {
  const char* name;
  std::function<void(PretendTimer&)> set;
  const char* says;
};

TEST_F(SessionTest, TheDefaultStaysWhereTheNetworkDoesNotGain) {
  const Verdict verdicts[] = {
      {"slower", [](PretendTimer& t) { t.ratio = 0.9; },
       "default: the whole network was not faster"},
      {"inside", [](PretendTimer& t) { t.slow_inside = true; },
       "default: no task gained inside the network"},
      {"wrong", [](PretendTimer& t) { t.difference = 0.5; }, "default: outputs differ by 0.5"},
      {"crash", [](PretendTimer& t) { t.error = "killed by signal 11"; },
       "default: killed by signal 11"},
  };
  for (const Verdict& v : verdicts) {
    SCOPED_TRACE(v.name);
    TearDown();
    SetUp();
    timer_ = {};
    v.set(timer_);
    const Summary s = run(options(120));
    EXPECT_EQ(s.models[0].kept, v.says);
    EXPECT_EQ(s.models[0].tuned, 0);
    EXPECT_EQ(tuned_steps(), 0);
  }
}

TEST_F(SessionTest, OnlyTheTasksThatWereAskedFor) {
  SessionOptions o = options(40);
  o.tasks = "no such task";
  EXPECT_THROW(run(o), UserError);
}

// Convolutions whose layouts are searched before their loops are tuned further.
class LayoutSessionTest : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    Rng rng(7);
    graph::Graph g;
    graph::GraphBuilder b(g);
    te::ConvParams same;
    same.pad_before = same.pad_after = {1, 1};
    graph::ValueId x = b.input("x", ir::kF32, {1, 8, 9, 7});
    for (const int64_t out : {12, 16}) {
      const auto w = b.constant(graph::random_array(rng, ir::kF32, {out, b.shape(x)[1], 3, 3}));
      x = b.add("conv", graph::Conv{same}, {x, w});
    }
    g.add_output(x, "y");
    graph_ = std::make_shared<const graph::Graph>(std::move(g));
    inputs_ = graph::random_inputs(rng, *graph_);
    expected_ = graph::evaluate(*graph_, inputs_);
    timer_ = {};
    timer_.same_steps = false;
    events_.clear();
  }

  SessionOptions options(int64_t trials) const {
    SessionOptions o = SessionTest::options(trials);
    o.layouts = {};
    o.layouts.trials = 10;
    return o;
  }

  int count(const std::string& name) const {
    int n = 0;
    for (const std::string& e : events_) n += Json::parse(e).at("event") == name ? 1 : 0;
    return n;
  }
};

TEST_F(LayoutSessionTest, TriesLayoutsFirst) {
  const Summary s = run(options(300));
  EXPECT_EQ(s.reason, "trials");
  EXPECT_EQ(s.measured, 300);
  EXPECT_GE(count("layout"), 6);  // a third of 300 trials, ten for each
  EXPECT_EQ(count("layouts"), 1);
  EXPECT_EQ(s.models[0].kept, "tuned");
}

// What a user gets who asks for nothing but a number of trials.
TEST_F(LayoutSessionTest, TwoHundredTrialsAreEnoughForLayouts) {
  SessionOptions o = options(200);
  o.layouts = {};
  const Summary s = run(o);
  EXPECT_EQ(s.measured, 200);
  EXPECT_GE(count("layout"), 4);
  EXPECT_EQ(count("layouts"), 1);
}

TEST_F(LayoutSessionTest, IsTheSameByteForByte) {
  std::vector<std::string> first;
  for (int i = 0; i < 2; ++i) {
    TearDown();
    SetUp();
    run(options(150));
    for (std::string& e : events_) {
      Json j = Json::parse(e);
      j.erase("run");
      e = j.dump();
    }
    if (i == 0) first = events_;
  }
  EXPECT_EQ(first, events_);
}

TEST_F(LayoutSessionTest, GoesOnWithWhatWasDecided) {
  const Summary a = run(options(300), [&] { return count("layouts") > 0; });
  EXPECT_EQ(a.reason, "interrupted");
  const int tried = count("layout");
  const Summary b = run(options(300));
  EXPECT_EQ(b.run, a.run);
  EXPECT_EQ(b.measured, 300);
  EXPECT_EQ(count("layout"), tried);
  EXPECT_EQ(count("layouts"), 1);
}

TEST_F(LayoutSessionTest, GoesOnInTheMiddleOfTheStage) {
  const Summary a = run(options(300), [&] { return count("layout") >= 3; });
  EXPECT_EQ(a.reason, "interrupted");
  const Summary b = run(options(300));
  EXPECT_EQ(b.run, a.run);
  EXPECT_EQ(b.measured, 300);
  EXPECT_EQ(count("layouts"), 1);
}

TEST_F(LayoutSessionTest, OtherLayoutsMustWinInTheNetworkToo) {
  timer_.ratio = 0.9;
  const Summary s = run(options(300));
  EXPECT_EQ(s.models[0].kept, "default: the whole network was not faster");
  compile::Options plain;
  plain.target = target::host_target();
  EXPECT_EQ(artifact::Model::load(out()).steps().size(),
            compile::compile(*graph_, "net", plain).steps.size());
  EXPECT_EQ(tuned_steps(), 0);
}

TEST_F(LayoutSessionTest, NotInShortRuns) {
  run(options(60));  // a third of it is no three layouts of ten trials
  EXPECT_EQ(count("layout") + count("layouts"), 0);
}

TEST_F(LayoutSessionTest, FixedMeansFixed) {
  SessionOptions o = options(150);
  o.layouts.proposer = "";
  run(o);
  EXPECT_EQ(count("layout") + count("layouts"), 0);
  o.layouts.proposer = "no such row";
  EXPECT_THROW(run(o), UserError);
}

}  // namespace
}  // namespace tenon::tune
