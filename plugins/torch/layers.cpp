// SPDX-License-Identifier: Apache-2.0
#include "layers.h"

#include <algorithm>

namespace tenon {

std::vector<torch::Tensor> read_parts(const Shapes& shapes, const float* weights) {
  std::vector<torch::Tensor> parts;
  for (const auto& [rows, columns] : shapes) {
    parts.push_back(torch::from_blob(const_cast<float*>(weights), {rows, columns}).clone());
    parts.back().requires_grad_();
    weights += rows * columns;
  }
  return parts;
}

void write_parts(const std::vector<torch::Tensor>& parts, float* to) {
  for (const torch::Tensor& p : parts) {
    const auto* from = p.data_ptr<float>();
    to = std::copy(from, from + p.numel(), to);
  }
}

std::vector<torch::Tensor> copies(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> out;
  for (const torch::Tensor& t : tensors) out.push_back(t.detach().clone());
  return out;
}

torch::Tensor indices(const std::vector<int64_t>& v) { return torch::tensor(v, torch::kLong); }

torch::Tensor kernel_of(const torch::Tensor& weights) {
  return weights.t().reshape({weights.size(1), weights.size(0), 1, 1});
}

torch::Tensor convolved(const torch::Tensor& in, const torch::Tensor& kernel,
                        const torch::Tensor& bias) {
  const torch::Tensor pixels = in.reshape({in.size(0), in.size(1), 1, 1});
  return torch::conv2d(pixels, kernel, bias.squeeze(0)).flatten(1);
}

torch::Tensor dense(const torch::Tensor& in, const torch::Tensor& weights,
                    const torch::Tensor& bias) {
  return convolved(in, kernel_of(weights), bias);
}

}  // namespace tenon
