// SPDX-License-Identifier: Apache-2.0
#include "onnx/ops/window.h"

#include <algorithm>

#include "onnx/ops/emit.h"
#include "te/limits.h"

namespace tenon::onnx {
namespace {

// One spatial dimension.
struct Window {
  int64_t in, kernel, stride, dilation, before, after, extra;
  int64_t span() const { return (kernel - 1) * dilation + 1; }
  int64_t room() const { return in + before + after - span(); }
};

void pad_same(Window& w, bool upper) {
  const int64_t out = (w.in + w.stride - 1) / w.stride;
  const int64_t total = std::max<int64_t>((out - 1) * w.stride + w.span() - w.in, 0);
  w.before = upper ? total / 2 : total - total / 2;
  w.after = total - w.before;
}

// Makes room for a last window that is not complete, unless it would lie in the padding altogether.
void pad_ceil(Window& w) {
  if (w.room() < 0 || w.room() % w.stride == 0) return;
  const int64_t last = (w.room() / w.stride + 1) * w.stride;
  if (last >= w.in + w.before) return;
  w.extra = last - w.room();
  w.after += w.extra;
}

}  // namespace

std::vector<int64_t> spatial(const Shape& shape) {
  if (shape.size() < 3) refuse("an input of {} dimensions; N C and more are wanted", shape.size());
  return {shape.begin() + 2, shape.end()};
}

std::vector<int64_t> per_dimension(Convert& c, const std::string& name, size_t count,
                                   int64_t otherwise, int64_t low) {
  std::vector<int64_t> v = c.ints_or(name, {});
  if (v.empty()) v.assign(count, otherwise);
  if (v.size() != count) refuse("'{}' has {} numbers, {} are wanted", name, v.size(), count);
  for (const int64_t x : v) {
    if (x < low || x > te::kMaxExtent) refuse("'{}' has {}, not in {}..2^31", name, x, low);
  }
  return v;
}

std::vector<int64_t> kernel_shape(Convert& c) {
  if (!c.has("kernel_shape")) refuse("attribute 'kernel_shape' is missing");
  return per_dimension(c, "kernel_shape", spatial(c.shape(0)).size(), 1, 1);
}

WindowSet read_windows(Convert& c, const std::vector<int64_t>& kernel) {
  const std::vector<int64_t> in = spatial(c.shape(0));
  const size_t rank = in.size();
  if (kernel.size() != rank) {
    refuse("a kernel of {} dimensions over {}", kernel.size(), rank);
  }
  const auto stride = per_dimension(c, "strides", rank, 1, 1);
  const auto dilation = per_dimension(c, "dilations", rank, 1, 1);
  const auto pads = per_dimension(c, "pads", 2 * rank, 0, 0);
  const std::string auto_pad = c.string_or("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!same && auto_pad != "NOTSET" && auto_pad != "VALID" && !auto_pad.empty()) {
    refuse("auto_pad '{}' is not known", auto_pad);
  }
  WindowSet set;
  set.kernel = kernel;
  for (size_t d = 0; d < rank; ++d) {
    Window w{in[d], kernel[d], stride[d], dilation[d], pads[d], pads[rank + d], 0};
    if (same) pad_same(w, auto_pad == "SAME_UPPER");
    if (auto_pad == "VALID") w.before = w.after = 0;
    if (c.int_or("ceil_mode", 0) != 0) pad_ceil(w);
    if (w.room() < 0) {
      refuse("a window of {} does not fit an input of {} padded by {} and {}", w.span(), w.in,
             w.before, w.after);
    }
    set.params.stride.push_back(w.stride);
    set.params.dilation.push_back(w.dilation);
    set.params.pad_before.push_back(w.before);
    set.params.pad_after.push_back(w.after);
    set.extra.push_back(w.extra);
    set.out.push_back(w.room() / w.stride + 1);
  }
  return set;
}

}  // namespace tenon::onnx
