// SPDX-License-Identifier: Apache-2.0
// The C header of a library: runtime/model_api.h with the model's name in it, and a table of its tensors.
#pragma once

#include <string>

#include "artifact/program.h"

namespace tenon::artifact {

std::string c_header(const Program& program);
// NAME.hpp: the same as a class, for C++17.
std::string cpp_header(const Program& program);

}  // namespace tenon::artifact
