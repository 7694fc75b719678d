// SPDX-License-Identifier: Apache-2.0
// The part of verify() that looks at one expression at a time.
#pragma once

#include "ir/ir.h"

namespace tenon::ir {

// Checks that operands agree in type and lanes with each other and with the node's own type. Looks at
// the node and the types of its children, not inside them. Throws InternalError.
void verify_types(const Expr& e);
// Of an access to `b`: lanes of its indices; checks their number and types.
int verify_indices(const Buffer& b, const std::vector<Expr>& indices);
void verify_predicate(const Expr& predicate, int lanes, const Buffer& b);

}  // namespace tenon::ir
