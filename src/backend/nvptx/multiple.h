// SPDX-License-Identifier: Apache-2.0
// An access of several elements is aligned if its index is known to be a multiple of enough.
//
//   multiple_of(i*8 + floor_mod(j, 2)*4)  ==  4
#pragma once

#include <cstdint>

#include "ir/ir.h"

namespace tenon::backend::nvptx {

// A power of two, 65536 at most, that divides every value of `e`.
int64_t multiple_of(const ir::Expr& e);

}  // namespace tenon::backend::nvptx
