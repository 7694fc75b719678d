// SPDX-License-Identifier: Apache-2.0
// The losses of src/cost/losses.h by libtorch: of the scores [batch, outputs] of some lessons, which
// go by their numbers. Labels that are not known do not take part.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "cost/models/attention_trainer.h"

namespace tenon::attention {

// Each pair of one task with different labels weighs by what swapping it would change; the sum over
// tasks and outputs.
torch::Tensor lambda_rank_loss(const tenon_attention_lessons& lessons,
                               const std::vector<int64_t>& batch, const torch::Tensor& scores,
                               uint32_t outputs);
torch::Tensor value_loss(const tenon_attention_lessons& lessons, const std::vector<int64_t>& batch,
                         const torch::Tensor& scores, uint32_t outputs);

}  // namespace tenon::attention
