// SPDX-License-Identifier: Apache-2.0
// Convolutional networks without normalisation.
#include <fmt/format.h>

#include "zoo/families.h"
#include "zoo/layers.h"

namespace tenon::zoo {
namespace {

Tensor conv_relu(ModelBuilder& m, const std::string& name, const Tensor& x, ConvSpec spec) {
  spec.bias = true;
  return relu(m, name, conv(m, name, x, spec));
}

Tensor fire(ModelBuilder& m, int64_t number, const Tensor& x, int64_t squeeze, int64_t expand) {
  const std::string name = fmt::format("features.{}", number);
  const Tensor y = conv_relu(m, name + ".squeeze", x, square(squeeze, 1));
  return concat(m, name,
                {conv_relu(m, name + ".expand1x1", y, square(expand, 1)),
                 conv_relu(m, name + ".expand3x3", y, square(expand, 3))},
                1);
}

ConvSpec unpadded(int64_t out, int64_t k, int64_t s) {
  ConvSpec spec = square(out, k, s);
  spec.pad = {0, 0};
  return spec;
}

}  // namespace

void build_vgg16(ModelBuilder& m, const Options& options) {
  Tensor x = m.input("input", Element::kFloat, {options.batch, 3, options.image, options.image});
  const std::vector<std::vector<int64_t>> groups = {
      {64, 64}, {128, 128}, {256, 256, 256}, {512, 512, 512}, {512, 512, 512}};
  int number = 0;
  for (const auto& group : groups) {
    for (const int64_t out : group) {
      x = conv_relu(m, fmt::format("features.{}", number), x, square(out, 3));
      number += 2;
    }
    x = max_pool(m, fmt::format("features.{}", number++), x, {.kernel = 2, .stride = 2});
  }
  x = average_pool(m, "avgpool", x, {.kernel = 1, .stride = 1});
  x = flatten(m, "flatten", x);
  x = relu(m, "classifier.1", linear(m, "classifier.0", x, 4096, kReluGain));
  x = relu(m, "classifier.4", linear(m, "classifier.3", x, 4096, kReluGain));
  m.output(linear(m, "classifier.6", x, 1000), "logits");
}

void build_squeezenet1_1(ModelBuilder& m, const Options& options) {
  const PoolSpec halve = {.kernel = 3, .stride = 2, .pad = 0, .ceil = true};
  Tensor x = m.input("input", Element::kFloat, {options.batch, 3, options.image, options.image});
  x = conv_relu(m, "features.0", x, unpadded(64, 3, 2));
  x = max_pool(m, "features.2", x, halve);
  x = fire(m, 3, x, 16, 64);
  x = fire(m, 4, x, 16, 64);
  x = max_pool(m, "features.5", x, halve);
  x = fire(m, 6, x, 32, 128);
  x = fire(m, 7, x, 32, 128);
  x = max_pool(m, "features.8", x, halve);
  x = fire(m, 9, x, 48, 192);
  x = fire(m, 10, x, 48, 192);
  x = fire(m, 11, x, 64, 256);
  x = fire(m, 12, x, 64, 256);
  x = conv_relu(m, "classifier.1", x, square(1000, 1));
  m.output(flatten(m, "flatten", global_average_pool(m, "classifier.3", x)), "logits");
}

void build_dqn(ModelBuilder& m, const Options& options) {
  Tensor x = m.input("frames", Element::kFloat, {options.batch, 4, 84, 84});
  x = conv_relu(m, "conv1", x, unpadded(32, 8, 4));
  x = conv_relu(m, "conv2", x, unpadded(64, 4, 2));
  x = conv_relu(m, "conv3", x, unpadded(64, 3, 1));
  x = flatten(m, "flatten", x);
  x = relu(m, "fc4", linear(m, "fc4", x, 512, kReluGain));
  m.output(linear(m, "fc5", x, 18), "q_values");
}

}  // namespace tenon::zoo
