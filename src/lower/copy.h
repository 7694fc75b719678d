// SPDX-License-Identifier: Apache-2.0
// A copy of a statement with its own loop variables and buffers, so that both can stand in one program.
#pragma once

#include "ir/ir.h"

namespace tenon::lower {

ir::Stmt fresh_copy(const ir::Stmt& s);

}  // namespace tenon::lower
