// SPDX-License-Identifier: Apache-2.0
// The C header of a library: runtime/model_api.h with the model's name in it, and a table of its tensors.
#pragma once

#include <string>

#include "artifact/program.h"

namespace tenon::artifact {

std::string c_header(const Program& program);
// NAME.hpp: the same as a class, for C++17.
std::string cpp_header(const Program& program);

// "1x3x224x224"; "scalar" without dimensions.
std::string shape_text(const std::vector<int64_t>& shape);
// The same with the names of open dimensions: "batchx3x224x224".
std::string shape_text(const TensorInfo& t, const std::vector<Dim>& dims);
// "1..8", "16..512:16", or "1, 2, 5".
std::string values_text(const std::vector<int64_t>& values);

}  // namespace tenon::artifact
