// SPDX-License-Identifier: Apache-2.0
// Cuts a loop where conditions inside it become true or false for good, so that the long middle part runs without
// any: tails and borders are peeled, never tested per element. A parallel loop is not cut but branches once per
// iteration. Only while the copies stay small.
//   for io in 0..4 { unrolled ii in 0..16 { if (io*16 + ii < 49) s } }
//   =>  for io in 0..3 { unrolled ii in 0..16 { s } }; unrolled ii in 0..1 { s }
#pragma once

#include "lower/pass.h"

namespace tenon::lower {

ir::Stmt partition_loops(const ir::Stmt& s, const PassContext& ctx);

}  // namespace tenon::lower
