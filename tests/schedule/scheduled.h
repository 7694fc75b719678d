// SPDX-License-Identifier: Apache-2.0
// A dag and a trace, both as text, for tests.
//
//   const State s = scheduled("input A: f32[7]\nC[i: 7] = A[i] + 1.0\noutput C", "split C i [3]");
//   EXPECT_EQ(problem_of(s), "");
#pragma once

#include <string>
#include <vector>

#include "schedule/trace.h"

namespace tenon::schedule {

State start(const std::string& te, const std::string& target = "x86-64-v3");
// Throws UserError if a step is refused.
State scheduled(const std::string& te, const std::string& trace,
                const std::string& target = "x86-64-v3");

// Lowers with all checks on, interprets on three sets of inputs and compares with the reference. Empty, or what
// is wrong; a program that the target refuses is wrong too.
std::string problem_of(const State& s);

// Every field of every stage, for "nothing changed".
std::vector<std::string> dump(const State& s);

}  // namespace tenon::schedule
