// SPDX-License-Identifier: Apache-2.0
// The best program that a table has for a task itself, or for one of the same kind and sizes that an exporter wrote in
// other words: what a network begins with where nothing was measured.
//
//   ExactPrograms shipped(read_table(text).tasks);
//   shipped.find(task);     // a trace, or nothing: then the rules decide
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "history/known_programs.h"

namespace tenon::history {

class ExactPrograms {
 public:
  explicit ExactPrograms(const std::vector<KnownTask>& table);

  // Gives the program of the task with this key, else of one with an equal description; nothing if the table has none
  // that was the fastest of all, or if it is none of the task's space.
  // May be asked by several threads at once.
  std::optional<schedule::Trace> find(const task::Task& t) const;
  bool empty() const { return best_.empty(); }

 private:
  std::map<std::string, Recipe> best_;   // by key
  std::map<std::string, Recipe> alike_;  // by text of the likeness: the first of the table
};

}  // namespace tenon::history
