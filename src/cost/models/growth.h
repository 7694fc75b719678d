// SPDX-License-Identifier: Apache-2.0
// How many trees are grown on measured programs, and on which of them.
//
//   Lessons lessons(programs, width);
//   const int rounds = rounds_by_holding_out(how, lessons, history);   // 0: the history says it best
//   Booster b = grow(how, lessons, lessons.all(), history, rounds);
#pragma once

#include <string>
#include <vector>

#include "cost/losses.h"
#include "cost/models/booster.h"

namespace tenon::cost {

// What is told when the fit to the samples is good enough.
enum class Stop : uint8_t {
  kError,   // the error of the loss no longer falls, or is below the noise of any measurement
  kRecall,  // AutoTVM's average recall no longer rises
};

struct How {
  Growing growing;
  Loss* loss = nullptr;
  Stop stop = Stop::kError;
  int max_rounds = 300;
};

// Programs with their times, as vectors one after the other.
struct Programs {
  std::vector<float> values;
  std::vector<size_t> rows;    // vectors of each
  std::vector<Sample> timing;  // of each, without its row

  void add(const Sample& s);
  size_t size() const { return rows.size(); }
};

struct Lessons {
  Lessons(const Programs& programs, uint32_t width);
  std::vector<char> all() const { return std::vector<char>(packs.rows.size(), 1); }
  Matrix data;
  Packs packs;
};

// On top of `trees`, from the programs that count, until the fit is good enough.
Booster grow_until_fitted(const How& how, const Lessons& lessons, std::span<const char> counts,
                          const std::string& trees);
// The same with so many trees.
Booster grow(const How& how, const Lessons& lessons, std::span<const char> counts,
             const std::string& trees, int rounds);

// The number of trees on top of `trees` with which programs that were held out are told best. 0 if none helps.
int rounds_by_holding_out(const How& how, const Lessons& lessons, const std::string& trees);

}  // namespace tenon::cost
