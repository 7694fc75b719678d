// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "events/events.h"

namespace tenon::events {
namespace {

// One of each, with the JSON that runs have written since the first version.
const std::pair<Event, std::string> kRows[] = {
    {RunStarted{.run = "r1",
                .command = "c",
                .models = {{"m", "out/m"}},
                .tasks = {{"k", "conv", {2, 0}, 1e6, "template conv", {"n1", "n2"}}},
                .budget_s = 60,
                .trials = 100,
                .target = "t",
                .protocol = "v1",
                .seed = 18446744073709551615U,
                .space = "joint",
                .strategy = "evolution",
                .cost_model = "xgb",
                .measured_before = 3,
                .spent_before_s = 1.5,
                .disturbed = {"load: 7"}},
     R"({"event":"run","run":"r1","command":"c","models":[{"name":"m","directory":"out/m"}],)"
     R"("tasks":[{"key":"k","label":"conv","calls":[2.0,0.0],"flops":1000000.0,"origin":"template conv","nodes":["n1","n2"]}],)"
     R"("budget_s":60.0,"trials":100,"target":"t","protocol":"v1","seed":18446744073709551615,"space":"joint",)"
     R"("strategy":"evolution","cost_model":"xgb","measured_before":3,"spent_before_s":1.5,"disturbed":["load: 7"]})"},
    {HistoryUsed{.from = "kept",
                 .records = 1200,
                 .tasks = 12,
                 .trained_at = "2026-01-02T03:04:05Z",
                 .top1 = 0.75,
                 .top5 = 0.875,
                 .pairwise = {},
                 .held_out = 3,
                 .notes = {"n"}},
     R"({"event":"history","from":"kept","records":1200,"tasks":12,"trained_at":"2026-01-02T03:04:05Z",)"
     R"("top1":0.75,"top5":0.875,"pairwise":null,"held_out":3,"notes":["n"]})"},
    {PairTried{.task = "k",
               .label = "l",
               .first = "a",
               .second = "b",
               .calls = 2,
               .s = 0.5,
               .apart_s = {},
               .taken = true},
     R"({"event":"pair","task":"k","label":"l","first":"a","second":"b","calls":2,"s":0.5,"apart_s":null,"taken":true})"},
    {PairsChosen{{{"m", {"c1", "c2"}}}}, R"({"event":"pairs","models":{"m":["c1","c2"]}})"},
    {LayoutTried{.task = "k",
                 .label = "l",
                 .point = "p",
                 .edges = "e",
                 .s = 0.5,
                 .default_s = 1,
                 .best_s = 0.5,
                 .tried = 3},
     R"({"event":"layout","task":"k","label":"l","point":"p","edges":"e","s":0.5,"default_s":1.0,"best_s":0.5,"tried":3})"},
    {LayoutsChosen{{{"m", {{"c", "e"}}}, {"n", {}}}},
     R"({"event":"layouts","models":{"m":{"c":"e"},"n":{}}})"},
    {PlanDecided{"layouts",
                 {{"m",
                   {R"({"pairs":{"calls":{"p":"d"}},"layouts":{"calls":{"c":"e"}}})",
                    {{"p", "d"}},
                    {{"c", "e"}}}}}},
     R"({"event":"plan","decided":"layouts","models":{"m":{"pairs":{"calls":{"p":"d"}},"layouts":{"calls":{"c":"e"}}}}})"},
    {DefaultTimed{.task = "k", .s = {}, .outcome = "run-crash", .trace = "[]"},
     R"({"event":"default","task":"k","s":null,"outcome":"run-crash","trace":"[]"})"},
    {ArtifactWritten{.model = "m", .directory = "d", .tuned = 2, .seconds = 0.25},
     R"({"event":"artifact","model":"m","directory":"d","tuned":2,"seconds":0.25})"},
    {RoundDone{.round = 4,
               .task = "k",
               .tried = 8,
               .ok = 7,
               .failures = {{"run-crash", 1}},
               .best_s = 0.5,
               .default_s = 1,
               .measured = 40,
               .failed = 2,
               .estimate_s = {1.5, {}},
               .default_estimate_s = {2, {}},
               .ranking = Ranking{0.5, 0.25, 1, 5, 20},
               .seconds = {{"measure", 1.5}}},
     R"({"event":"round","round":4,"task":"k","tried":8,"ok":7,"failures":{"run-crash":1},"best_s":0.5,)"
     R"("default_s":1.0,"measured":40,"failed":2,"estimate_s":[1.5,null],"default_estimate_s":[2.0,null],)"
     R"("ranking":{"pairwise":0.5,"recall":0.25,"top":1.0,"k":5,"samples":20},"seconds":{"measure":1.5}})"},
    {Counted{.measured = 40, .failed = 2}, R"({"event":"counted","measured":40,"failed":2})"},
    {NewBest{.task = "k", .s = 0.5, .was_s = {}, .default_s = 1, .trace = "[]"},
     R"({"event":"best","task":"k","s":0.5,"was_s":null,"default_s":1.0,"trace":"[]"})"},
    {Transplanted{.task = "k",
                  .tried = 4,
                  .ok = 3,
                  .from = {"a", "b"},
                  .s = 0.5,
                  .best_s = 0.25,
                  .trace = "[]"},
     R"({"event":"transplanted","task":"k","tried":4,"ok":3,"from":["a","b"],"s":0.5,"best_s":0.25,)"
     R"("trace":"[]"})"},
    {FoundWrong{"k", "w", "[]"}, R"({"event":"wrong","task":"k","why":"w","trace":"[]"})"},
    {Undecided{"k", "w", "[]"}, R"({"event":"undecided","task":"k","why":"w","trace":"[]"})"},
    {Refused{"k", 4, "w"}, R"({"event":"refused","task":"k","records":4,"why":"w"})"},
    {Fault{"k", "w"}, R"({"event":"fault","task":"k","what":"w"})"},
    {Finals{.task = "k", .default_s = 1, .best_s = 0.5, .kept = "tuned", .trace = "[]"},
     R"({"event":"finals","task":"k","default_s":1.0,"best_s":0.5,"kept":"tuned","trace":"[]"})"},
    {NetworkCompared{.model = "m",
                     .default_s = 1,
                     .tuned_s = 0.5,
                     .ratio = 2,
                     .low = 1.5,
                     .high = 2.5,
                     .difference = 0,
                     .kept = "tuned",
                     .tuned = 3,
                     .tasks = 4},
     R"({"event":"network","model":"m","default_s":1.0,"tuned_s":0.5,"ratio":2.0,"low":1.5,"high":2.5,)"
     R"("difference":0.0,"kept":"tuned","tuned":3,"tasks":4})"},
    {Skipped{3, "w"}, R"({"event":"skipped","row":3,"why":"w"})"},
    {RunEnded{.reason = "trials",
              .measured = 9,
              .failed = 1,
              .again = 4,
              .spent_s = 2.5,
              .seconds = {{"measure", 1}},
              .spent_on = {{"loops", 2}},
              .gained_by = {{"loops", 0.5}}},
     R"({"event":"end","reason":"trials","measured":9,"failed":1,"again":4,"spent_s":2.5,"seconds":{"measure":1.0},)"
     R"("spent_on":{"loops":2.0},"gained_by":{"loops":0.5}})"},
};

TEST(Events, EachIsWrittenAsDocumentedAndReadBack) {
  static_assert(std::size(kRows) + 1 == std::variant_size_v<Event>, "all but what is unknown");
  for (const auto& [event, json] : kRows) {
    EXPECT_EQ(to_json(event), json);
    const Parsed p = parse(to_json(event, 12.5));
    ASSERT_TRUE(p.event) << p.why;
    EXPECT_EQ(p.event->index(), event.index());
    EXPECT_EQ(to_json(*p.event), json);
    EXPECT_EQ(p.t, 12.5);
  }
}

TEST(Events, TimesThatAreNoneAreNothing) {
  for (const double s : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                         std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(to_json(NewBest{.task = "k", .s = s, .was_s = {}, .default_s = {}, .trace = ""}),
              R"({"event":"best","task":"k","s":null,"was_s":null,"default_s":null,"trace":""})");
  }
  EXPECT_FALSE(std::get<NewBest>(*parse(R"({"event":"best","s":0})").event).s);
}

TEST(Events, RowsOfOthers) {
  const Parsed other = parse(R"({"event":"of another version","x":1})");
  ASSERT_TRUE(other.event);
  EXPECT_EQ(std::get<Unknown>(*other.event).name, "of another version");
  // Fields of another kind are as if nothing was told.
  const Parsed odd = parse(
      R"({"event":"round","task":7,"tried":"x","failures":[],"estimate_s":{},"seconds":3,"ranking":"good","measured":1e300})");
  ASSERT_TRUE(odd.event);
  EXPECT_EQ(std::get<RoundDone>(*odd.event).task, "");
  EXPECT_EQ(std::get<RoundDone>(*odd.event).measured, 9'000'000'000'000'000'000);
  EXPECT_FALSE(std::get<RoundDone>(*odd.event).ranking);
  for (const char* bad :
       {"", "{", "[1]", "7", "\"round\"", R"({"event":7})", R"({"x":1})", "\xFF\xFE"}) {
    EXPECT_FALSE(parse(bad).event) << bad;
    EXPECT_NE(parse(bad).why, "") << bad;
  }
}

TEST(Events, DecisionsMustBeReadable) {
  for (const char* bad :
       {R"({"event":"pairs"})", R"({"event":"pairs","models":{"net":{"a":1}}})",
        R"({"event":"layouts","models":[1,2]})", R"({"event":"layouts","models":{"net":[[1]]}})"}) {
    EXPECT_NE(parse(bad).why.find("it does not say which"), std::string::npos) << bad;
  }
  const Parsed damaged = parse(R"({"event":"pairs","models":{"m":["p1",3]}})");
  EXPECT_NE(damaged.why, "");
  EXPECT_EQ(std::get<PairsChosen>(*damaged.event).models.at("m"), std::vector<std::string>{"p1"});
}

}  // namespace
}  // namespace tenon::events
