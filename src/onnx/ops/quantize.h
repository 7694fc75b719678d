// SPDX-License-Identifier: Apache-2.0
// Numbers as small integers: real = (stored - zero) * scale. What the quantised operators are made of.
#pragma once

#include "onnx/converter.h"

namespace tenon::onnx {

// Scale and zero point of an operand, shaped so that they broadcast to it. A zero of -1 is absent.
struct Quantizer {
  ValueId scale = -1;
  ValueId zero = -1;
};

// From inputs `scale` and `zero` for a tensor of `rank`: one number for all, one for each place of `axis`,
// or as many dimensions as the tensor.
Quantizer read_quantizer(Convert& c, size_t scale, size_t zero, int64_t axis, int64_t rank);
// The zero point alone, shaped the same way; -1 if it is absent.
ValueId read_zero(Convert& c, size_t i, int64_t axis, int64_t rank);

// saturate(round(x / scale) + zero) in type t, halves to even. The division is one of type `precision`, if it is given,
// otherwise of the scale's.
ValueId quantized(Convert& c, ValueId x, const Quantizer& q, ir::DType t,
                  std::optional<ir::DType> precision = {});
// (x - zero) * scale in the type that is given, or in that of the scale.
ValueId dequantized(Convert& c, ValueId x, const Quantizer& q, std::optional<ir::DType> to = {});

bool is_byte(Convert& c, ValueId x);  // an integer of 8 bits
// x - zero in i16, or x itself where the zero point is known to be 0: an operand of integer sums.
ValueId without_zero(Convert& c, ValueId x, ValueId zero);
// The zero point as a number, where it is known and one for all.
std::optional<int64_t> known_zero(Convert& c, ValueId zero);
// Weights that are known, in i8 without their zero points, and the sums of those of each channel, which are at `axis`.
struct ByteWeights {
  ValueId w, sums;
};
// Nothing where they are not known, or do not fit.
std::optional<ByteWeights> bytes_of_weights(Convert& c, ValueId w, ValueId zero, size_t axis);
// sum - zero * sums: what the zero point of the other operand brought in.
ValueId without_sums(Convert& c, ValueId sum, int64_t zero, ValueId sums);

// saturate(round(sum * a * b / y) + zero of y): an i32 sum of products back to the type t.
ValueId requantized(Convert& c, ValueId sum, const Quantizer& a, const Quantizer& b,
                    const Quantizer& y, ir::DType t);
// The sum of products of integers without their zero points, in i32; operands of rank 1 as MatMul takes them.
ValueId integer_matmul(Convert& c, ValueId a, ValueId a_zero, ValueId b, ValueId b_zero);

// Scale and zero point that make 8 unsigned bits cover the values of x and 0.
Quantizer covering(Convert& c, ValueId x);

}  // namespace tenon::onnx
