// SPDX-License-Identifier: Apache-2.0
// What must be refused, and in which words.
#pragma once

#include <string>
#include <vector>

#include "support/result.h"

namespace tenon::schedule {

struct RefusedCase {
  std::string te;
  std::string trace;  // steps that are accepted
  std::string step;   // the one that is not; empty: the finished program is refused
  IllegalCode code;
  std::string sentence;
  std::string target = "x86-64-v3";  // 16 registers of 32 bytes
};

std::vector<RefusedCase> refused_steps();
std::vector<RefusedCase> refused_programs();

}  // namespace tenon::schedule
