// SPDX-License-Identifier: Apache-2.0
// What came out: a summary for people, JSON, results in gtest's form, and docs/ops.md.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx_suite/run_case.h"

namespace tenon::onnx_suite {

// 'passed 950, unsupported 70, wrong 0, crashed 0', then the unsupported by reason and the failures by name.
std::string summary(const std::vector<Outcome>& outcomes);
std::string to_json(const std::vector<Outcome>& outcomes);
std::string to_xml(const std::vector<Outcome>& outcomes);

int64_t count(const std::vector<Outcome>& outcomes, Status s);
// Wrong, error, crashed or hung.
bool failed(const Outcome& o);

// The supported operators, with the versions that differ and how many cases of the suite use each and pass.
std::string ops_page(const std::vector<Case>& cases, const std::vector<Outcome>& outcomes);

}  // namespace tenon::onnx_suite
