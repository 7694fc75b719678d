// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "onnx/ops/emit.h"
#include "onnx/ops/nn.h"
#include "onnx/ops/window.h"
#include "te/limits.h"

namespace tenon::onnx {
namespace {

// The bias is an element-wise node of its own: fusion puts it into the convolution.
ValueId add_bias(Convert& c, ValueId y) {
  if (!c.has_input(2)) return y;
  if (c.shape(2) != Shape{c.b().shape(y)[1]}) {
    refuse("the bias does not have one element for each of {} channels", c.b().shape(y)[1]);
  }
  const auto rank = static_cast<int64_t>(c.b().shape(y).size());
  require_same_type(c, {y, c.input(2)});
  return c.b().elementwise("bias", {y, along_axis(c, c.input(2), 1, rank)},
                           [](Args x) { return x[0] + x[1]; });
}

std::vector<int64_t> weight_kernel(Convert& c) {
  require_float(c.dtype(0));
  require_same_type(c, {c.input(0), c.input(1)});
  if (c.rank(1) != c.rank(0)) {
    refuse("an input of {} dimensions with weights of {}", c.rank(0), c.rank(1));
  }
  const std::vector<int64_t> kernel = spatial(c.shape(1));
  if (c.has("kernel_shape") && c.ints_or("kernel_shape", {}) != kernel) {
    refuse("'kernel_shape' is not the shape of the weights");
  }
  return kernel;
}

// Padding of ConvTranspose that follows from the extents that are wanted.
struct Cut {
  int64_t before, after;
};
Cut cut_to(int64_t total, bool upper) {
  return upper ? Cut{total / 2, total - total / 2} : Cut{total - total / 2, total / 2};
}

}  // namespace

std::vector<ValueId> convert_conv(Convert& c) {
  WindowSet w = read_windows(c, weight_kernel(c));
  w.params.groups = c.int_or("group", 1);
  return {add_bias(c, c.b().add("conv", graph::Conv{w.params}, {c.input(0), c.input(1)}))};
}

std::vector<ValueId> convert_conv_transpose(Convert& c) {
  const std::vector<int64_t> kernel = weight_kernel(c);
  const std::vector<int64_t> in = spatial(c.shape(0));
  const size_t rank = in.size();
  graph::ConvTranspose op;
  te::ConvParams& p = op.params;
  p.groups = c.int_or("group", 1);
  p.stride = per_dimension(c, "strides", rank, 1, 1);
  p.dilation = per_dimension(c, "dilations", rank, 1, 1);
  const auto pads = per_dimension(c, "pads", 2 * rank, 0, 0);
  op.output_pad = per_dimension(c, "output_padding", rank, 0, 0);
  std::vector<int64_t> wanted = c.ints_or("output_shape", {});
  if (wanted.size() == rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && wanted.size() != rank) refuse("'output_shape' does not fit the input");
  const std::string auto_pad = c.string_or("auto_pad", "NOTSET");
  for (size_t d = 0; d < rank; ++d) {
    const int64_t span = (kernel[d] - 1) * p.dilation[d] + 1;
    const int64_t full = (in[d] - 1) * p.stride[d] + op.output_pad[d] + span;
    const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
    Cut cut{pads[d], pads[rank + d]};
    if (auto_pad == "VALID") cut = {0, 0};
    if (!wanted.empty() || same) {
      const int64_t extent = wanted.empty() ? in[d] * p.stride[d] : wanted[d];
      if (extent < 1 || extent > te::kMaxExtent) refuse("an output extent of {}", extent);
      // Wanted beyond what the kernel reaches: the rest is output padding.
      if (extent > full) op.output_pad[d] += extent - full;
      cut = cut_to(std::max<int64_t>(full - extent, 0), auto_pad == "SAME_UPPER");
    }
    p.pad_before.push_back(cut.before);
    p.pad_after.push_back(cut.after);
  }
  return {add_bias(c, c.b().add("conv_transpose", op, {c.input(0), c.input(1)}))};
}

}  // namespace tenon::onnx
