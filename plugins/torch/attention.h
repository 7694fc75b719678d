// SPDX-License-Identifier: Apache-2.0
// The network of src/cost/models/attention_network.h by libtorch, and its training as in TLP: Adam,
// gradients clipped, LambdaRank or the value loss.
//
//   Attention net(sizes, weights, threads);
//   net.train(lessons);
//   net.copy_weights(weights);
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "cost/models/attention_trainer.h"

namespace tenon::attention {

class Sets;

class Attention {
 public:
  Attention(const tenon_attention_sizes& sizes, const float* weights, uint32_t threads);

  void train(const tenon_attention_lessons& lessons);
  // It takes all lessons as one batch, and returns the gradient by each weight in `gradient`.
  double loss(const tenon_attention_lessons& lessons, float* gradient);
  // It answers for these sets, which go by their numbers: outputs of a set side by side.
  std::vector<float> score(const tenon_row_sets& sets, const std::vector<int64_t>& asked);
  void copy_weights(float* to) const;

 private:
  // Leaves the gradients of a batch with the parts and returns its loss.
  double descend(const tenon_attention_lessons& lessons, const Sets& sets,
                 const std::vector<int64_t>& batch);

  tenon_attention_sizes sizes_;
  std::vector<torch::Tensor> parts_;  // in the order of attention_network.h
  uint32_t threads_;                  // that share each batch
};

}  // namespace tenon::attention
