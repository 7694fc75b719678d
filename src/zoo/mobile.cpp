// SPDX-License-Identifier: Apache-2.0
// Networks of inverted residuals: expand with 1x1, filter each channel, project back with 1x1.
#include <fmt/format.h>

#include <algorithm>

#include "zoo/families.h"
#include "zoo/layers.h"

namespace tenon::zoo {
namespace {

constexpr double kBranch = 0.5;

struct Stage {
  int64_t expand, kernel, stride, out, repeats;
};

struct Style {
  Tensor (*activate)(ModelBuilder&, const std::string&, const Tensor&);
  double gain;  // of a layer that reads activated values
  bool squeeze;
};

constexpr Style kMobileNet = {relu6, kReluGain, false};
constexpr Style kEfficientNet = {silu, kSiluGain, true};

Tensor conv_norm_act(ModelBuilder& m, const std::string& name, const Tensor& x, ConvSpec spec,
                     double gain, const Style& style) {
  spec.gain = gain;
  const Tensor y = batch_norm(m, name + ".1", conv(m, name + ".0", x, spec));
  return style.activate(m, name + ".2", y);
}

// Scales each channel by a number that depends on the channels' means.
Tensor squeeze_excite(ModelBuilder& m, const std::string& name, const Tensor& x, int64_t squeezed) {
  Tensor y = global_average_pool(m, name + ".avgpool", x);
  ConvSpec down = square(squeezed, 1);
  down.bias = true;
  y = silu(m, name + ".activation", conv(m, name + ".fc1", y, down));
  ConvSpec up = square(x.shape[1], 1);
  up.bias = true;
  up.gain = 0.5;  // factors near one half, so that their spread does not add up over the blocks
  y = unary(m, "Sigmoid", name + ".scale_activation", conv(m, name + ".fc2", y, up));
  return binary(m, "Mul", name, x, y);
}

Tensor inverted_residual(ModelBuilder& m, const std::string& name, const Tensor& x,
                         const Stage& stage, const Style& style) {
  const int64_t in = x.shape[1];
  const int64_t hidden = in * stage.expand;
  int part = 0;
  const auto next = [&] { return fmt::format("{}.block.{}", name, part++); };
  Tensor y = x;
  if (stage.expand != 1) {
    y = conv_norm_act(m, next(), y, square(hidden, 1), kLinearGain, style);
  }
  ConvSpec depthwise = square(hidden, stage.kernel, stage.stride);
  depthwise.groups = hidden;
  y = conv_norm_act(m, next(), y, depthwise, style.gain, style);
  double gain = style.gain;
  if (style.squeeze) {
    y = squeeze_excite(m, next(), y, std::max<int64_t>(1, in / 4));
    gain *= 2;  // the factors are about one half
  }
  ConvSpec project = square(stage.out, 1);
  project.gain = gain;
  const bool residual = stage.stride == 1 && in == stage.out;
  const std::string last = next();
  y = batch_norm(m, last + ".1", conv(m, last + ".0", y, project), residual ? kBranch : 1);
  return residual ? binary(m, "Add", name, y, x) : y;
}

void build(ModelBuilder& m, const Options& options, const std::vector<Stage>& stages,
           const Style& style) {
  const Tensor image =
      m.input("input", Element::kFloat, {options.batch, 3, options.image, options.image});
  Tensor x = conv_norm_act(m, "features.0", image, square(32, 3, 2), kLinearGain, style);
  int64_t block = 1;
  for (const Stage& stage : stages) {
    for (int64_t i = 0; i < stage.repeats; ++i) {
      Stage one = stage;
      one.stride = i == 0 ? stage.stride : 1;
      x = inverted_residual(m, fmt::format("features.{}", block++), x, one, style);
    }
  }
  x = conv_norm_act(m, fmt::format("features.{}", block), x, square(1280, 1), kLinearGain, style);
  classify(m, "classifier.1", x, 1000);
}

}  // namespace

void build_mobilenet_v2(ModelBuilder& m, const Options& options) {
  build(m, options,
        {{1, 3, 1, 16, 1},
         {6, 3, 2, 24, 2},
         {6, 3, 2, 32, 3},
         {6, 3, 2, 64, 4},
         {6, 3, 1, 96, 3},
         {6, 3, 2, 160, 3},
         {6, 3, 1, 320, 1}},
        kMobileNet);
}

void build_efficientnet_b0(ModelBuilder& m, const Options& options) {
  build(m, options,
        {{1, 3, 1, 16, 1},
         {6, 3, 2, 24, 2},
         {6, 5, 2, 40, 2},
         {6, 3, 2, 80, 3},
         {6, 5, 1, 112, 3},
         {6, 5, 2, 192, 4},
         {6, 3, 1, 320, 1}},
        kEfficientNet);
}

}  // namespace tenon::zoo
