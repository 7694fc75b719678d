// SPDX-License-Identifier: Apache-2.0
// Mean and variance over some dimensions, which stay with extent 1; in f32 for the 16-bit floats.
#pragma once

#include <vector>

#include "onnx/converter.h"

namespace tenon::onnx {

struct Moments {
  ValueId mean, variance;  // variance: of the population, by two passes
};
Moments moments(Convert& c, ValueId x, const std::vector<int64_t>& axes);

}  // namespace tenon::onnx
