// SPDX-License-Identifier: Apache-2.0
#include "onnx/ops/nn.h"

#include <algorithm>

#include "onnx/ops/emit.h"
#include "te/limits.h"

namespace tenon::onnx {
namespace {

// x / (bias + alpha / size * sum of squares over `size` channels around)^beta. Of a window that is larger than the
// tensor only the channels that exist are looked at.
std::vector<ValueId> convert_lrn(Convert& c) {
  require_float(c.dtype(0));
  if (c.rank(0) < 2) refuse("an input of {} dimensions has no channels", c.rank(0));
  const int64_t size = c.int_or("size", 0);
  if (size < 1 || size > te::kMaxExtent) refuse("'size' is {}", size);
  const double alpha = c.float_or("alpha", 1e-4) / static_cast<double>(size);
  const double beta = c.float_or("beta", 0.75);
  const double bias = c.float_or("bias", 1);
  const ir::DType t = c.dtype(0);
  const Shape shape = c.shape(0);
  const int64_t farthest = std::max<int64_t>(shape[1] - 1, 0);
  const int64_t before = std::min((size - 1) / 2, farthest);
  const int64_t window_size = before + 1 + std::min(size / 2, farthest);
  return {c.b().compute("lrn", {c.input(0)}, [&](te::Builder& b, Tensors in) {
    const te::Tensor squares = b.reduce(
        "lrn.squares", shape, ir::BinaryOp::kAdd, {window_size}, [&](Axes axes, Axes window) {
          std::vector<ir::Expr> at(axes.begin(), axes.end());
          at[1] = axes[1] + window[0] - ir::Expr(before);
          const ir::Expr inside =
              ir::logical_and(ir::le(0, at[1]), ir::lt(at[1], ir::Expr(shape[1])));
          const ir::Expr v =
              ir::select(inside, ir::cast(wide(t), ir::load(in[0], at)), ir::zero_of(wide(t)));
          return v * v;
        });
    return te::elementwise(b, "lrn", {in[0], squares}, [&](Args x) {
      const ir::Expr base = number(x[1], bias) + number(x[1], alpha) * x[1];
      const ir::Expr power = ir::call(ir::Intrinsic::kPow, {base, number(base, beta)});
      return ir::cast(t, ir::cast(wide(t), x[0]) / power);
    });
  })};
}

constexpr Row kNnRows[] = {
    {"", "AveragePool", 1, convert_average_pool},
    {"", "Conv", 1, convert_conv},
    {"", "ConvTranspose", 1, convert_conv_transpose},
    {"", "GlobalAveragePool", 1, convert_global_average_pool},
    {"", "GlobalLpPool", 2, convert_global_lp_pool},
    {"", "GlobalMaxPool", 1, convert_global_max_pool},
    {"", "GridSample", 16, convert_grid_sample},
    {"", "LRN", 1, convert_lrn},
    {"", "LpPool", 2, convert_lp_pool},
    {"", "MaxPool", 1, convert_max_pool},
    {"", "Resize", 10, convert_resize_10},
    {"", "Resize", 11, convert_resize_11},
    {"", "RoiAlign", 10, convert_roi_align},
    {"", "Upsample", 7, convert_upsample_7},
    {"", "Upsample", 9, convert_resize_10},
};

}  // namespace

std::span<const Row> rows_nn() { return kNnRows; }

}  // namespace tenon::onnx
