// SPDX-License-Identifier: Apache-2.0
// Cases over child processes. A child takes one case after the other from its standard input and answers
// with a line of JSON each; when it dies or takes too long, that case has failed and another child goes on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "onnx_suite/cases.h"
#include "onnx_suite/run_case.h"

namespace tenon::onnx_suite {

struct Limits {
  std::vector<std::string> program = {"onnx_suite"};  // how its children are started
  int children = 2;
  int seconds = 60;  // for each case
  int64_t memory = int64_t{4} << 30;
  double deadline_s = 1e6;  // cases that have not begun by then are not run
};

// Outcomes in the order of the cases. `done` is called for each as it comes, by one thread at a time.
std::vector<Outcome> run_cases(const std::vector<Case>& cases, const How& how, const Limits& limits,
                               const std::function<void(const Outcome&)>& done);

// What a child does: returns the exit code of the process. It keeps the card of a GPU's target, since cases that each
// take it anew spend most of their time so.
int run_child(const How& how, int64_t memory);

}  // namespace tenon::onnx_suite
