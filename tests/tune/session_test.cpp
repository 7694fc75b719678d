// SPDX-License-Identifier: Apache-2.0
// Whole runs on the pretend device: artifacts, resuming, the last word of the whole network.
#include "tune/session_fixture.h"

#include "files/file.h"

namespace tenon::tune {
namespace {

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
    if (i == 0) first = story();
  }
  EXPECT_EQ(first, story());
}

// As on a card: every core may do anything while programs are timed. The fixture looks at the artifact after each event.
class BesideTest : public SessionTest {
 protected:
  std::unique_ptr<measure::Measurer> device() const override {
    return measure::sim_measurer(
        {.seed = 2, .protocol = {}, .noise = 0, .failures = 0.05, .overlaps = true});
  }
};

TEST_F(BesideTest, ArtifactsAreWrittenWhileRoundsGoOn) {
  const Summary s = run(options(60));
  EXPECT_EQ(s.measured, 60);
  EXPECT_GE(count("artifact"), 1);
  EXPECT_EQ(Json::parse(events_.back()).at("event"), "end");
  ASSERT_TRUE(fs::exists(out()));
  artifact_is_right(events_.back());
  EXPECT_EQ(s.models[0].kept.substr(0, 5) == "tuned", tuned_steps() > 0);
}

TEST_F(SessionTest, TheCostModelIsKeptForLaterRuns) {
  const auto first_ranking = [this] {
    for (const std::string& e : events_) {
      const Json j = Json::parse(e);
      if (j["event"] == "round") return j["ranking"];
    }
    return Json();
  };
  SessionOptions o = options(60);
  o.save_cost_model = (folder_ / "cost.model").string();
  run(o);
  EXPECT_TRUE(first_ranking().is_null()) << "nothing was known";
  const std::string saved = files::read_file(o.save_cost_model);
  EXPECT_TRUE(cost::load_model(saved, 1, 1)->trained());
  TearDown();
  SetUp();
  events_.clear();
  o.tuner.cost_model_file = o.save_cost_model;
  files::write_file(o.tuner.cost_model_file, saved);
  run(o);
  EXPECT_TRUE(first_ranking().is_object());
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

TEST_F(SessionTest, LeavesTheRunsOfOtherMachinesAlone) {
  const auto tell_of = [&](const std::string& machine) {
    const std::string id = db_->begin_run("test", "net");
    db_->add_event(id, {0, Json{{"event", "run"}, {"target", machine}}.dump()});
    db_->add_event(id, {1e6, "damaged"});
    return id;
  };
  const std::string before = tell_of("another machine");
  int asked = 0;
  const Summary a = run(options(100), [&] { return ++asked > 40; });
  EXPECT_NE(a.run, before);
  EXPECT_LT(a.spent_s, 1e6);
  const std::string after = tell_of("another machine");  // newer than the run to go on with
  const Summary b = run(options(100));
  EXPECT_EQ(b.run, a.run);
  EXPECT_EQ(b.measured, 100);
  for (const db::RunRow& r : db_->runs()) EXPECT_EQ(r.finished.empty(), r.id != a.run) << r.id;
  const std::string mine = tell_of(device()->target(target::host_target()));
  EXPECT_EQ(run(options(10)).run, mine);
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
      {"noise",
       [](PretendTimer& t) {
         t.ratio = 1.0;
         t.low = 0.88;
         t.high = 1.18;
       },
       "default: no significant gain (0.88 to 1.18 times as fast)"},
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
    set_graph(std::move(g), rng);
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
};

// The first tries tell whether more of them pay.
TEST_F(LayoutSessionTest, TriesAFewLayoutsBeforeItGivesThemUp) {
  const Summary s = run(options(300));
  EXPECT_EQ(s.reason, "trials");
  EXPECT_EQ(s.measured, 300);
  EXPECT_GE(count("layout"), Budget::kFirstSteps);
  EXPECT_LE(count("layout"), 11);  // a third of 300 trials, ten for each
  EXPECT_EQ(decided("layouts").size(), 1U);
  EXPECT_EQ(s.models[0].kept, "tuned");
}

// What is shown while layouts are tried, at the end and by the database is one count.
TEST_F(LayoutSessionTest, CountsWhatTheDatabaseCounts) {
  const Summary s = run(options(300));
  int64_t last = 0, among_layouts = 0, defaults = 0;
  for (const std::string& e : events_) {
    const Json j = Json::parse(e);
    if (j["event"] == "default") EXPECT_GE(last, defaults++) << "those before it are counted";
    if (j["event"] != "round" && j["event"] != "counted") continue;
    EXPECT_GE(j["measured"].get<int64_t>(), last);
    last = j["measured"];
    among_layouts += j["event"] == "counted" ? 1 : 0;
  }
  EXPECT_GE(among_layouts, count("layout") + defaults);
  EXPECT_GT(defaults, 1);
  EXPECT_EQ(last, s.measured);
  EXPECT_GT(s.again, 0);
  const db::RunRow row = db_->runs().at(0);
  EXPECT_EQ(s.measured + s.again, row.measured);
  EXPECT_LE(s.failed, row.failed);
  const Json end = Json::parse(events_.back());
  EXPECT_EQ(end["measured"], s.measured);
  EXPECT_EQ(end["again"], s.again);
}

// What a user gets who asks for nothing but a number of trials.
TEST_F(LayoutSessionTest, TeachesTheModelOfTheLoops) {
  run(options(300));
  bool decided = false;
  for (const std::string& e : events_) {
    const Json j = Json::parse(e);
    decided = decided || (j["event"] == "plan" && j["decided"] == "layouts");
    if (!decided || j["event"] != "round") continue;
    EXPECT_TRUE(j["ranking"].is_object()) << "the model is trained before the first round";
    return;
  }
  FAIL() << "no round after the layouts";
}

TEST_F(LayoutSessionTest, TwoHundredTrialsAreEnoughForLayouts) {
  SessionOptions o = options(200);
  o.layouts = {};
  const Summary s = run(o);
  EXPECT_EQ(s.measured, 200);
  EXPECT_GE(count("layout"), Budget::kFirstSteps);
  EXPECT_EQ(decided("layouts").size(), 1U);
}

TEST_F(LayoutSessionTest, IsTheSameByteForByte) {
  std::vector<std::string> first;
  for (int i = 0; i < 2; ++i) {
    TearDown();
    SetUp();
    run(options(150));
    if (i == 0) first = story();
  }
  EXPECT_EQ(first, story());
}

TEST_F(LayoutSessionTest, GoesOnWithWhatWasDecided) {
  const Summary a = run(options(300), [&] { return !decided("layouts").empty(); });
  EXPECT_EQ(a.reason, "interrupted");
  const int tried = count("layout");
  const Summary b = run(options(300));
  EXPECT_EQ(b.run, a.run);
  EXPECT_EQ(b.measured, 300);
  EXPECT_EQ(count("layout"), tried);
  EXPECT_EQ(decided("layouts").size(), 1U);
}

TEST_F(LayoutSessionTest, GoesOnInTheMiddleOfTheStage) {
  const Summary a = run(options(300), [&] { return count("layout") >= 3; });
  EXPECT_EQ(a.reason, "interrupted");
  const Summary b = run(options(300));
  EXPECT_EQ(b.run, a.run);
  EXPECT_EQ(b.measured, 300);
  EXPECT_EQ(decided("layouts").size(), 1U);
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
  EXPECT_EQ(count("layout"), 0);
  EXPECT_TRUE(decided("layouts").empty());
}

TEST_F(LayoutSessionTest, FixedMeansFixed) {
  SessionOptions o = options(150);
  o.layouts.strategy = "";
  run(o);
  EXPECT_EQ(count("layout"), 0);
  EXPECT_TRUE(decided("layouts").empty());
  o.layouts.strategy = "no such row";
  EXPECT_THROW(run(o), UserError);
}

}  // namespace
}  // namespace tenon::tune
