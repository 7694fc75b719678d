// SPDX-License-Identifier: Apache-2.0
// Sets of element types, as the tables of operators state them: kF32 | kI64.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/dtype.h"

namespace tenon::graph_fuzz {

using Types = uint32_t;

inline constexpr Types kF32 = 1, kF64 = 2, kF16 = 4, kBF16 = 8;
inline constexpr Types kI8 = 16, kI16 = 32, kI32 = 64, kI64 = 128;
inline constexpr Types kU8 = 256, kU16 = 512, kU32 = 1024, kU64 = 2048;
inline constexpr Types kBool = 4096;

inline constexpr Types kFloats = kF16 | kF32 | kF64;
inline constexpr Types kSigned = kI8 | kI16 | kI32 | kI64;
inline constexpr Types kUnsigned = kU8 | kU16 | kU32 | kU64;
inline constexpr Types kWide =
    kI32 | kI64 | kU32 | kU64;  // what the oldest versions of operators take
inline constexpr Types kInts = kSigned | kUnsigned;
inline constexpr Types kNumbers = kFloats | kInts;
inline constexpr Types kAll = kNumbers | kBool;

// In the order of their bits.
const std::vector<ir::DType>& element_types();
// The set with this one type.
Types set_of(ir::DType t);
// ONNX's number of a type: 1 for f32.
int32_t onnx_number(ir::DType t);

}  // namespace tenon::graph_fuzz
