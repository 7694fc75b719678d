// SPDX-License-Identifier: Apache-2.0
#include "lower/passes/simplify_program.h"

#include "arith/simplify.h"

namespace tenon::lower {

ir::Stmt simplify_program(const ir::Stmt& s, const PassContext&) { return arith::simplify(s); }

}  // namespace tenon::lower
