// SPDX-License-Identifier: Apache-2.0
// Layers that several families share. `name` is the prefix of the layer's weights and nodes, as PyTorch has it.
#pragma once

#include "zoo/model_builder.h"

namespace tenon::zoo {

// Factors on 1/sqrt(fan_in) that keep the second moment, by what the layer reads: activated values have lost a part
// of it.
inline constexpr double kReluGain = 1.4142135623730951;
inline constexpr double kSiluGain = 1.676;
inline constexpr double kLinearGain = 1.0;

struct ConvSpec {
  int64_t out = 1;
  Shape kernel = {1, 1};
  Shape stride = {1, 1};
  Shape pad = {0, 0};
  int64_t groups = 1;
  bool bias = false;
  double gain = kReluGain;
};

// k x k with stride s, padded so that s = 1 keeps the size.
ConvSpec square(int64_t out, int64_t k, int64_t s = 1);

Tensor conv(ModelBuilder& m, const std::string& name, const Tensor& x, const ConvSpec& spec);
// `scale` is the middle of the learned factor; small in front of a residual sum, or sums grow with depth.
Tensor batch_norm(ModelBuilder& m, const std::string& name, const Tensor& x, double scale = 1);

Tensor unary(ModelBuilder& m, const std::string& type, const std::string& name, const Tensor& x);
// The second operand is broadcast to the first.
Tensor binary(ModelBuilder& m, const std::string& type, const std::string& name, const Tensor& a,
              const Tensor& b);
Tensor relu(ModelBuilder& m, const std::string& name, const Tensor& x);
Tensor relu6(ModelBuilder& m, const std::string& name, const Tensor& x);
Tensor silu(ModelBuilder& m, const std::string& name, const Tensor& x);

struct PoolSpec {
  int64_t kernel = 2;
  int64_t stride = 2;
  int64_t pad = 0;
  bool ceil = false;
};
Tensor max_pool(ModelBuilder& m, const std::string& name, const Tensor& x, const PoolSpec& spec);
Tensor average_pool(ModelBuilder& m, const std::string& name, const Tensor& x,
                    const PoolSpec& spec);
Tensor global_average_pool(ModelBuilder& m, const std::string& name, const Tensor& x);
Tensor flatten(ModelBuilder& m, const std::string& name, const Tensor& x);
Tensor concat(ModelBuilder& m, const std::string& name, const std::vector<Tensor>& xs,
              int64_t axis);

// x: [N, in]; a Gemm with the weight as PyTorch stores it, [out, in].
Tensor linear(ModelBuilder& m, const std::string& name, const Tensor& x, int64_t out,
              double gain = kLinearGain);
// x: [.., in]; a MatMul and an Add, as PyTorch exports it for more than two dimensions.
Tensor dense(ModelBuilder& m, const std::string& name, const Tensor& x, int64_t out,
             double gain = kLinearGain);

Tensor reshape(ModelBuilder& m, const std::string& name, const Tensor& x, const Shape& shape);
Tensor transpose(ModelBuilder& m, const std::string& name, const Tensor& x, const Shape& perm);
// One index of an axis, which disappears.
Tensor select(ModelBuilder& m, const std::string& name, const Tensor& x, int64_t axis,
              int64_t index);

// Global average pool, flatten, linear, and the model's output.
void classify(ModelBuilder& m, const std::string& name, const Tensor& x, int64_t classes);

}  // namespace tenon::zoo
