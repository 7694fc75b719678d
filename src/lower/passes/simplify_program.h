// SPDX-License-Identifier: Apache-2.0
// arith::simplify over the whole program.
#pragma once

#include "lower/pass.h"

namespace tenon::lower {

ir::Stmt simplify_program(const ir::Stmt& s, const PassContext& ctx);

}  // namespace tenon::lower
