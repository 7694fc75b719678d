// SPDX-License-Identifier: Apache-2.0
// Cases over child processes. A child takes one case after the other from its standard input and answers
// with a line of JSON each; when it dies or takes too long, that case has failed and another child goes on.
#pragma once

#include <functional>
#include <vector>

#include "onnx_suite/cases.h"
#include "onnx_suite/run_case.h"

namespace tenon::onnx_suite {

struct Limits {
  int children = 2;
  int seconds = 60;  // for each case
  int64_t memory = int64_t{4} << 30;
};

// Outcomes in the order of the cases. `done` is called for each as it comes, by one thread at a time.
std::vector<Outcome> run_cases(const std::vector<Case>& cases, Mode mode, const Limits& limits,
                               const std::function<void(const Outcome&)>& done);

// What a child does: returns the exit code of the process.
int run_child(Mode mode, int64_t memory);

}  // namespace tenon::onnx_suite
