// SPDX-License-Identifier: Apache-2.0
// How trees are grown on measured programs, and how far they and a history are trusted.
//
//   Lessons lessons{data, packs_of(programs), {}};
//   const Footing f = stand_on(history_scores, loss, lessons);
//   score of a program = f.history * the history's + f.run * that by grow(how, lessons, everyone)
#pragma once

#include <vector>

#include "cost/losses.h"
#include "cost/models/booster.h"

namespace tenon::cost {

// What tells when the fit to the samples is good enough.
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
Packs packs_of(const Programs& programs);

struct Lessons {
  const Matrix& data;
  Packs packs;
  std::vector<double> base;  // the score of each program before the first tree; empty: 0
};

// How much history and this run's trees weigh. All that the run has measured is new to the history,
// so how well the history's scores fit it is evidence: with few samples its weight stays near 1,
// with many it is what they say. The run's trees fit their samples to the noise, so they weigh more
// as samples get more, and where the history is wrong.
struct Footing {
  double history = 1;
  double run = 1;
  double offset = 0;  // keeps the mean score where it was
};

// Makes the history's scores the base of the lessons, as far as they are trusted, and puts the
// labels of each task on their scale. The best of a few programs is not the best of their task: a
// history that knows the task calls it 0.5, and trees on top of it should learn which program is
// faster than it thinks, not that all are twice as good.
Footing stand_on(std::span<const double> history, Loss* loss, Lessons& lessons);

// From the programs that count, until the fit is good enough.
Booster grow(const How& how, const Lessons& lessons, std::span<const char> counts);

}  // namespace tenon::cost
