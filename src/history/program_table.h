// SPDX-License-Identifier: Apache-2.0
// Good programs of many tasks as a text file: what ships with tenon, so that a first run has examples. One program per
// line, fields apart by tabs: key and label of the task, how alike it is to others, its time over that of the task's
// best, and the recipe.
//
//   # tenon programs 1
//   3f2a..  conv relu  conv2.f32 columns=64 ..  1.000  0 fuse2 factor@last+out.9=16 ..
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "history/known_programs.h"
#include "target/target.h"

namespace tenon::history {

inline constexpr size_t kMostTableBytes = 2'000'000;

// The best of every task first, then the second of every task, as far as there is room; lines in the order of tasks.
std::string to_table(const std::vector<KnownTask>& tasks, size_t most_bytes = kMostTableBytes);

struct Table {
  std::vector<KnownTask> tasks;  // in the order of the lines
  size_t left_out = 0;           // lines that are damaged, or of another version
};
Table read_table(std::string_view text);

// Programs go by the width of vectors: "x86_64-512".
std::string table_name(const target::Target& t);

}  // namespace tenon::history
