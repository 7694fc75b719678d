// SPDX-License-Identifier: Apache-2.0
// Programs that are cases of others. A loop of one turn, or of none, is not written down, so that a program at a small size
// has another form than those at larger ones, and still does what these do with the numbers of its size.
//
//   for i in 0..24 { A[i] = 0 }, for i in 0..40 { A[i] = 0 }, A[0] = 0      the third is the first with {1}
//
// The numbers are guessed from those of two other sizes, and proven: with them the longer program simplifies to the shorter.
#pragma once

#include <cstdint>
#include <vector>

#include "compile/numbers.h"

namespace tenon::compile {

// A program at one size of each dimension.
struct AtSize {
  std::vector<int64_t> sizes;
  const ir::Function* function;
  Numbered* numbered;
  size_t index;  // for the caller
};

// Joins groups of programs, each of one form: where all members of one are cases of another, they get its form and their
// numbers for it, and go in front of its members. Emptied groups are left out. The last member of a group has its form.
void join_cases(std::vector<std::vector<AtSize>>& groups);

}  // namespace tenon::compile
