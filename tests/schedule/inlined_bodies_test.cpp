// SPDX-License-Identifier: Apache-2.0
// Inlined bodies that are remembered are those that would be written: states with and without common ancestors agree.
#include "schedule/inlined_bodies.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "schedule/programs.h"
#include "schedule/scheduled.h"

namespace tenon::schedule {
namespace {

State after(const State& s, const std::string& trace) {
  auto done = replay(s, parse_trace(trace, s));
  if (!done) throw InternalError(render_illegal(s, done.illegal()));
  return std::move(done.value());
}

const ir::Expr& body(const State& s, const std::string& stage) {
  return s.stage(s.find(stage)).op->body;
}

std::vector<std::string> bodies(const State& s) {
  std::vector<std::string> out;
  for (size_t i = 0; i < s.size(); ++i) {
    const Stage& st = s.stage(static_cast<StageId>(i));
    out.push_back(st.name + " = " + (st.op == nullptr ? "" : ir::to_string(st.op->body)));
  }
  return out;
}

TEST(InlinedBodies, TheSecondProgramReadsTheBodyOfTheFirst) {
  const State initial = start(kConv);
  const State one = after(initial, "compute_inline P");
  const State two = after(initial, "split Y k [2]\ncompute_inline P");
  EXPECT_TRUE(body(one, "Y").same_as(body(two, "Y")));
  const State apart = after(start(kConv), "compute_inline P");
  EXPECT_FALSE(body(one, "Y").same_as(body(apart, "Y")));
  EXPECT_EQ(ir::to_string(body(one, "Y")), ir::to_string(body(apart, "Y")));
}

TEST(InlinedBodies, EveryOrderAndEveryLayoutGivesWhatAStateOfItsOwnGives) {
  const char* const traces[] = {
      "compute_inline B",
      "compute_inline C",
      "compute_inline B\ncompute_inline C",
      "compute_inline C\ncompute_inline B",
      "cache_write C local\ncompute_inline B",
      "cache_read B [C] local\ncompute_inline C",
      "layout_reorder A [1, 0]\ncompute_inline B",
      "layout_split A 1 [4, 4]\ncompute_inline B\ncompute_inline C",
  };
  const State shared = start(kChain);
  for (int round = 0; round < 2; ++round) {
    for (const char* trace : traces) {
      const State one = after(shared, trace);
      EXPECT_EQ(bodies(one), bodies(scheduled(kChain, trace))) << trace;
    }
  }
}

TEST(InlinedBodies, OtherExtentsAreAnotherReader) {
  const State s = start(kConv);
  const te::OpRef reader = s.stage(s.find("Y")).op, pad = s.stage(s.find("P")).op;
  InlinedBodies known;
  EXPECT_EQ(known.find(*reader, *pad), nullptr);
  known.add(*reader, pad, reader->body);
  ASSERT_NE(known.find(*reader, *pad), nullptr);
  EXPECT_TRUE(known.find(*reader, *pad)->same_as(reader->body));
  te::ComputeOp wider = *reader;
  wider.axes.back().extent += 1;
  EXPECT_EQ(known.find(wider, *pad), nullptr);
  te::ComputeOp deeper = *reader;
  deeper.reduce_axes.back().extent += 1;
  EXPECT_EQ(known.find(deeper, *pad), nullptr);
  EXPECT_EQ(known.find(*pad, *pad), nullptr);
}

TEST(InlinedBodies, AFullMemoryKeepsWhatItHas) {
  const State s = start(kConv);
  const te::OpRef reader = s.stage(s.find("Y")).op, pad = s.stage(s.find("P")).op;
  InlinedBodies known;
  std::vector<te::ComputeOp> readers(200, *reader);
  for (size_t i = 0; i < readers.size(); ++i) {
    readers[i].axes.back().extent = static_cast<int64_t>(i) + 1;
    known.add(readers[i], pad, reader->body);
  }
  EXPECT_NE(known.find(readers.front(), *pad), nullptr);
  EXPECT_EQ(known.find(readers.back(), *pad), nullptr);
}

}  // namespace
}  // namespace tenon::schedule
