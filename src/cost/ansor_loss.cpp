// SPDX-License-Identifier: Apache-2.0
#include "cost/ansor_loss.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace tenon::cost {

bool ran(const Sample& s) { return std::isfinite(s.seconds) && s.seconds > 0; }

std::vector<float> labels_of(std::span<const Sample> samples) {
  std::unordered_map<std::string_view, double> best;
  for (const Sample& s : samples) {
    if (!ran(s)) continue;
    const auto [it, fresh] = best.emplace(s.task, s.seconds);
    if (!fresh) it->second = std::min(it->second, s.seconds);
  }
  std::vector<float> out;
  for (const Sample& s : samples) {
    out.push_back(ran(s) ? static_cast<float>(best.at(s.task) / s.seconds) : 0.0F);
  }
  return out;
}

void ansor_gradients(const Packs& packs, std::span<const float> predicted, Gradients& out) {
  out.first.resize(predicted.size());
  out.second.resize(predicted.size());
  double loss = 0, weight = 0;
  size_t row = 0;
  for (size_t p = 0; p < packs.rows.size(); ++p) {
    double score = 0;
    for (size_t r = 0; r < packs.rows[p]; ++r) score += predicted[row + r];
    const double y = packs.labels[p];
    const float first = static_cast<float>((score - y) * y);
    const float second = static_cast<float>(y * static_cast<double>(packs.rows[p]));
    for (size_t r = 0; r < packs.rows[p]; ++r, ++row) {
      out.first[row] = first;
      out.second[row] = second;
    }
    loss += y * (score - y) * (score - y);
    weight += y;
  }
  out.rmse = weight > 0 ? std::sqrt(loss / weight) : 0;
}

}  // namespace tenon::cost
