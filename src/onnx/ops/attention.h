// SPDX-License-Identifier: Apache-2.0
// Converters of rows_attention() that have files of their own.
#pragma once

#include <vector>

#include "onnx/converter.h"

namespace tenon::onnx {

std::vector<ValueId> convert_rotary_embedding(Convert& c);

}  // namespace tenon::onnx
