// SPDX-License-Identifier: Apache-2.0
// Inputs for a model that nobody gave any for.
#pragma once

#include <vector>

#include "artifact/program.h"
#include "support/rng.h"

namespace tenon::artifact {

// Floats between -1 and 1, integers and bools 0 or 1.
ir::Array random_array(ir::DType dtype, const std::vector<int64_t>& shape, Rng& rng);
std::vector<ir::Array> random_inputs(const std::vector<TensorInfo>& tensors, uint64_t seed);

}  // namespace tenon::artifact
