// SPDX-License-Identifier: Apache-2.0
// Sliding windows of Conv and the pools: kernel_shape, strides, pads, dilations, auto_pad, ceil_mode.
#pragma once

#include <vector>

#include "onnx/converter.h"
#include "te/ops.h"

namespace tenon::onnx {

struct WindowSet {
  std::vector<int64_t> kernel;
  te::ConvParams params;       // ceil_mode is part of pad_after here
  std::vector<int64_t> extra;  // how much of pad_after is there only because of ceil_mode
  std::vector<int64_t> out;    // extents of the result
};

// Of input 0, which has N, C and spatial dimensions. Unsupported for attributes that fit no tensor.
WindowSet read_windows(Convert& c, const std::vector<int64_t>& kernel);
// The attribute kernel_shape, which pools must have.
std::vector<int64_t> kernel_shape(Convert& c);

// The spatial part of a shape; Unsupported if there is none.
std::vector<int64_t> spatial(const Shape& shape);
// An attribute with one number per spatial dimension, each in low..2^31.
std::vector<int64_t> per_dimension(Convert& c, const std::string& name, size_t count,
                                   int64_t otherwise, int64_t low);

}  // namespace tenon::onnx
