// SPDX-License-Identifier: Apache-2.0
#include "report/run/story.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "db/find_run.h"
#include "report/page/words.h"
#include "report/run/html.h"
#include "report/run/json.h"
#include "report/run/markdown.h"
#include "report/run/schedules.h"
#include "report/sample_run.h"
#include "support/check.h"

namespace tenon::report {
namespace {

constexpr const char* kTe = "input A: f32[5, 7]\nB[i: 5, j: 7] = max(A[i, j], 0.0)\noutput B\n";

class Story : public testing::Test {
 protected:
  Story() { run_ = db_->begin_run("tenon tune m.onnx", "m.onnx"); }
  void tell(double t, const std::string& json) { db_->add_event(run_, {t, json}); }
  void tell_run(const std::string& calls = "[3]") {
    tell(
        0,
        R"({"event":"run","models":[{"name":"m","directory":"out"}],"tasks":[{"key":"k","label":"relu","calls":)" +
            calls +
            R"(,"flops":35,"origin":"template elementwise"}],"budget_s":60,"target":"here","protocol":"v1 threads=3 cold"})");
  }
  void measured(const std::string& trace, double s, task::Outcome outcome = task::Outcome::kOk) {
    task::Measurement m;
    m.task = "k";
    m.target = "here";
    m.protocol = "v1 threads=3 cold";
    m.trace = trace;
    m.outcome = outcome;
    m.median_s = m.best_s = s;
    m.error = outcome == task::Outcome::kOk ? "" : "it's broken";
    m.run = run_;
    db_->record({m});
  }
  RunStory read() { return read_story(*db_, run_); }
  SampleDatabase db_;
  std::string run_;
};

TEST_F(Story, CurvesTablesAndSchedules) {
  db_->add_task({"k", kTe, "", "relu", 35});
  tell_run();
  measured("[]", 4e-3);
  tell(1, R"({"event":"default","task":"k","s":0.004,"outcome":"ok"})");
  tell(2, R"({"event":"artifact","model":"m","tuned":0})");
  measured(R"([["fuse",1,[0,1]]])", 2e-3);
  measured("[]", 0, task::Outcome::kRunTimeout);
  tell(3,
       R"({"event":"best","task":"k","s":0.002,"default_s":0.004,"trace":"[[\"fuse\",1,[0,1]]]"})");
  tell(
      4,
      R"({"event":"round","round":1,"task":"k","tried":2,"failures":{"run-timeout":1},"best_s":0.002,"default_s":0.004,
             "measured":3,"failed":1,"estimate_s":[0.006],"default_estimate_s":[0.012],
             "ranking":{"pairwise":0.75,"recall":0.5,"top":0.9,"k":2,"samples":2},"seconds":{"search":1,"measure":2}})");
  tell(
      5,
      R"({"event":"round","round":2,"task":"k","tried":0,"best_s":0.002,"estimate_s":[0.006],"measured":3,
             "ranking":null,"seconds":{"search":0.5}})");
  tell(
      9,
      R"({"event":"network","model":"m","default_s":0.013,"tuned_s":0.0065,"ratio":2.0,"low":1.9,"high":2.1,"kept":"tuned","tuned":1,"tasks":1})");
  tell(
      10,
      R"({"event":"end","reason":"budget","measured":3,"failed":1,"spent_s":10,"seconds":{"search":1.5,"measure":2,"network":4}})");
  const RunStory s = read();
  EXPECT_EQ(s.reason, "budget");
  EXPECT_EQ(s.rounds, 2);
  EXPECT_EQ(s.measured, 3);
  EXPECT_EQ(s.failed, 1);
  EXPECT_EQ(s.first_artifact_s, 2.0);
  ASSERT_EQ(s.models.size(), 1u);
  ASSERT_EQ(s.models[0].estimate.size(), 1u) << "a point where the value changed";
  EXPECT_EQ(s.models[0].estimate[0].trial, 3);
  EXPECT_EQ(s.models[0].default_estimate_s, 0.012);
  EXPECT_EQ(s.models[0].network->low, 1.9);
  ASSERT_EQ(s.tasks.size(), 1u);
  const TaskStory& t = s.tasks[0];
  EXPECT_TRUE(t.tuned);
  EXPECT_EQ(t.gain(), 2.0);
  EXPECT_EQ(t.trials, 3);
  EXPECT_EQ(t.failed, 1);
  EXPECT_EQ(t.shape, "5x7");
  EXPECT_EQ(t.tried.size(), 3u);
  EXPECT_FALSE(t.tried[2]);
  EXPECT_EQ(t.start.json, "[]");
  EXPECT_NE(t.start.loops.find("i in 5"), std::string::npos) << t.start.loops;
  EXPECT_EQ(t.winner.trace, "fuse B [i, j]\n");
  EXPECT_NE(t.winner.loops.find("i@j in 35"), std::string::npos) << t.winner.loops;
  ASSERT_EQ(s.ranking.size(), 1u);
  EXPECT_EQ(s.ranking[0].pairwise, 0.75);
  const std::vector<std::pair<std::string, double>> parts = {
      {"search", 1.5}, {"measure", 2}, {"network", 4}, {"other", 2.5}};
  EXPECT_EQ(wall_time(s), parts);
  ASSERT_EQ(s.failures.size(), 1u);
  EXPECT_EQ(s.failures[0].outcome, "run-timeout");
  EXPECT_EQ(s.failures[0].label, "relu");
  EXPECT_EQ(s.failures[0].error, "it's broken");
  EXPECT_EQ(s.failures[0].command, reproduce_command(kTe, "[]", "v1 threads=3 cold"));
  EXPECT_EQ(verdict(s, s.models[0]).headline, "2.00× faster");
}

TEST_F(Story, PartsOfAResumedRunAddUp) {
  const std::string round =
      R"({"event":"round","task":"k","tried":1,"measured":1,"estimate_s":[0.006],"default_estimate_s":[0.012],"seconds":{"search":1}})";
  tell_run();
  tell(4, round);
  tell(5, round);  // killed: nobody said the end
  tell_run();
  tell(6, round);
  tell(7, R"({"event":"end","reason":"interrupted","seconds":{"search":1.25}})");
  EXPECT_EQ(read().reason, "interrupted");
  tell_run();
  const RunStory s = read();
  EXPECT_EQ(s.parts, 3);
  EXPECT_EQ(s.reason, "") << "it goes on again";
  ASSERT_EQ(s.seconds.size(), 1u);
  EXPECT_DOUBLE_EQ(s.seconds[0].second, 3.25);
  EXPECT_EQ(s.tasks.size(), 1u) << "named at each start";
}

TEST_F(Story, TransplantsAreCounted) {
  tell_run();
  tell(4, R"({"event":"transplanted","task":"k","tried":4,"ok":4,"from":["a","b"],"trace":"[]"})");
  tell(5, R"({"event":"transplanted","task":"l","tried":2,"ok":1,"from":["b"],"trace":"[1]"})");
  tell(6, R"({"event":"best","task":"k","s":0.001,"trace":"[]"})");
  const RunStory s = read();
  EXPECT_EQ(s.transplants.tried, 6);
  EXPECT_EQ(s.transplants.tasks, 2);
  EXPECT_EQ(s.transplants.from, 2);
  EXPECT_EQ(s.transplants.kept, 1);
  EXPECT_NE(
      to_markdown(s).find("- transplanted: 6 programs of 2 similar tasks into 2 tasks, best of 1"),
      std::string::npos);
}

TEST_F(Story, FinalsCanKeepTheDefault) {
  db_->add_task({"k", kTe, "", "relu", 35});
  tell_run();
  measured("[]", 4e-3);
  tell(1, R"({"event":"default","task":"k","s":0.004,"outcome":"ok"})");
  tell(
      2,
      R"({"event":"best","task":"k","s":0.0039,"default_s":0.004,"trace":"[[\"fuse\",1,[0,1]]]"})");
  EXPECT_TRUE(read().tasks[0].tuned);
  tell(3, R"({"event":"finals","task":"k","default_s":0.004,"best_s":0.0039,"kept":"default"})");
  const TaskStory t = read().tasks[0];
  EXPECT_FALSE(t.tuned);
  EXPECT_EQ(t.best_s, t.default_s);
  EXPECT_TRUE(t.winner.json.empty());
  EXPECT_EQ(read().models[0].estimate.back().s, 3 * 0.004) << "three calls, timed again";
}

// A run that went on with records of an earlier one finds the winner by its time.
TEST_F(Story, TheWinnerMayHaveBeenMeasuredBefore) {
  db_->add_task({"k", kTe, "", "relu", 35});
  const std::string earlier = run_;
  measured("[]", 4e-3);
  measured(R"([["fuse",1,[0,1]]])", 1.0 / 3000);
  run_ = db_->begin_run("tenon tune again", "m.onnx");
  tell_run();
  tell(1, R"({"event":"default","task":"k","s":0.004,"outcome":"ok"})");
  tell(
      2,
      R"({"event":"round","task":"k","tried":4,"best_s":0.0003333333333333333,"default_s":0.004,"measured":4})");
  const TaskStory t = read().tasks[0];
  EXPECT_EQ(t.winner.json, R"([["fuse",1,[0,1]]])");
  EXPECT_EQ(t.trials, 4) << "told, though no row of this run is there";
  EXPECT_EQ(t.start.json, "[]");
}

TEST_F(Story, TimesThatAreNoTimes) {
  tell_run("[0]");
  tell(1, R"({"event":"default","task":"k","s":null,"outcome":"run-crash"})");
  tell(
      2,
      R"({"event":"round","task":"k","tried":1,"best_s":0,"default_s":null,"estimate_s":[null],"default_estimate_s":[null],"measured":1})");
  tell(
      3,
      R"({"event":"network","model":"m","default_s":null,"tuned_s":0,"ratio":null,"kept":"default: it did not run"})");
  const RunStory s = read();
  EXPECT_FALSE(s.tasks[0].default_s);
  EXPECT_FALSE(s.tasks[0].best_s);
  EXPECT_FALSE(s.tasks[0].gain());
  EXPECT_TRUE(s.tasks[0].best.empty());
  EXPECT_TRUE(s.models[0].estimate.empty());
  EXPECT_EQ(verdict(s, s.models[0]).tone, Tone::kUnknown);
}

TEST_F(Story, WhatWasLeftOutIsShown) {
  tell_run();
  tell(1, R"({"event":"refused","task":"k","records":4,"why":"the split does not apply"})");
  tell(2, R"({"event":"undecided","task":"k","why":"no room <here>","trace":"[]"})");
  tell(3, R"({"event":"undecided","task":"k","why":"no memory","trace":"[]"})");
  tell(4, R"({"event":"refused","task":"k","records":5,"why":"the split does not apply"})");
  const RunStory s = read();
  ASSERT_EQ(s.failures.size(), 2U);
  EXPECT_EQ(s.failures[0].outcome, "records left out");
  EXPECT_EQ(s.failures[0].count, 5) << "each part of the run tells them again";
  EXPECT_EQ(s.failures[1].outcome, "undecided");
  EXPECT_EQ(s.failures[1].count, 2);
  EXPECT_EQ(s.failed, 0) << "nothing that was measured failed";
  for (const std::string& page : {to_markdown(s), to_html(s), to_json(s)}) {
    EXPECT_NE(page.find("the split does not apply"), std::string::npos) << page;
    EXPECT_NE(page.find("undecided"), std::string::npos) << page;
  }
}

TEST_F(Story, EventsThatCannotBeRead) {
  tell_run();
  for (
      const char* bad :
      {"", "{", "[1]", "7", "\"round\"", R"({"event":"round"})",
       R"({"event":"round","task":7,"tried":"x","failures":[],"estimate_s":{},"seconds":3,"ranking":"good"})",
       R"({"event":"of another version","x":1})", R"({"event":"run","models":[1],"tasks":["k"]})",
       R"({"event":"best","task":"k"})", R"({"event":"network"})",
       R"({"event":"end","seconds":[]})"}) {
    tell(1, bad);
  }
  const RunStory s = read();
  EXPECT_EQ(s.unreadable.size(), 5U);
  EXPECT_EQ(s.unreadable[1], s.unreadable[0] + 1);
  const std::string left_out = fmt::format("row {}, {}", s.unreadable[0], s.unreadable[1]);
  EXPECT_NE(to_markdown(s).find(left_out), std::string::npos);
  EXPECT_NE(to_html(s).find(left_out), std::string::npos);
  EXPECT_EQ(s.rounds, 2);
}

TEST_F(Story, TracesThatDoNotFit) {
  EXPECT_NE(schedule_text("", "[]", "").problem, "");
  EXPECT_NE(schedule_text(kTe, "nonsense", "").problem, "");
  EXPECT_NE(schedule_text("nonsense", "[]", "").problem, "");
  EXPECT_NE(schedule_text(kTe, R"([["fuse",1,[0,9]]])", "").problem, "");
  EXPECT_EQ(output_shape("nonsense"), "");
  EXPECT_EQ(reproduce_command(kTe, "", "v1"), "");
}

// Threads are bound on GPUs only, so the nest of a record is shown for a target of its kind.
TEST_F(Story, LoopNestsOfRunsOnGpus) {
  const std::string trace = R"([["split",1,1,[7],false],["bind",1,0,1],["bind",1,3,4]])";
  const std::string card =
      "nvptx64-nvidia-cuda;sm_90;NVIDIA H200;multiprocessors=132;threads=1024x2048";
  const ScheduleText shown = schedule_text(kTe, trace, card);
  EXPECT_EQ(shown.problem, "");
  EXPECT_NE(shown.loops.find("thread"), std::string::npos) << shown.loops;
  EXPECT_EQ(schedule_text(kTe, trace, "nvptx64-nvidia-cuda;sm_7;a card of later").problem, "");
  EXPECT_NE(schedule_text(kTe, trace, "x86_64-unknown-linux-gnu;znver4").problem, "");
  EXPECT_EQ(schedule_text(kTe, "[]", "x86_64-unknown-linux-gnu;znver4").problem, "");
}

TEST_F(Story, ProgramsThatAreLeftOutHaveNoCount) {
  db_->add_task({"k", kTe, "", "relu", 35});
  tell_run();
  tell(1, R"({"event":"refused","task":"k","records":0,"why":"programs are left out: it rounds"})");
  const std::string text = to_markdown(read());
  EXPECT_NE(text.find("- **programs left out**; first in relu: programs are left out: it rounds"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("records left out"), std::string::npos);
  EXPECT_EQ(to_html(read()).find("<b>programs left out</b><span>0</span>"), std::string::npos);
}

TEST_F(Story, ABudgetThatWasNotSpentIsNotCalledUsedUp) {
  RunStory run;
  run.reason = "budget";
  run.budget_s = 5;
  run.spent_s = 2.6;
  EXPECT_EQ(ending(run), "finished: the time for searching was used up");
  run.spent_s = 4.9;
  EXPECT_EQ(ending(run), "finished: the budget was used up");
}

TEST_F(Story, OneIsNoPlural) {
  RunStory run;
  run.measured = run.trials_limit = run.measured_before = 1;
  std::string all;
  for (const Fact& f : facts(run)) all += f.name + ": " + f.value + "\n";
  for (const char* part :
       {"budget: 1 trial\n", "measured: 1 program, 0 failed\n", "known before: 1 record\n"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << all;
  }
}

TEST_F(Story, VerdictsOfNetworks) {
  const struct {
    double ratio, low, high;
    const char* kept;
    const char* headline;
    Tone tone;
  } kCases[] = {
      {1.61, 1.58, 1.64, "tuned", "1.61× faster", Tone::kFaster},
      {1.02, 0.98, 1.06, "tuned", "no significant gain", Tone::kSame},
      {0.90, 0.88, 0.93, "tuned", "0.90×, slower", Tone::kSlower},
      {1.00, 0.88, 1.18, "default: no significant gain (0.88 to 1.18 times as fast)",
       "no significant gain, the default was kept", Tone::kSame},
      {0.90, 0.88, 0.93, "default: slower", "the default was kept", Tone::kSame},
      {12.3, 12.0, 12.6, "tuned", "12.3× faster", Tone::kFaster},
  };
  for (const auto& c : kCases) {
    ModelStory m;
    m.network = NetworkResult{c.ratio, 1.0, c.ratio, c.low, c.high, 0, c.kept, 1, 1};
    const Verdict v = verdict({}, m);
    EXPECT_EQ(v.headline, c.headline);
    EXPECT_EQ(v.tone, c.tone) << c.headline;
  }
}

TEST(FindRun, ByIdBeginningOrLast) {
  SampleDatabase db;
  EXPECT_THROW(find_run(*db, "last"), UserError) << "no run at all";
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(db->begin_run("c", "m"));
  EXPECT_EQ(find_run(*db, "last"), ids.back());
  EXPECT_EQ(find_run(*db, ""), ids.back());
  EXPECT_EQ(find_run(*db, ids[3]), ids[3]);
  EXPECT_EQ(find_run(*db, ids[3].substr(0, 12)), ids[3]);
  EXPECT_THROW(find_run(*db, "zz"), UserError);
  // Of twenty hexadecimal ids two begin alike.
  std::string shared;
  for (size_t i = 0; i < ids.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (ids[i][0] == ids[j][0]) shared = ids[i].substr(0, 1);
    }
  }
  ASSERT_FALSE(shared.empty());
  EXPECT_THROW(find_run(*db, shared), UserError);
  EXPECT_THROW(read_story(*db, "none"), UserError);
}

}  // namespace
}  // namespace tenon::report
