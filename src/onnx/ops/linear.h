// SPDX-License-Identifier: Apache-2.0
// Converters of rows_linear that lie in files of their own, and the product of matrices.
#pragma once

#include <vector>

#include "onnx/converter.h"

namespace tenon::onnx {

// Both of rank 2 or more; operands without elements give zeros.
ValueId multiply(Convert& c, ValueId a, ValueId b, const graph::MatMul& op);

std::vector<ValueId> convert_einsum(Convert& c);

}  // namespace tenon::onnx
