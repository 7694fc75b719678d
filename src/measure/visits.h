// SPDX-License-Identifier: Apache-2.0
// A program is timed in several short visits, some while apart, of which the quietest counts. Whatever else a machine does
// only slows a program down, for milliseconds up to seconds: neighbours on the same core that a virtual machine does not
// see, caches and memory that are shared. One visit as long as all of them together would lie within one such moment.
//
//   equal programs timed twice on 16 cores of a virtual machine    one visit    visits
//   differ by                                                           25 %      15 %
//   have this share of pairs in the same order                          0.68      0.79
#pragma once

#include <cstdint>

#include "task/record.h"

namespace tenon::measure {

inline constexpr int kMostVisits = 4;

// How much two visits of one program differ on this machine. Where they agree, most programs are visited once.
class Noise {
 public:
  void add(double one_s, double other_s);
  // Says which programs are visited again: all on a noisy machine, on a quiet one some, to notice when that ends.
  bool look_again();

 private:
  double mean_ = 0;  // of |log(one / other)|, of the last ones most
  int64_t seen_ = 0, asked_ = 0;
};

class Visits {
 public:
  void add(task::Measurement m);
  // No further visit is needed: it failed, is far behind `best_s` (0: none is known), two visits agree, or there were many.
  bool enough(double best_s, Noise& noise);
  const task::Measurement& quietest() const { return quietest_; }

 private:
  task::Measurement quietest_;
  double last_s_ = 0, before_s_ = 0;  // of the last visit; the quietest of those before it, 0: none
  double run_s_ = 0;                  // of all
  int count_ = 0;
};

}  // namespace tenon::measure
