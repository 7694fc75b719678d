// SPDX-License-Identifier: Apache-2.0
// Vectorises a loop together with the short reduction loop inside it, for an instruction that adds the products of a
// group of neighbours to each lane of the sum. Where the target has no such instruction, and in tails, others give the
// same answer. What is read must store the elements of a group side by side, and the groups of the lanes one after the
// other, unless all lanes share one.
//   for j in 0..16 { for k.1 in 0..4 { C[j] += i32(A[k.1]) * i32(B[j, k.1]) } }
//     =>  C[ramp(0, 1, 16)] += reduce_sum(i32(A[ramp(0, 1, 64) % 4]) * i32(B[ramp(0, 1, 64)]), 16)
//   tensorize C j k.1 dot_u8i8
#pragma once

#include "schedule/dots.h"
#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct Tensorize {
  StageRef stage;
  LoopRef lanes;
  LoopRef loop;
  Dot intrinsic = Dot::kU8I8;

  static constexpr auto kFields =
      fields(field("stage", &Tensorize::stage), field("lanes", &Tensorize::lanes),
             field("loop", &Tensorize::loop), field("intrinsic", &Tensorize::intrinsic));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed

 private:
  Result<void> check_loops(const State& s) const;
};

}  // namespace tenon::schedule
