// SPDX-License-Identifier: Apache-2.0
// An input of a model that becomes a constant, written by hand.
//
//   parse_bound(sr, "16000", "--bind sr=16000")      sr: i64 scalar    =>  16000
//   parse_bound(sizes, "[2,3]", "--bind sizes=[2,3]")    f32 of 2      =>  {2.0, 3.0}
#pragma once

#include <string>

#include "onnx/import.h"

namespace tenon::onnx {

// A number, true or false, or lists of them: 1,2,3 or [1,2,3] or [[1,2],[3,4]]. The array has the input's type and shape;
// one number fits every shape of one element. `whole` is named where the text does not fit. Throws RequestError.
ir::Array parse_bound(const StatedInput& input, const std::string& text, const std::string& whole);

}  // namespace tenon::onnx
