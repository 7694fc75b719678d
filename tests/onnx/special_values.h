// SPDX-License-Identifier: Apache-2.0
// What tests of NaN and infinities share.
#pragma once

#include <cmath>
#include <limits>

#include "onnx/op_run.h"

namespace tenon::onnx::testing {

using Elements = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// The wanted numbers are written down with seven digits.
inline double seven_digits(ir::DType t) { return t == ir::kF16 ? 2e-3 : 2e-6; }

}  // namespace tenon::onnx::testing
