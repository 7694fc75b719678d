// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "zoo/families.h"
#include "zoo/layers.h"

namespace tenon::zoo {
namespace {

Tensor conv_transpose(ModelBuilder& m, const std::string& name, const Tensor& x, int64_t out,
                      int64_t stride, int64_t pad, double gain) {
  constexpr int64_t kKernel = 4;
  const int64_t in = x.shape[1];
  // Each output meets this share of the kernel's taps; the first layer sees a single position.
  const int64_t taps = x.shape[2] == 1 ? 1 : kKernel * kKernel / (stride * stride);
  const double deviation = gain / std::sqrt(static_cast<double>(in * taps));
  const Tensor weight = m.weight(name + ".weight", {in, out, kKernel, kKernel}, deviation);
  const int64_t size = (x.shape[2] - 1) * stride - 2 * pad + kKernel;
  return m.node("ConvTranspose", name, {x, weight}, {x.shape[0], out, size, size},
                {{"dilations", Shape{1, 1}},
                 {"group", int64_t{1}},
                 {"kernel_shape", Shape{kKernel, kKernel}},
                 {"pads", Shape{pad, pad, pad, pad}},
                 {"strides", Shape{stride, stride}}});
}

}  // namespace

void build_dcgan(ModelBuilder& m, const Options& options) {
  Tensor x = m.input("noise", Element::kFloat, {options.batch, 100, 1, 1});
  const int64_t widths[] = {512, 256, 128, 64};
  for (int64_t i = 0; i < 4; ++i) {
    x = conv_transpose(m, fmt::format("main.{}", 3 * i), x, widths[i], i == 0 ? 1 : 2,
                       i == 0 ? 0 : 1, kReluGain);
    x = batch_norm(m, fmt::format("main.{}", 3 * i + 1), x);
    x = relu(m, fmt::format("main.{}", 3 * i + 2), x);
  }
  x = conv_transpose(m, "main.12", x, 3, 2, 1, kLinearGain);
  m.output(unary(m, "Tanh", "main.13", x), "image");
}

}  // namespace tenon::zoo
