// SPDX-License-Identifier: Apache-2.0
// How the seconds and trials of a session are shared: a search before the loops has a share of
// both, its trials are kept for it until it is over, and the loops have the rest.
//
//   Shares shares(parts, loops, ending);
//   const auto used = shares.keep_for(search, 0.1, 48);   // true once it has had a tenth
//   loops.step(stop, shares.trials_of_loops());
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include "tune/ending.h"
#include "tune/loops.h"

namespace tenon::tune {

class Shares {
 public:
  // All must outlive it.
  Shares(const SessionParts& parts, const Loops& loops, const Ending& ending)
      : parts_(parts), loops_(loops), ending_(ending) {}

  // What a search may take: of the seconds that are left, and of all trials.
  struct Share {
    double seconds, trials;
  };
  Share of(double share) const;

  // Gives a search its share: the answer is true once it has had it. Its trials are kept for it
  // until then, and those of the step that goes beyond.
  template <class Search>
  std::function<bool()> keep_for(const Search& search, double share, int64_t step_trials) {
    const Share given = of(share);
    kept_ = [&search, given, step_trials] {
      const double left =
          given.trials - static_cast<double>(search.measured()) + static_cast<double>(step_trials);
      return std::isfinite(left) ? std::max<int64_t>(0, static_cast<int64_t>(left)) : 0;
    };
    return [this, &search, given, end = parts_.log.spent() + given.seconds] {
      return parts_.log.spent() >= end || static_cast<double>(search.measured()) >= given.trials;
    };
  }
  // That search is over.
  void release() { kept_ = {}; }

  int64_t trials_of_loops() const;  // 0: no limit

 private:
  const SessionParts& parts_;
  const Loops& loops_;
  const Ending& ending_;
  std::function<int64_t()> kept_;  // trials for a search that is not over; empty: there is none
};

}  // namespace tenon::tune
