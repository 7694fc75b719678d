// SPDX-License-Identifier: Apache-2.0
#include "schedule/algorithms.h"

#include <array>

#include "support/check.h"

namespace tenon::schedule {
namespace {

constexpr AlgorithmRow kRows[] = {
    {Algorithm::kWinograd2, "winograd2", 2, 4},
    {Algorithm::kWinograd4, "winograd4", 4, 32},
};

// Points 0, 1, -1 and infinity.
const WinogradMatrices kTwo = {
    {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
    {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
    {{1, 1, 1, 0}, {0, 1, -1, -1}},
};
// Points 0, 1, -1, 2, -2 and infinity.
const WinogradMatrices kFour = {
    {{4, 0, -5, 0, 1, 0},
     {0, -4, -4, 1, 1, 0},
     {0, 4, -4, -1, 1, 0},
     {0, -2, -1, 2, 1, 0},
     {0, 2, -1, -2, 1, 0},
     {0, 4, 0, -5, 0, 1}},
    {{1.0 / 4, 0, 0},
     {-1.0 / 6, -1.0 / 6, -1.0 / 6},
     {-1.0 / 6, 1.0 / 6, -1.0 / 6},
     {1.0 / 24, 1.0 / 12, 1.0 / 6},
     {1.0 / 24, -1.0 / 12, 1.0 / 6},
     {0, 0, 1}},
    {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}},
};

}  // namespace

std::span<const AlgorithmRow> algorithms() { return kRows; }
const AlgorithmRow& row_of(Algorithm a) { return kRows[static_cast<size_t>(a)]; }

const WinogradMatrices& winograd_matrices(Algorithm a) {
  return a == Algorithm::kWinograd2 ? kTwo : kFour;
}

std::vector<int64_t> WeightTransform::shape(const std::vector<int64_t>& weights) const {
  std::vector<int64_t> out(dims_, row_of(algorithm_).tile + kWinogradTaps - 1);
  out.insert(out.end(), weights.begin(), weights.end() - static_cast<std::ptrdiff_t>(dims_));
  return out;
}

ir::Array WeightTransform::apply(const ir::Array& weights) const {
  const Matrix& g = winograd_matrices(algorithm_).g;
  const auto points = static_cast<int64_t>(g.size());
  const int64_t taps = dims_ == 2 ? kWinogradTaps * kWinogradTaps : kWinogradTaps;
  const int64_t filters = weights.elements() / taps;
  ir::Array out(weights.dtype(), shape(weights.shape()));
  for (int64_t f = 0; f < filters; ++f) {
    std::array<double, kWinogradTaps * kWinogradTaps> w{};
    for (int64_t t = 0; t < taps; ++t) w[static_cast<size_t>(t)] = weights.get_double(f * taps + t);
    for (int64_t a = 0; a < points; ++a) {
      const auto& ga = g[static_cast<size_t>(a)];
      if (dims_ == 1) {
        out.set_double(a * filters + f, ga[0] * w[0] + ga[1] * w[1] + ga[2] * w[2]);
        continue;
      }
      std::array<double, kWinogradTaps> row{};
      for (size_t s = 0; s < kWinogradTaps; ++s) {
        row[s] = ga[0] * w[s] + ga[1] * w[3 + s] + ga[2] * w[6 + s];
      }
      for (int64_t b = 0; b < points; ++b) {
        const auto& gb = g[static_cast<size_t>(b)];
        out.set_double((a * points + b) * filters + f,
                       gb[0] * row[0] + gb[1] * row[1] + gb[2] * row[2]);
      }
    }
  }
  return out;
}

std::string WeightTransform::text() const {
  return std::string(row_of(algorithm_).name) + " " + std::to_string(dims_);
}

}  // namespace tenon::schedule
