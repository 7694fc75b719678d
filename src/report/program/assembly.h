// SPDX-License-Identifier: Apache-2.0
// Counts what matters in the assembly text that LLVM printed for x86-64 or AArch64, or as PTX (which has no spills yet).
#pragma once

#include <cstdint>
#include <string>

namespace tenon::report {

struct CodeCounts {
  int64_t instructions = 0;
  int64_t multiply_adds = 0;  // fused, on vectors or scalars
  int64_t spills = 0;         // stores to the stack that the register allocator had to add
  int64_t reloads = 0;
};

struct CodeSummary {
  CodeCounts all;
  CodeCounts hottest;  // the basic block with the most multiply-adds
};

CodeSummary summarize_assembly(const std::string& text);

}  // namespace tenon::report
