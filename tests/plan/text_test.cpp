// SPDX-License-Identifier: Apache-2.0
// The text of plans: what is written is read again, files of the first schema too, and damage costs
// what it touches.
#include "plan/text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "files/file.h"
#include "support/check.h"
#include "support/private_folder.h"

namespace tenon::plan {
namespace {

using Json = nlohmann::ordered_json;

NetworkPlan sample() {
  NetworkPlan p;
  p.name = "net";
  p.target = "x86-64-v3";
  p.accuracy = "strict";
  p.error = 3.2e-5;
  p.pairs = {{{"p1", "d1"}}, From::kMeasured};
  p.layouts = {{{"conv", "x0: reorder([0,2,3,1])\n"}, {"y", ""}}, From::kGiven};
  TaskPlan direct{.task = "01", .te = "te", .edges = "e", .trace = "split\n", .origin = "tuned"};
  direct.from = From::kRecord;
  direct.choices = "3 1 4";
  TaskPlan winograd{.task = "02", .trace = "variant\n", .origin = "template winograd"};
  winograd.algorithm = "winograd4";
  winograd.error = 6.1e-6;
  winograd.direct_error = 9.8e-7;
  winograd.allowed = 1e-4;
  p.tasks = {direct, winograd};
  return p;
}

TEST(PlanText, IsReadAsItWasWritten) {
  const std::string text = to_text(sample());
  const NetworkPlan p = parse(text, "net.lock");
  EXPECT_EQ(to_text(p), text);
  EXPECT_EQ(p.pairs, sample().pairs);
  EXPECT_EQ(p.layouts, sample().layouts);
  ASSERT_EQ(p.tasks.size(), 2U);
  EXPECT_EQ(p.find("01")->choices, "3 1 4");
  EXPECT_EQ(p.find("01")->from, From::kRecord);
  EXPECT_EQ(p.find("02")->error, 6.1e-6);
  EXPECT_EQ(p.find("03"), nullptr);
}

TEST(PlanText, NamesOfAllOrigins) {
  for (const From f : {From::kRule, From::kLock, From::kRecord, From::kTable, From::kInstant,
                       From::kMeasured, From::kGiven}) {
    EXPECT_EQ(parse_from(to_string(f)), f);
  }
  EXPECT_EQ(parse_from("nobody"), std::nullopt);
}

TEST(PlanText, OfTheFirstSchema) {
  const NetworkPlan p = parse(
      R"({"schema": "tenon.lock/1", "name": "net", "pairs": ["p1"], "layouts": {},
          "tasks": [{"task": "01", "origin": "template conv", "te": "", "edges": "", "trace": "t"}]})",
      "old.lock");
  EXPECT_EQ(p.pairs, (CallDecisions{{{"p1", ""}}, From::kLock}));
  EXPECT_EQ(p.layouts, CallDecisions{}) << "nothing is decided";
  ASSERT_NE(p.find("01"), nullptr);
  EXPECT_EQ(p.find("01")->from, From::kLock);
  EXPECT_EQ(p.find("01")->origin, "template conv");
  EXPECT_TRUE(parse(R"({"schema": "tenon.lock/1", "tasks": []})", "older.lock").tasks.empty());
}

TEST(PlanText, ADamagedEntryCostsItsTaskAlone) {
  Json j = Json::parse(to_text(sample()));
  j["tasks"][0]["trace"] = 7;
  const NetworkPlan p = parse(j.dump(), "net.lock");
  EXPECT_FALSE(p.find("01")->has_program);
  EXPECT_NE(p.find("01")->refused.find("its entry is damaged"), std::string::npos);
  EXPECT_EQ(p.find("02")->trace, "variant\n");
  j["tasks"][1]["task"] = Json::array();
  EXPECT_EQ(parse(j.dump(), "net.lock").nameless.size(), 1U);
}

TEST(PlanText, WhatIsNoPlanIsRefused) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"schema": "tenon.lock/3", "tasks": []})",
        R"({"schema": "tenon.lock/2", "tasks": 1})",
        R"({"schema": "tenon.lock/2", "tasks": [], "pairs": ["p1"]})",
        R"({"schema": "tenon.lock/2", "tasks": [], "layouts": {"calls": {"a": 1}}})"}) {
    EXPECT_THROW(parse(text, "net.lock"), UserError) << text;
  }
}

// Of a library for several targets; a program that knows nothing of levels reads the plan of the best.
TEST(PlanText, HoldsThePlansOfSeveralTargets) {
  NetworkPlan least = sample(), best = sample();
  least.target = "x86-64-v2";
  least.tasks[0].trace = "narrow\n";
  const std::string text = to_text(std::vector{least, best});
  EXPECT_EQ(to_text(parse(text, "net.lock")), to_text(best));
  const std::vector<NetworkPlan> levels = parse_levels(text, "net.lock");
  ASSERT_EQ(levels.size(), 2U);
  EXPECT_EQ(to_text(levels[0]), to_text(least));
  EXPECT_EQ(to_text(levels), text);
  EXPECT_EQ(parse_levels(to_text(best), "net.lock").size(), 1U);
  Json j = Json::parse(text);
  j["levels"] = "x86-64-v2";
  EXPECT_THROW(parse(j.dump(), "net.lock"), UserError);
}

TEST(PlanText, ATargetGetsItsLevel) {
  NetworkPlan least = sample(), best = sample();
  least.target = "x86-64-v2";
  const auto folder = PrivateFolder::temporary("lock");
  const std::string two = folder.path() / "two.lock", one = folder.path() / "one.lock";
  files::write_file(two, to_text(std::vector{least, best}));
  files::write_file(one, to_text(least));
  EXPECT_EQ(read_lock(two, "x86-64-v2").target, "x86-64-v2");
  EXPECT_EQ(read_lock(two).target, "x86-64-v3");
  EXPECT_EQ(read_lock(two, "x86-64-v4").target, "x86-64-v3");

  const auto level = [](const std::string& file, const std::string& target,
                        const std::vector<std::string>& targets) {
    const auto plan = read_level(file, target, targets);
    return plan ? plan->target : "none";
  };
  const std::vector<std::string> targets = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};
  EXPECT_EQ(level(two, "x86-64-v2", targets), "x86-64-v2");
  EXPECT_EQ(level(two, "x86-64-v3", targets), "x86-64-v3");
  EXPECT_EQ(level(two, "x86-64-v4", targets), "none");
  EXPECT_EQ(level(one, "x86-64-v2", targets), "x86-64-v2");
  EXPECT_EQ(level(one, "x86-64-v3", targets), "none");
  // A file of none of them was made for another machine.
  EXPECT_EQ(level(one, "x86-64-v3", {"x86-64-v3", "x86-64-v4"}), "none");
  EXPECT_EQ(level(one, "x86-64-v4", {"x86-64-v3", "x86-64-v4"}), "x86-64-v2");
}

TEST(NetworkPlan, TakesProgramsOverWhereItHasNone) {
  NetworkPlan lock, records;
  lock.tasks = {{.task = "01", .trace = "mine", .origin = "template conv"},
                no_program("02", "its entry is damaged")};
  for (const char* key : {"01", "02", "03"}) {
    records.tasks.push_back({.task = key, .trace = "theirs", .origin = "tuned"});
  }
  lock.add(records);
  ASSERT_EQ(lock.tasks.size(), 3U);
  EXPECT_EQ(lock.find("01")->trace, "mine");
  EXPECT_EQ(lock.find("02")->trace, "theirs");
  EXPECT_EQ(lock.find("02")->refused, "its entry is damaged") << "it is still told of";
  EXPECT_EQ(lock.find("03")->trace, "theirs");
}

TEST(NetworkPlan, WithoutRules) {
  NetworkPlan p = sample();
  p.tasks[1].from = From::kRule;
  const NetworkPlan decided = without_rules(p);
  ASSERT_EQ(decided.tasks.size(), 1U);
  EXPECT_EQ(decided.tasks[0].task, "01");
  p.tasks[1].refused = "something else was not accurate enough";
  EXPECT_EQ(without_rules(p).tasks.size(), 2U);
}

}  // namespace
}  // namespace tenon::plan
