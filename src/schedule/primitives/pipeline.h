// SPDX-License-Identifier: Apache-2.0
// Fetches what one iteration of a loop needs in shared memory while the iteration before it computes:
// stages attached to the loop are stored twice.
//   for k { A.read = A[k]; C += A.read }
//     =>  A.read[0] = A[0]; for k { A.read[(k+1) % 2] = A[k+1]; C += A.read[k % 2] }   pipeline C k
#pragma once

#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct Pipeline {
  StageRef stage;
  LoopRef loop;

  static constexpr auto kFields =
      fields(field("stage", &Pipeline::stage), field("loop", &Pipeline::loop));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
