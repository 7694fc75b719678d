// SPDX-License-Identifier: Apache-2.0
// Traces that may serve a task, and those that may not.
#include "task/serve.h"

#include <gtest/gtest.h>

#include "te/text.h"

namespace tenon::task {
namespace {

// The image and the result in blocks of 4 channels.
Task blocked_task(const char* target = "x86-64-v3") {
  const auto dag = std::make_shared<const te::ComputeDag>(
      te::parse("input x: f32[1, 8, 5, 6]\nconst w: f32[8, 8, 1, 1]\nconst b: f32[8, 1, 1]\n"
                "y[n: 1, o: 8, h: 5, v: 6] = sum(c: 8) x[n, c, h, v] * w[o, c, 0, 0]\n"
                "z[n: 1, o: 8, h: 5, v: 6] = y[n, o, h, v] + b[o, 0, 0]\noutput z\n"));
  return make_task(
      dag,
      parse_edges(
          "x: split(1,[2,4]).reorder([0,1,3,4,2])\nz: split(1,[2,4]).reorder([0,1,3,4,2])\n", *dag),
      std::make_shared<const target::Target>(target::parse_target(target)));
}

const std::string kEdges =
    "layout_split x 1 [2, 4]\nlayout_reorder x [0, 1, 3, 4, 2]\n"
    "layout_split z 1 [2, 4]\nlayout_reorder z [0, 1, 3, 4, 2]\n";

std::string without(std::string text, const std::string& line) {
  const size_t at = text.find(line);
  return text.erase(at, text.find('\n', at) + 1 - at);
}

TEST(Serve, WhatKeepsTheEdgesAndFits) {
  const Task t = blocked_task();
  const Served s = serve_text(t, kEdges + "parallel z o_0\n");
  ASSERT_TRUE(s) << s.why;
  EXPECT_EQ(s.why, "");
  EXPECT_EQ(s->trace.size(), 5u);
  EXPECT_TRUE(keeps_edges(t, s->state));
  const Served again = serve_json(t, schedule::to_json(s->trace));
  ASSERT_TRUE(again) << again.why;
  EXPECT_EQ(again->trace, s->trace);
  EXPECT_TRUE(serve(t, edge_steps(t)));
}

struct Refusal {
  std::string trace;
  const char* why;
};

TEST(Serve, RefusesTheRestInASentence) {
  const Task t = blocked_task();
  const Refusal refusals[] = {
      {"", "x is not stored as the task's edges say"},
      {without(kEdges, "layout_reorder x"), "x is not stored as the task's edges say"},
      {without(kEdges, "layout_reorder z"), "z is not stored as the task's edges say"},
      {kEdges + "layout_reorder x [0, 1, 2, 4, 3]\n", "x is not stored as the task's edges say"},
      {kEdges + "split z nobody [2]\n", "nobody"},
      {kEdges + "vectorize z h\n", "must have no serial loop inside"},
      {"\xff\xfe", "its trace:1"},
      {kEdges + "split z h [0]\n", "factor 0"},
  };
  for (const Refusal& r : refusals) {
    const Served s = serve_text(t, r.trace);
    EXPECT_FALSE(s) << r.trace;
    EXPECT_NE(s.why.find(r.why), std::string::npos) << r.trace << "\n" << s.why;
  }
  for (const char* json :
       {"", "{}", "[", "[[\"split\",99,0,[16],false]]", "[[\"split\"]]", "[7]"}) {
    const Served s = serve_json(t, json);
    EXPECT_FALSE(s) << json;
    EXPECT_NE(s.why, "") << json;
  }
}

// Each of these replays; lowering it would be refused.
TEST(Serve, RefusesWhatReplaysButDoesNotLower) {
  const Task t = blocked_task();
  const std::string text = kEdges + "cache_write y register\n";
  const schedule::State initial(t.dag, t.target);
  ASSERT_TRUE(schedule::replay(initial, schedule::parse_trace(text, initial)));
  const Served s = serve_text(t, text);
  EXPECT_FALSE(s);
  EXPECT_EQ(s.why, "y.cache is in registers and must be attached to a loop");
}

// Inputs of a network's kernel lie where the network has them.
TEST(Serve, RefusesInputsInsideOfOthers) {
  const auto dag = std::make_shared<const te::ComputeDag>(
      te::parse("input x: f32[4, 8]\nconst w: f32[8, 6]\nconst b: f32[6]\n"
                "y[i: 4, j: 6] = sum(k: 8) x[i, k] * w[k, j]\n"
                "z[i: 4, j: 6] = y[i, j] + b[j]\noutput z\n"));
  const Task t = make_task(dag, parse_edges("", *dag),
                           std::make_shared<const target::Target>(target::host_target()));
  const Served s = serve_text(t, "layout_store_at b w 0\n");
  EXPECT_FALSE(s);
  EXPECT_NE(s.why.find("b is stored inside another tensor"), std::string::npos) << s.why;
}

// A vector of 16 lanes is for wider registers than this target has; the same trace serves another.
TEST(Serve, RefusesWhatDoesNotFitTheTarget) {
  const auto dag = std::make_shared<const te::ComputeDag>(
      te::parse("input x: f32[4096]\ny[i: 4096] = x[i] * 2.0\noutput y\n"));
  const auto on = [&](const char* target) {
    return make_task(dag, parse_edges("", *dag),
                     std::make_shared<const target::Target>(target::parse_target(target)));
  };
  const std::string trace = "split y i [512]\nvectorize y i.1\n";
  const Served narrow = serve_text(on("x86-64-v3"), trace);
  EXPECT_FALSE(narrow);
  EXPECT_NE(narrow.why.find("a vector holds 2 to"), std::string::npos) << narrow.why;
}

}  // namespace
}  // namespace tenon::task
