// SPDX-License-Identifier: Apache-2.0
// How ONNX's own runner compares outputs: |got - want| <= atol + rtol * |want|, NaN equals NaN, integers and
// bools exactly, types and shapes the same.
#pragma once

#include <string>

#include "ir/interp.h"

namespace tenon::onnx_suite {

inline constexpr double kRelative = 1e-3;
inline constexpr double kAbsolute = 1e-7;

// Empty when they agree; otherwise what differs, with the worst element.
std::string difference(const ir::Array& got, const ir::Array& want);

// The suite records bf16 as its bits in u16, with bits cut off where we round to nearest: one unit in the
// last place is no difference.
std::string difference_in_bits(const ir::Array& got, const ir::Array& want);

}  // namespace tenon::onnx_suite
