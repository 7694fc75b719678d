// SPDX-License-Identifier: Apache-2.0
#include "tune/population.h"

#include <algorithm>

namespace tenon::tune {
namespace {

constexpr size_t kLeastPopulation = 128, kFirstPopulation = 512;
constexpr size_t kFirstPerThread = 256;
constexpr double kThinkingShare = 0.5;
constexpr double kLeastSeconds = 1e-3;  // that a ratio is made of

}  // namespace

Population::Population(size_t most, int threads)
    : most_(most),
      size_(std::min(kFirstPopulation, kFirstPerThread * static_cast<size_t>(threads))) {}

size_t Population::of_batch(int64_t batch, int64_t round) const {
  const size_t whole = std::min(size_, most_);
  const auto part =
      whole * static_cast<size_t>(batch) / static_cast<size_t>(std::max<int64_t>(1, round));
  return std::max(part, std::min(kLeastPopulation, whole));
}

void Population::adapt(double searched_s, double measured_s) {
  const double ratio = searched_s / std::max(measured_s, kLeastSeconds);
  const double scaled =
      static_cast<double>(size_) * kThinkingShare / std::max(ratio, kLeastSeconds);
  const size_t most = std::min(2 * size_, most_);
  size_ = std::clamp(static_cast<size_t>(std::min(scaled, 1e6)), std::min(kLeastPopulation, most),
                     most);
}

}  // namespace tenon::tune
