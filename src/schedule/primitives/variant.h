// SPDX-License-Identifier: Apache-2.0
// Computes a convolution or a product by another algorithm. Its weights, which must be constant, are turned into what the algorithm
// multiplies with when the program is compiled; new stages stand before it. Comes before any other step on the stage or
// its weights. Changes how results are rounded.
//   C = sum(c, r, s) X[n, c, y + r, x + s] * W[k, c, r, s]                               variant C winograd4
//     =>  C.v1, C.v: tiles of 6 x 6 inputs transformed; C.m = sum(c) C.v * W'; C.y1, C.y: tiles of 4 x 4 outputs;
//         C = C.y[.., y // 4 * tiles + x // 4, y % 4, x % 4]
//   C = sum(k) X[i, k] * W[k, j]                                                         variant C strassen
//     =>  C.v: seven sums of quarters of X; C.m = sum(k) C.v * W'; C.y: quarters of the output;
//         C = C.y[i // half, j // half, i % half, j % half]
//   im2col and phases change where numbers lie, not how results are rounded: algorithms/.
#pragma once

#include "schedule/algorithms/algorithms.h"
#include "schedule/fields.h"
#include "schedule/state.h"

namespace tenon::schedule {

struct Variant {
  StageRef stage;
  Algorithm algorithm = Algorithm::kWinograd2;

  static constexpr auto kFields =
      fields(field("stage", &Variant::stage), field("algorithm", &Variant::algorithm));
  Result<void> check(const State& s) const;
  void apply(State& s) const;  // check() has passed
};

}  // namespace tenon::schedule
