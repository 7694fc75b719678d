// SPDX-License-Identifier: Apache-2.0
// What came out: a summary for people, JSON, and results in gtest's form.
#pragma once

#include <string>
#include <vector>

#include "onnx_suite/run_case.h"

namespace tenon::onnx_suite {

// 'passed 950, unsupported 70, wrong 0, crashed 0', then the unsupported by reason and the failures by name.
std::string summary(const std::vector<Outcome>& outcomes);
std::string to_json(const std::vector<Outcome>& outcomes);
std::string to_xml(const std::vector<Outcome>& outcomes);

int64_t count(const std::vector<Outcome>& outcomes, Status s);
// Those that passed as libraries for several sizes.
int64_t count_open(const std::vector<Outcome>& outcomes);
// Wrong, error, crashed or hung.
bool failed(const Outcome& o);

}  // namespace tenon::onnx_suite
