// SPDX-License-Identifier: Apache-2.0
// A guard right inside a loop becomes the bounds of the loop. Bounds that depend on outer loops are for serial
// loops only; unrolled and vectorised loops take constant ones.
//   for r in 0..3 { if (1 <= y + r) s }   =>   for r in max(0, 1 - y)..3 { s }
//   for k in 0..512 { if (k < n[0]) s }   =>   for k in 0..min(512, n[0]) { s }   where nobody writes n
#pragma once

#include "lower/pass.h"

namespace tenon::lower {

ir::Stmt tighten_loops(const ir::Stmt& s, const PassContext& ctx);

}  // namespace tenon::lower
