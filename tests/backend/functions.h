// SPDX-License-Identifier: Apache-2.0
// Element-wise functions with arguments where they are defined, and how exact they are.
#pragma once

#include <vector>

#include "backend/harness.h"
#include "ir/ir.h"

namespace tenon::backend {

std::vector<ir::Intrinsic> all_functions();

// fn of elements of type t, once for each number of lanes.
ir::Function function_kernel(ir::Intrinsic fn, ir::DType t, const std::vector<int>& lanes);
std::vector<ir::Array> function_args(const ir::Function& f, ir::Intrinsic fn, ir::DType t);

// Relative error of a correct function plus one rounding to the type, in which neighbours may be
// picked.
Tolerance float_tolerance(ir::DType t);
Tolerance function_tolerance(ir::Intrinsic fn, ir::DType t);  // of exact functions: none

}  // namespace tenon::backend
