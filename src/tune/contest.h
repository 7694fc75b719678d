// SPDX-License-Identifier: Apache-2.0
// Kinds of decisions that share the seconds of a run (budget.h). The first one, the loops, goes on
// to the end; the others are given up once they gain less in a second than the loops do, and then
// say what they decided.
//
//   Contest c(now);
//   c.add({.name = "loops", .hope_s = 1e-3, .step = .., .gained_s = ..});
//   c.add({.name = "layouts", .hope_s = 5e-4, .step = .., .gained_s = .., .decide = ..});
//   c.run(stop);
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tune/budget.h"
#include "tune/stopwatch.h"

namespace tenon::tune {

using Stop = std::function<bool()>;

struct Contender {
  std::string name;
  double hope_s = 0;                      // what its first seconds are taken to gain
  std::function<bool(const Stop&)> step;  // false: nothing is left to try
  std::function<double()> gained_s;       // by all steps so far, of the networks' time
  std::function<bool()> used_up = {};     // empty: it may take all there is
  std::function<void()> leave = {};       // before another has its turn; empty: nothing to do
  std::function<void()> decide = {};      // once, when it is over; may add contenders
};

class Contest {
 public:
  explicit Contest(Clock now) : now_(std::move(now)) {}

  void add(Contender c);
  // Until `stop` says so, or nobody has anything left to try. Those that are not over then have
  // decided nothing.
  void run(const Stop& stop);
  // Of those that are not over, by what they have found: there is no more time for them.
  void decide_all();
  const std::vector<Budget::Kind>& kinds() const { return budget_.kinds(); }

 private:
  void turn(size_t kind, const Stop& stop);
  bool gives_up(size_t kind) const;
  void end(size_t kind);

  Clock now_;
  Budget budget_;
  std::vector<Contender> contenders_;
};

}  // namespace tenon::tune
