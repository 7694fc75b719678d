// SPDX-License-Identifier: Apache-2.0
// Divides a loop. `factors` are the extents of the inner parts, innermost last; the outermost is inferred.
//   for i in 0..64              =>  for i.0 in 0..4 { for i.1 in 0..16 }        split C i [16]
// The factors need not divide: the last block is shorter. With `parts` the one factor is a number of
// near-equal parts: 49 in 4 parts is 13 + 12 + 12 + 12.
//   for i in 0..49              =>  for i.0 in 0..4 { for i.1 in 0..13 or 12 }  split C i [4] parts
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct Split {
  StageRef stage;
  LoopRef loop;
  std::vector<int64_t> factors;
  bool parts = false;

  static constexpr auto kFields =
      fields(field("stage", &Split::stage), field("loop", &Split::loop),
             field("factors", &Split::factors, Tunable::kFactors), field("parts", &Split::parts));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
