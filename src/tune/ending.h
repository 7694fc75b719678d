// SPDX-License-Identifier: Apache-2.0
// When each part of a run's end begins, so that the whole of it ends with its budget: finals of tasks, the comparison of
// each network with its default, and what later runs learn from this one.
//
//   Ending ending(parts, artifacts);
//   while (log.spent() < ending.rounds_end()) ..;
//   while (nothing_found && log.spent() < ending.late_end()) ..;   // so far the end needs less than that
//   if (ending.has_time_for(ending.comparison_s())) ..;   // a second look that the run can do without
#pragma once

#include "tune/artifacts.h"

namespace tenon::tune {

class Ending {
 public:
  // Both must outlive it.
  Ending(const SessionParts& parts, const Artifacts& artifacts)
      : parts_(parts), artifacts_(artifacts) {}

  // In seconds of the run; infinity where it has no budget.
  double rounds_end() const;
  double finals_end() const;
  double finals_s() const;
  // Until then rounds may go on behind the finals that found nothing: what they find can be judged just in time.
  double late_end() const;
  double learning_begin() const;
  // How long two networks are run in turns, and what such a comparison took with all that surrounds it.
  double compare_s() const;
  double comparison_s() const;
  void compared(double took_s) { compared_s_ = took_s; }
  // Before the budget is spent.
  bool has_time_for(double seconds) const;

 private:
  double budget_s() const { return parts_.options.budget_s; }
  double look_s() const;      // to write and to compare every network once
  double networks_s() const;  // what is written and compared at the end
  double learning_s() const;

  const SessionParts& parts_;
  const Artifacts& artifacts_;
  double compared_s_ = 0;  // 0: nothing was compared yet
};

}  // namespace tenon::tune
