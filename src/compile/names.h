// SPDX-License-Identifier: Apache-2.0
// This chooses the names of libraries and of their functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tenon::compile {

// A C identifier out of any text: "model-7.onnx" -> "model_7_onnx".
std::string identifier(const std::string& text);

// Files are called after a model, with a few letters around its name, and have at most 255.
inline constexpr size_t kLongestName = 200;

// Why a C identifier can be no model's name: "libm.so is a library of the system". Empty: it can.
std::string why_no_name(std::string_view name);

// A name for a model out of any text: an identifier, shortened, and with "_model" behind it where libm.so or string.h
// would take the place of the system's own.
std::string library_name(const std::string& text);

}  // namespace tenon::compile
