// SPDX-License-Identifier: Apache-2.0
// Steps that must be accepted and must keep the answer; the name of the primitive is the first word of the step.
#pragma once

#include <string>
#include <vector>

namespace tenon::schedule {

struct AppliedCase {
  std::string te;
  std::string trace;
  std::string step;
  std::string target = "x86-64-v3";
};

std::vector<AppliedCase> applied_cases();

}  // namespace tenon::schedule
