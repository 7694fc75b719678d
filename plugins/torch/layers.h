// SPDX-License-Identifier: Apache-2.0
// The networks that are trained here share this.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace tenon {

// Matrices that lie one behind the other, to be learned; rows and columns of each.
using Shapes = std::vector<std::pair<int64_t, int64_t>>;
std::vector<torch::Tensor> read_parts(const Shapes& shapes, const float* weights);
void write_parts(const std::vector<torch::Tensor>& parts, float* to);
std::vector<torch::Tensor> copies(const std::vector<torch::Tensor>& tensors);

torch::Tensor indices(const std::vector<int64_t>& v);

// Products as convolutions of one pixel: libtorch leaves those to oneDNN, where a plain product is
// what the system's BLAS makes of it, up to six times slower.
torch::Tensor kernel_of(const torch::Tensor& weights);
torch::Tensor convolved(const torch::Tensor& in, const torch::Tensor& kernel,
                        const torch::Tensor& bias);
// in * weights + bias
torch::Tensor dense(const torch::Tensor& in, const torch::Tensor& weights,
                    const torch::Tensor& bias);

}  // namespace tenon
