// SPDX-License-Identifier: Apache-2.0
#include "attention_losses.h"

#include <map>
#include <utility>

#include "layers.h"

namespace tenon::attention {
namespace {

constexpr double kLeastChance = 1e-10;
constexpr double kLeastWorth = 1.0 / 64;

// It takes one list, which it sorts by score. Labels below 0 count as 0.
torch::Tensor lambda_rank(const torch::Tensor& scores, const torch::Tensor& labels) {
  const int64_t n = scores.numel();
  const auto order = std::get<1>(torch::sort(scores.detach(), true, 0, true));
  const torch::Tensor s = scores.index_select(0, order);
  const torch::Tensor gains = torch::exp2(labels.index_select(0, order).clamp_min(0)) - 1;
  const torch::Tensor discounts = torch::arange(2, n + 2).to(torch::kFloat).log2().reciprocal();
  const torch::Tensor best = std::get<0>(torch::sort(gains, 0, true)).dot(discounts);
  const torch::Tensor gain = gains / best.clamp_min(kLeastChance);
  const auto apart = [](const torch::Tensor& v) { return v.unsqueeze(1) - v.unsqueeze(0); };
  // A pair counts where the row's label is the better one.
  const torch::Tensor weights = apart(discounts).abs() * apart(gain).clamp_min(0);
  const torch::Tensor right = torch::sigmoid(apart(s).clamp(-1e8, 1e8)).clamp_min(kLeastChance);
  return -(weights * right.log2()).sum();
}

}  // namespace

torch::Tensor lambda_rank_loss(const tenon_attention_lessons& lessons,
                               const std::vector<int64_t>& batch, const torch::Tensor& scores,
                               uint32_t outputs) {
  // Places in the batch of the sets of a task whose label of an output is known.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<int64_t>> lists;
  for (size_t i = 0; i < batch.size(); ++i) {
    for (uint32_t o = 0; o < outputs; ++o) {
      if (lessons.labels[batch[i] * outputs + o] < 0) continue;
      lists[{lessons.tasks[batch[i]], o}].push_back(static_cast<int64_t>(i));
    }
  }
  torch::Tensor sum = (scores * 0).sum();  // there may be no list
  for (const auto& [which, places] : lists) {
    const uint32_t o = which.second;
    std::vector<float> labels;
    for (const int64_t p : places) {
      labels.push_back(lessons.labels[batch[static_cast<size_t>(p)] * outputs + o]);
    }
    sum = sum +
          lambda_rank(scores.select(1, o).index_select(0, indices(places)), torch::tensor(labels));
  }
  return sum;
}

torch::Tensor value_loss(const tenon_attention_lessons& lessons, const std::vector<int64_t>& batch,
                         const torch::Tensor& scores, uint32_t outputs) {
  std::vector<float> labels;
  for (const int64_t b : batch) {
    labels.insert(labels.end(), lessons.labels + b * outputs, lessons.labels + (b + 1) * outputs);
  }
  const torch::Tensor label = torch::tensor(labels).reshape({-1, outputs});
  const torch::Tensor known = (label >= 0).to(torch::kFloat);
  const torch::Tensor worth = label.clamp_min(kLeastWorth);
  return (known * worth * (scores - worth.log()).abs()).sum() / known.sum().clamp_min(1);
}

}  // namespace tenon::attention
