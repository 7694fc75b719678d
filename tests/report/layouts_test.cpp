// SPDX-License-Identifier: Apache-2.0
#include "report/run/layouts.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/page/words.h"
#include "report/run/html.h"
#include "report/run/json.h"
#include "report/run/markdown.h"
#include "report/sample_run.h"
#include "task/task.h"
#include "te/text.h"

namespace tenon::report {
namespace {

using Json = nlohmann::json;

constexpr const char* kTe =
    "input X: f32[1, 8, 5, 5]\nconst W: f32[8, 8, 1, 1]\n"
    "conv[n: 1, k: 8, y: 5, x: 5] = sum(c: 8, r: 1, s: 1) X[n, c, y + r, x + s] * W[k, c, r, s]\n"
    "output conv\n";
constexpr const char* kBlocked = "conv: split(1,[2,4]).reorder([0,1,3,4,2])\n";

std::string key_of(const std::string& edges) {
  const auto dag = std::make_shared<const te::ComputeDag>(te::parse(kTe, "conv"));
  return task::make_task(dag, task::parse_edges(edges, *dag),
                         std::make_shared<const target::Target>())
      .key;
}

class Layouts : public testing::Test {
 protected:
  Layouts() : text_(te::to_text(te::parse(kTe, "conv"))), was_(key_of("")), new_(key_of(kBlocked)) {
    run_ = db_->begin_run("tenon tune m.onnx", "m.onnx");
    db_->add_task({was_, text_, "", "conv", 35});
    db_->add_task({new_, text_, kBlocked, "conv", 35});
  }
  void tell(const Json& event) { db_->add_event(run_, {at_s_ += 1, event.dump()}); }
  void tell_run(const std::string& key) {
    tell({{"event", "run"},
          {"models", {{{"name", "m"}, {"directory", "out"}}}},
          {"tasks", {{{"key", key}, {"label", "conv"}, {"calls", {3}}, {"flops", 35}}}}});
  }
  void tell_layout(const char* point, const std::string& edges, const Json& s) {
    tell({{"event", "layout"},
          {"task", was_},
          {"label", "conv"},
          {"point", point},
          {"edges", edges},
          {"s", s},
          {"default_s", 4e-3},
          {"best_s", 2e-3},
          {"tried", 1}});
  }
  void measured(const std::string& key) {
    task::Measurement m;
    m.task = key;
    m.trace = "[]";
    m.median_s = m.best_s = 1e-3;
    m.run = run_;
    db_->record({m});
  }
  void tell_tries() {
    tell_run(was_);
    measured(was_);
    tell_layout("as it was", "", 4e-3);
    tell_layout("o_t=4", kBlocked, 2e-3);
    tell_layout("o_t=2", "conv: split(1,[4,2]).reorder([0,1,3,4,2])\n", 5e-3);
    tell_layout("o_t=3", "", nullptr);
    measured(new_);
    measured(key_of("conv: split(1,[4,2]).reorder([0,1,3,4,2])\n"));
  }
  RunStory read() { return read_story(*db_, run_); }

  SampleDatabase db_;
  std::string text_, was_, new_, run_;
  double at_s_ = 0;
};

TEST_F(Layouts, WhatWasTriedAndTaken) {
  tell_tries();
  tell({{"event", "layouts"}, {"models", {{"m", {{"relu_out", kBlocked}}}}}});
  tell_run(new_);
  const RunStory s = read();
  EXPECT_TRUE(s.layouts_decided);
  EXPECT_EQ(s.parts, 1) << "other layouts are no other start";
  ASSERT_EQ(s.layouts.size(), 1u);
  const LayoutSearch& o = s.layouts[0];
  EXPECT_EQ(o.shape, "1x8x5x5");
  EXPECT_EQ(o.default_s, 4e-3);
  EXPECT_EQ(o.best_s(), 2e-3);
  ASSERT_EQ(o.tries.size(), 4u);
  EXPECT_EQ(o.tries[0].calls, 0);
  EXPECT_EQ(o.tries[1].calls, 3);
  EXPECT_EQ(o.tries[1].words, "X: N C H W, conv: N C/4 H W 4c");
  EXPECT_EQ(gain(o, o.tries[1]), 2.0);
  EXPECT_FALSE(gain(o, o.tries[3]));
  const auto sorted = by_time(o);
  EXPECT_EQ(sorted[0].point, "o_t=4");
  EXPECT_EQ(sorted[3].point, "o_t=3") << "what failed comes last";
  EXPECT_EQ(s.models[0].layouts.at("relu_out"), kBlocked);
  ASSERT_EQ(s.tasks.size(), 1u) << "operators under other layouts are no tasks of the network";
  EXPECT_EQ(s.tasks[0].key, new_);
  EXPECT_EQ(s.measured, 3);
  EXPECT_EQ(
      layouts_text(s),
      "1 operator, 4 layouts, each with the same number of trials for its loops; 1 faster in "
      "another layout. m stores the edges of 1 call by what was measured, conversions between "
      "them included.");
}

TEST_F(Layouts, TheOldOnesMayStay) {
  tell_tries();
  EXPECT_FALSE(read().layouts_decided);
  EXPECT_NE(layouts_text(read()).find("ended before the networks chose"), std::string::npos);
  tell({{"event", "layouts"}, {"models", {{"m", Json::object()}}}});
  const RunStory s = read();
  EXPECT_EQ(s.layouts[0].tries[0].calls, 3) << "as it was";
  EXPECT_EQ(s.tasks.size(), 1u);
  EXPECT_NE(layouts_text(s).find("m keeps its layouts."), std::string::npos);
  EXPECT_NE(to_markdown(s).find("| as it was | 4.000 ms | 1.00× | 3 calls |"), std::string::npos)
      << to_markdown(s);
  const Json j = Json::parse(to_json(s));
  EXPECT_EQ(j["layouts"][0]["tries"][1]["gain"], 2.0);
  EXPECT_EQ(j["layouts"][0]["tries"][3]["s"], nullptr);
}

TEST_F(Layouts, PairsThatWereTriedAndTaken) {
  const auto tell_pair = [&](const std::string& task, double s, bool taken) {
    tell({{"event", "pair"},
          {"task", task},
          {"label", "conv conv"},
          {"calls", 2},
          {"s", s},
          {"apart_s", 3e-3},
          {"taken", taken}});
  };
  tell_run(was_);
  EXPECT_EQ(pairs_text(read()), "");
  tell_pair(new_, 5e-3, false);
  tell_pair(new_, 2e-3, true);  // told again by a run that went on
  tell_pair("f", 4e-3, false);
  measured(was_);
  measured(new_);
  tell({{"event", "pair"}, {"task", 7}, {"s", "soon"}});
  tell({{"event", "pairs"}, {"models", {{"m", {"p1", "p2", 3}}}}});
  tell_run(new_);
  const RunStory s = read();
  EXPECT_EQ(s.parts, 1) << "other tasks are no other start";
  ASSERT_EQ(s.tasks.size(), 1u) << "what was joined is no task of the network";
  EXPECT_EQ(s.tasks[0].key, new_);
  EXPECT_EQ(pairs_text(s),
            "3 pairs of a depthwise and a pointwise convolution, each tuned as one task and as "
            "two; 1 faster as one. m has 2 of them.");
  EXPECT_NE(to_markdown(s).find("| conv conv | 2 | 2.000 ms | 3.000 ms | yes |"),
            std::string::npos);
  EXPECT_NE(to_html(s).find("id=\"pairs\""), std::string::npos);
  const Json j = Json::parse(to_json(s));
  EXPECT_EQ(j["pairs"].size(), 3u);
  EXPECT_EQ(j["models"][0]["pairs"], (Json{"p1", "p2"}));
}

TEST_F(Layouts, WhatCannotBeRead) {
  tell_run(was_);
  tell({{"event", "layout"}});
  tell({{"event", "layout"}, {"task", was_}, {"edges", "nonsense"}, {"s", "soon"}});
  tell({{"event", "layouts"}, {"models", 7}});
  tell({{"event", "layouts"}, {"models", {{"m", 3}}}});
  const RunStory s = read();
  EXPECT_EQ(s.layouts.size(), 2u);
  EXPECT_TRUE(s.models[0].layouts.empty());
  EXPECT_NE(to_markdown(s), "");
}

}  // namespace
}  // namespace tenon::report
