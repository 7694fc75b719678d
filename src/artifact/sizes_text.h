// SPDX-License-Identifier: Apache-2.0
// Writes sizes as people read them. It is apart from what writes headers, because programs that only load artifacts need it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "artifact/program.h"

namespace tenon::artifact {

// "1x3x224x224"; "scalar" without dimensions.
std::string shape_text(const std::vector<int64_t>& shape);
// The same with the names of open dimensions: "batchx3x224x224".
std::string shape_text(const TensorInfo& t, const std::vector<Dim>& dims);
// "1..8", "16..512:16", or "1, 2, 5".
std::string values_text(const std::vector<int64_t>& values);

}  // namespace tenon::artifact
