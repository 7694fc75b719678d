// SPDX-License-Identifier: Apache-2.0
// What is asked of every primitive in primitives.def: rows here that are accepted and rows that are refused, steps
// that read back from both written forms, refusals that leave no mark, programs that keep the answer, and in golden/
// the example of its header.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "ir/print.h"
#include "lower/lower.h"
#include "schedule/conformance_cases.h"
#include "schedule/programs.h"
#include "schedule/refusals.h"
#include "schedule/scheduled.h"
#include "support/golden.h"

namespace tenon::schedule {
namespace {

std::string first_word(const std::string& line) { return line.substr(0, line.find(' ')); }

TEST(Conformance, EveryPrimitiveHasRows) {
  std::map<std::string, int> applied, refused;
  for (const AppliedCase& c : applied_cases()) ++applied[first_word(c.step)];
  for (const RefusedCase& c : refused_steps()) ++refused[first_word(c.step)];
  for (const PrimitiveRow& row : primitives()) {
    const std::string name(row.name);
    EXPECT_GE(applied[name], 2) << name;
    EXPECT_GE(refused[name], 2) << name;
  }
}

// Both written forms give the trace back, with the same hash; the step stands out from the ones before it.
void expect_round_trip(const Trace& trace, const State& initial) {
  EXPECT_EQ(trace_from_json(to_json(trace)), trace);
  EXPECT_EQ(hash(trace_from_json(to_json(trace))), hash(trace));
  const std::string text = to_text(trace, initial);
  EXPECT_EQ(parse_trace(text, initial), trace) << text;
  Trace shorter = trace;
  shorter.pop_back();
  EXPECT_FALSE(shorter == trace);
  EXPECT_NE(hash(shorter), hash(trace));
  Trace other = trace;
  other.back() = row_of(trace.back()).make();
  EXPECT_FALSE(other == trace);
  EXPECT_NE(hash(other), hash(trace));
}

TEST(Conformance, AcceptedStepsKeepTheAnswer) {
  for (const AppliedCase& c : applied_cases()) {
    SCOPED_TRACE(c.te + c.trace + "\n> " + c.step);
    const State initial = start(c.te, c.target);
    Trace trace = parse_trace(c.trace, initial);
    const auto before = replay(initial, trace);
    ASSERT_TRUE(before);
    trace.push_back(parse_step(c.step, *before));
    EXPECT_EQ(to_text(trace.back(), *before), c.step);
    const auto untouched = dump(*before);
    const auto after = replay(initial, trace);
    ASSERT_TRUE(after) << render_illegal(*before, after.illegal());
    EXPECT_EQ(dump(*before), untouched) << "a copy was changed";
    expect_round_trip(trace, initial);
    ASSERT_EQ(problem_of(*after), "") << to_string(*after);
  }
}

TEST(Conformance, RefusalsLeaveNoMark) {
  for (const RefusedCase& c : refused_steps()) {
    SCOPED_TRACE(c.te + c.trace + "\n> " + c.step);
    const State initial = start(c.te, c.target);
    Trace trace = parse_trace(c.trace, initial);
    const State before = *replay(initial, trace);
    trace.push_back(parse_step(c.step, before));
    const std::string text = to_string(before);
    const auto deep = dump(before);
    EXPECT_FALSE(check(trace.back(), before));
    EXPECT_EQ(to_string(before), text);
    EXPECT_EQ(dump(before), deep);
    const Replayed r = replay_steps(initial, trace);
    ASSERT_TRUE(r.refusal);
    EXPECT_EQ(r.refusal->step, trace.size() - 1);
    EXPECT_EQ(to_string(r.state), text);
    EXPECT_EQ(trace_from_json(to_json(trace)), trace);
    EXPECT_EQ(parse_step(to_text(trace.back(), before), before), trace.back());
    EXPECT_NE(to_text(trace, initial).find("  # refused: " + c.sentence), std::string::npos);
  }
}

// ---- golden/<primitive>.txt ------------------------------------------------------------------

// Loops as they stand before they are moved about; flat where only strides differ, finished where lanes do.
std::string program_of(const State& s, std::string_view primitive) {
  lower::RunOptions options;
  options.stop_after = primitive == "storage_align" ? "flatten"
                       : primitive == "tensorize"   ? "simplify_flat"
                                                    : "simplify_loops";
  const auto f = lower::lower(s, options);
  return f ? ir::to_string(*f) : "refused";
}

TEST(Conformance, ExamplesOfTheHeaders) {
  const std::filesystem::path folder = std::string(TENON_SOURCE_DIR) + "/tests/schedule/golden";
  for (const PrimitiveRow& row : primitives()) {
    const bool gpu = row.name == "bind" || row.name == "set_scope" || row.name == "pipeline";
    const std::string target = gpu ? kGpu : "x86-64-v3";
    const auto path = folder / (std::string(row.name) + ".txt");
    std::ifstream file(path);
    ASSERT_TRUE(file) << path << " is missing";
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (const std::string& one : cut(text, "====")) {
      const auto parts = cut(one, "----");  // te, trace, step, before, after
      ASSERT_EQ(parts.size(), 5u) << path;
      EXPECT_EQ(first_word(parts[2]), row.name) << path;
      EXPECT_EQ(program_of(scheduled(parts[0], parts[1], target), row.name), parts[3]) << path;
      const State after = scheduled(parts[0], parts[1] + parts[2], target);
      EXPECT_EQ(program_of(after, row.name), parts[4]) << path;
      EXPECT_EQ(problem_of(after), "") << path;
    }
  }
}

}  // namespace
}  // namespace tenon::schedule
