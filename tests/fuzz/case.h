// SPDX-License-Identifier: Apache-2.0
// A reproducer: a dag, a target, a trace and the seed of the inputs, as one text file. tests/corpus holds those of
// bugs that were found.
//
//   # vectorised tail read past the end
//   target x86-64-v3 cores=2
//   inputs 17                 (or: inputs 17 nan, where some elements are NaN)
//   trace [["split",1,0,[4],false]]
//   dag
//   input A: f32[7]
//   B[i: 7] = A[i] + 1.0
//   output B
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "fuzz/run_program.h"
#include "schedule/trace.h"

namespace tenon::fuzz {

struct Case {
  std::string what;  // one line
  std::string target;
  uint64_t inputs = 1;
  bool nan = false;  // among the inputs
  schedule::Trace trace;
  std::shared_ptr<const te::ComputeDag> dag;
};

std::string to_text(const Case& c);
Case parse_case(const std::string& text, const std::string& file);  // throws UserError

schedule::State initial_state(const Case& c);

// Where a NaN may show in another way than the definition has it there is none among the inputs: algorithms that mix
// neighbouring elements, as a variant may, spread it over them, and a factor that meets padding is not read.
bool has_nan(const Case& c);
std::vector<ir::Array> inputs_of(const Case& c);  // follows from the seed

// Empty, or what is wrong with a trace itself: it must survive JSON and text, hash the same, and replay to a state
// that describes itself as `described`.
std::string check_trace(const schedule::State& initial, const schedule::Trace& trace,
                        const std::string& described);

// Replays, checks the trace, lowers, runs and compares. A trace that is refused sets `refused`.
Outcome check_case(const Case& c, backend::Compiler* compiler, bool every_pass = false);

}  // namespace tenon::fuzz
