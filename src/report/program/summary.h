// SPDX-License-Identifier: Apache-2.0
// What a schedule does, stage by stage and loop by loop: the marks as they end up in the program,
// the real extents, and where each tensor lives.
#pragma once

#include <string>
#include <vector>

#include "report/program/assembly.h"
#include "schedule/state.h"

namespace tenon::report {

struct LoopSummary {
  std::string name;
  int64_t extent = 1;
  bool reduction = false;
  std::string how;  // "parallel", "vectorised", "unrolled", "serial"
};

struct StageSummary {
  std::string name;
  std::string place;    // "root", "inside D at j.0", "inlined"
  std::string storage;  // "parameter", "workspace", "stack, 256 bytes", "28 registers"
  std::string layout;   // how it is stored; empty: row-major
  std::vector<LoopSummary> loops;
};

// Throws UserError if the program's bounds cannot be found.
std::vector<StageSummary> summarize_stages(const schedule::State& s);

std::string to_text(const std::vector<StageSummary>& stages, const CodeSummary& code);

}  // namespace tenon::report
