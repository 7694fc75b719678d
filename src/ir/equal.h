// SPDX-License-Identifier: Apache-2.0
// Structural equality and hash. Variables and buffers that are bound inside (loops, Allocate) are
// matched by position; free ones must be the same handle. Equal implies equal hash. With `free_by_order`
// free variables and buffers are matched by order of first use too, buffers by dtype and shape: then
// the hash is stable between processes.
#pragma once

#include <cstdint>

#include "ir/ir.h"

namespace tenon::ir {

bool equal(const Expr& a, const Expr& b, bool free_by_order = false);
bool equal(const Stmt& a, const Stmt& b, bool free_by_order = false);
uint64_t structural_hash(const Expr& e);
uint64_t structural_hash(const Stmt& s);

}  // namespace tenon::ir
