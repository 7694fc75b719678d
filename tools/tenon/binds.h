// SPDX-License-Identifier: Apache-2.0
// --bind: inputs of a model that become constants.
//
//   sr=16000, sizes=1,2,3, flag=true     values of the input's type and shape
//   axes=@axes.npy, x=@x.pb              files
#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx/import.h"

namespace tenon::tools {

// By input. Throws UserError, onnx::RequestError where a value does not fit its input.
std::map<std::string, ir::Array> parse_binds(const std::vector<std::string>& texts,
                                             const onnx::Source& source);

}  // namespace tenon::tools
