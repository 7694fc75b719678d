// SPDX-License-Identifier: Apache-2.0
#include "tune/population.h"

#include <algorithm>

namespace tenon::tune {
namespace {

constexpr size_t kLeastPopulation = 128, kFirstPopulation = 512;
constexpr size_t kFirstPerThread = 256;
// On an H200 with 16 cores a population of a tenth measured 11 % more programs of three networks, two seeds each, and the
// best of their kernels were as fast, within 1 %.
constexpr double kShareOfOwn = 0.5, kShareOfBuilders = 0.125;
constexpr double kLeastSeconds = 1e-3;  // that a ratio is made of

}  // namespace

Population::Population(size_t most, int threads, Cores cores)
    : most_(most),
      share_(cores == Cores::kOwn ? kShareOfOwn : kShareOfBuilders),
      size_(std::min(kFirstPopulation, kFirstPerThread * static_cast<size_t>(threads))) {}

size_t Population::of_batch(int64_t batch, int64_t round) const {
  const size_t whole = std::min(size_, most_);
  const auto part =
      whole * static_cast<size_t>(batch) / static_cast<size_t>(std::max<int64_t>(1, round));
  return std::max(part, std::min(kLeastPopulation, whole));
}

void Population::adapt(double searched_s, double measured_s) {
  const double ratio = searched_s / std::max(measured_s, kLeastSeconds);
  const double scaled = static_cast<double>(size_) * share_ / std::max(ratio, kLeastSeconds);
  const size_t most = std::min(2 * size_, most_);
  size_ = std::clamp(static_cast<size_t>(std::min(scaled, 1e6)), std::min(kLeastPopulation, most),
                     most);
}

}  // namespace tenon::tune
