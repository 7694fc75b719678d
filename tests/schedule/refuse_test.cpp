// SPDX-License-Identifier: Apache-2.0
// Refusals say which rule was broken, and name the loop and the stage.
#include <gtest/gtest.h>

#include <set>

#include "lower/lower.h"
#include "schedule/programs.h"
#include "schedule/refusals.h"
#include "schedule/scheduled.h"

namespace tenon::schedule {
namespace {

// Codes that nothing can give yet.
const std::set<IllegalCode> kReserved = {};

TEST(Refuse, StepsInTheExactWords) {
  for (const RefusedCase& c : refused_steps()) {
    SCOPED_TRACE(c.te + c.trace + "\n> " + c.step);
    const State s = scheduled(c.te, c.trace, c.target);
    const auto result = check(parse_step(c.step, s), s);
    ASSERT_FALSE(result);
    EXPECT_EQ(illegal_name(result.illegal().code), illegal_name(c.code));
    EXPECT_EQ(render_illegal(s, result.illegal()), c.sentence);
  }
}

TEST(Refuse, ProgramsInTheExactWords) {
  for (const RefusedCase& c : refused_programs()) {
    SCOPED_TRACE(c.te + c.trace);
    const State s = scheduled(c.te, c.trace, c.target);
    const auto result = lower::lower(s);
    ASSERT_FALSE(result);
    EXPECT_EQ(illegal_name(result.illegal().code), illegal_name(c.code));
    EXPECT_EQ(render_illegal(s, result.illegal()), c.sentence);
  }
}

TEST(Refuse, TooManySteps) {
  const State s = start(kMatmul);
  const Trace trace(kMaxSteps + 1, parse_step("pragma_unroll D 4", s));
  const auto result = replay(s, trace);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.illegal().code, IllegalCode::kTooManySteps);
  EXPECT_EQ(render_illegal(s, result.illegal()), "a trace has at most 1000 steps");
  EXPECT_TRUE(replay(s, Trace(kMaxSteps, trace[0])));
}

TEST(Refuse, EveryReasonOccurs) {
  std::set<IllegalCode> seen = kReserved;
  seen.insert(IllegalCode::kTooManySteps);
  seen.insert(IllegalCode::kUnwanted);  // tests/space/builder_test.cpp
  for (const auto& cases : {refused_steps(), refused_programs()}) {
    for (const RefusedCase& c : cases) {
      EXPECT_FALSE(kReserved.count(c.code));
      seen.insert(c.code);
    }
  }
#define TENON_ILLEGAL(code, sentence) \
  EXPECT_TRUE(seen.count(IllegalCode::code)) << #code << " is nowhere tested";
#include "support/illegal.def"
#undef TENON_ILLEGAL
}

}  // namespace
}  // namespace tenon::schedule
