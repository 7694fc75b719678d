// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "zoo/families.h"
#include "zoo/layers.h"

namespace tenon::zoo {
namespace {

constexpr int64_t kGrowth = 32;

Tensor norm_relu_conv(ModelBuilder& m, const std::string& name, const std::string& number,
                      const Tensor& x, const ConvSpec& spec) {
  Tensor y = batch_norm(m, name + ".norm" + number, x);
  y = relu(m, name + ".relu" + number, y);
  return conv(m, name + ".conv" + number, y, spec);
}

Tensor dense_layer(ModelBuilder& m, const std::string& name, const Tensor& x) {
  const Tensor y = norm_relu_conv(m, name, "1", x, square(4 * kGrowth, 1));
  return norm_relu_conv(m, name, "2", y, square(kGrowth, 3));
}

}  // namespace

void build_densenet121(ModelBuilder& m, const Options& options) {
  const Tensor image =
      m.input("input", Element::kFloat, {options.batch, 3, options.image, options.image});
  ConvSpec first = square(64, 7, 2);
  first.gain = kLinearGain;
  Tensor x = batch_norm(m, "features.norm0", conv(m, "features.conv0", image, first));
  x = relu(m, "features.relu0", x);
  x = max_pool(m, "features.pool0", x, {.kernel = 3, .stride = 2, .pad = 1});
  const int64_t layers[] = {6, 12, 24, 16};
  for (int64_t block = 1; block <= 4; ++block) {
    // As PyTorch exports it: each layer reads the concatenation of all before.
    std::vector<Tensor> parts = {x};
    for (int64_t layer = 1; layer <= layers[block - 1]; ++layer) {
      const std::string name = fmt::format("features.denseblock{}.denselayer{}", block, layer);
      const Tensor all = parts.size() == 1 ? parts[0] : concat(m, name, parts, 1);
      parts.push_back(dense_layer(m, name, all));
    }
    x = concat(m, fmt::format("features.denseblock{}", block), parts, 1);
    if (block < 4) {
      const std::string name = fmt::format("features.transition{}", block);
      x = norm_relu_conv(m, name, "", x, square(x.shape[1] / 2, 1));
      x = average_pool(m, name + ".pool", x, {.kernel = 2, .stride = 2});
    }
  }
  x = relu(m, "relu", batch_norm(m, "features.norm5", x));
  classify(m, "classifier", x, 1000);
}

}  // namespace tenon::zoo
