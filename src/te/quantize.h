// SPDX-License-Identifier: Apache-2.0
// Numbers as small integers: real = (stored - zero) * scale, as ONNX defines it.
//
//   quantize(x, 0.5, 128, u8):    1.25 -> 130      2.5 is halfway between 2 and 3, and 2 is even
//   dequantize(130, 0.5, 128):    1.0
#pragma once

#include "te/ops.h"

namespace tenon::te {

// A real number, already divided by the scale, to its integer of type t: rounded (halves to even), moved by the zero point
// where there is one, kept in range. NaN stays up to the cast, which makes it 0.
ir::Expr saturated(const ir::Expr& v, const ir::Expr& zero, ir::DType t);

// saturated(x / scale); scale and zero broadcast to x, and a zero point that is undefined is 0. The division is one of type
// `precision`.
Tensor quantize(Builder& b, const std::string& name, const Tensor& x, const Tensor& scale,
                const Tensor& zero, ir::DType to, ir::DType precision);
// (x - zero) * scale in type `to`.
Tensor dequantize(Builder& b, const std::string& name, const Tensor& x, const Tensor& scale,
                  const Tensor& zero, ir::DType to);

// table[x], for a function of 8-bit integers: its 256 results, that of the lowest integer first.
//
//   i8 x, table of x * x saturated:    -128 -> table[0]    -127 -> table[1]    127 -> table[255]
inline constexpr int64_t kTableEntries = 256;
Tensor look_up(Builder& b, const std::string& name, const Tensor& x, const Tensor& table);
// Whether this is such a read: the entry that an 8-bit integer says, which never lies outside.
bool is_look_up(const ir::Load& l);

}  // namespace tenon::te
