// SPDX-License-Identifier: Apache-2.0
// Residual networks as torchvision has them: the stride of a bottleneck lies in its 3x3 convolution.
#include <fmt/format.h>

#include <array>

#include "zoo/families.h"
#include "zoo/layers.h"

namespace tenon::zoo {
namespace {

constexpr double kBranch = 0.3;  // of a residual branch, so that sums hardly grow with depth

struct ResNet {
  std::array<int64_t, 4> blocks;
  bool bottleneck = false;
  int64_t groups = 1;
  int64_t width = 64;  // of a group, for 64 planes
};

Tensor conv_norm(ModelBuilder& m, const std::string& conv_name, const std::string& norm_name,
                 const Tensor& x, const ConvSpec& spec, double scale = 1) {
  return batch_norm(m, norm_name, conv(m, conv_name, x, spec), scale);
}

Tensor shortcut(ModelBuilder& m, const std::string& name, const Tensor& x, int64_t out,
                int64_t stride) {
  if (stride == 1 && x.shape[1] == out) {
    return x;
  }
  ConvSpec spec = square(out, 1, stride);
  spec.gain = kLinearGain;
  return conv_norm(m, name + ".downsample.0", name + ".downsample.1", x, spec);
}

Tensor basic_block(ModelBuilder& m, const std::string& name, const Tensor& x, int64_t planes,
                   int64_t stride) {
  Tensor y = conv_norm(m, name + ".conv1", name + ".bn1", x, square(planes, 3, stride));
  y = relu(m, name + ".relu1", y);
  y = conv_norm(m, name + ".conv2", name + ".bn2", y, square(planes, 3), kBranch);
  y = binary(m, "Add", name, y, shortcut(m, name, x, planes, stride));
  return relu(m, name + ".relu2", y);
}

Tensor bottleneck(ModelBuilder& m, const std::string& name, const Tensor& x, int64_t planes,
                  int64_t stride, const ResNet& net) {
  const int64_t width = planes * net.width / 64 * net.groups;
  Tensor y = conv_norm(m, name + ".conv1", name + ".bn1", x, square(width, 1));
  y = relu(m, name + ".relu1", y);
  ConvSpec middle = square(width, 3, stride);
  middle.groups = net.groups;
  y = conv_norm(m, name + ".conv2", name + ".bn2", y, middle);
  y = relu(m, name + ".relu2", y);
  y = conv_norm(m, name + ".conv3", name + ".bn3", y, square(4 * planes, 1), kBranch);
  y = binary(m, "Add", name, y, shortcut(m, name, x, 4 * planes, stride));
  return relu(m, name + ".relu3", y);
}

void build(ModelBuilder& m, const Options& options, const ResNet& net) {
  const Tensor image =
      m.input("input", Element::kFloat, {options.batch, 3, options.image, options.image});
  ConvSpec first = square(64, 7, 2);
  first.gain = kLinearGain;
  Tensor x = relu(m, "relu", conv_norm(m, "conv1", "bn1", image, first));
  x = max_pool(m, "maxpool", x, {.kernel = 3, .stride = 2, .pad = 1});
  for (size_t layer = 0; layer < net.blocks.size(); ++layer) {
    const int64_t planes = int64_t{64} << layer;
    for (int64_t block = 0; block < net.blocks[layer]; ++block) {
      const std::string name = fmt::format("layer{}.{}", layer + 1, block);
      const int64_t stride = layer > 0 && block == 0 ? 2 : 1;
      x = net.bottleneck ? bottleneck(m, name, x, planes, stride, net)
                         : basic_block(m, name, x, planes, stride);
    }
  }
  classify(m, "fc", x, 1000);
}

ConvSpec cube(int64_t out, int64_t k, int64_t s) {
  return {.out = out,
          .kernel = {k, k, k},
          .stride = {s, s, s},
          .pad = {k / 2, k / 2, k / 2},
          .groups = 1,
          .bias = false,
          .gain = k == 1 ? kLinearGain : kReluGain};
}

Tensor video_block(ModelBuilder& m, const std::string& name, const Tensor& x, int64_t planes,
                   int64_t stride) {
  Tensor y = conv_norm(m, name + ".conv1.0", name + ".conv1.1", x, cube(planes, 3, stride));
  y = relu(m, name + ".conv1.2", y);
  y = conv_norm(m, name + ".conv2.0", name + ".conv2.1", y, cube(planes, 3, 1), kBranch);
  Tensor side = x;
  if (stride != 1) {
    side = conv_norm(m, name + ".downsample.0", name + ".downsample.1", x, cube(planes, 1, stride));
  }
  return relu(m, name + ".relu", binary(m, "Add", name, y, side));
}

}  // namespace

void build_resnet18(ModelBuilder& m, const Options& options) {
  build(m, options, {.blocks = {2, 2, 2, 2}});
}

void build_resnet50(ModelBuilder& m, const Options& options) {
  build(m, options, {.blocks = {3, 4, 6, 3}, .bottleneck = true});
}

void build_resnext50(ModelBuilder& m, const Options& options) {
  build(m, options, {.blocks = {3, 4, 6, 3}, .bottleneck = true, .groups = 32, .width = 4});
}

void build_r3d_18(ModelBuilder& m, const Options& options) {
  const Tensor video =
      m.input("input", Element::kFloat, {options.batch, 3, 16, options.image, options.image});
  const ConvSpec stem = {.out = 64,
                         .kernel = {3, 7, 7},
                         .stride = {1, 2, 2},
                         .pad = {1, 3, 3},
                         .groups = 1,
                         .bias = false,
                         .gain = kLinearGain};
  Tensor x = relu(m, "stem.2", conv_norm(m, "stem.0", "stem.1", video, stem));
  for (int64_t layer = 0; layer < 4; ++layer) {
    for (int64_t block = 0; block < 2; ++block) {
      const int64_t stride = layer > 0 && block == 0 ? 2 : 1;
      x = video_block(m, fmt::format("layer{}.{}", layer + 1, block), x, int64_t{64} << layer,
                      stride);
    }
  }
  classify(m, "fc", x, 400);
}

}  // namespace tenon::zoo
