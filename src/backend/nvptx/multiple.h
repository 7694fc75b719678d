// SPDX-License-Identifier: Apache-2.0
// What divides an index, so that an access of several elements is known to be aligned.
//
//   multiple_of(i*8 + floor_mod(j, 2)*4)  ==  4
#pragma once

#include <cstdint>

#include "ir/ir.h"

namespace tenon::backend::nvptx {

// A power of two, 65536 at most, that divides every value of `e`.
int64_t multiple_of(const ir::Expr& e);

}  // namespace tenon::backend::nvptx
