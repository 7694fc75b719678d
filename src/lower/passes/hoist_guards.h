// SPDX-License-Identifier: Apache-2.0
// Moves what a guard asks of outer loops out of inner ones, and merges nested guards:
//   for c { if (0 <= y + r - 1 and c < 3) s }   =>   if (0 <= y + r - 1) { for c { if (c < 3) s } }
#pragma once

#include "lower/pass.h"

namespace tenon::lower {

ir::Stmt hoist_guards(const ir::Stmt& s, const PassContext& ctx);

}  // namespace tenon::lower
