// SPDX-License-Identifier: Apache-2.0
// Text for people. Variables and buffers that share a name get a suffix in order of appearance.
//
//   for i in 0..4 parallel {
//     C[i, ramp(0, 1, 16)] = A[i] * B[ramp(0, 1, 16)]
//   }
#pragma once

#include <string>

#include "ir/ir.h"

namespace tenon::ir {

std::string to_string(const Expr& e);
std::string to_string(const Stmt& s);
std::string to_string(const Function& f);

}  // namespace tenon::ir
