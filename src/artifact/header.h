// SPDX-License-Identifier: Apache-2.0
// The C header of a library: runtime/model_api.h with the model's name in it, and a table of its tensors.
#pragma once

#include <string>

#include "artifact/program.h"

namespace tenon::artifact {

std::string c_header(const Program& program);

// "1x3x224x224"; "scalar" without dimensions.
std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace tenon::artifact
