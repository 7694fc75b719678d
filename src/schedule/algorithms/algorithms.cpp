// SPDX-License-Identifier: Apache-2.0
#include "schedule/algorithms/algorithms.h"

#include <array>

#include "support/check.h"

namespace tenon::schedule {
namespace {

constexpr AlgorithmRow kRows[] = {
    {Algorithm::kWinograd2, "winograd2", 2, 4},
    {Algorithm::kWinograd4, "winograd4", 4, 32},
    {Algorithm::kStrassen, "strassen", 0, 4},
    {Algorithm::kPolyphase2, "polyphase2", 2, 4, 2},
    {Algorithm::kPolyphase4, "polyphase4", 4, 32, 2},
    {Algorithm::kIm2col, "im2col", 0, 1},
    {Algorithm::kPhases, "phases", 0, 1},
    {Algorithm::kBfloat16, "bfloat16", 0, 65536},
    {Algorithm::kGemm, "gemm", 0, 1},
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

// Points 0, 1 and infinity of the even inputs, then the odd ones.
const WinogradMatrices kTwoOfFive = {
    {{1, 0, -1, 0, 0}, {0, 0, 1, 0, 0}, {0, 0, -1, 0, 1}, {0, 1, 0, 0, 0}, {0, 0, 0, 1, 0}},
    {{1, 0, 0}, {1, 0, 1}, {0, 0, 1}, {0, 1, 0}, {0, 1, 0}},
    {{1, 1, 0, 1, 0}, {0, 1, 1, 0, 1}},
};
// Points 0, 1, -1, 2 and infinity of the even inputs, then the odd ones.
const WinogradMatrices kFourOfNine = {
    {{2, 0, -1, 0, -2, 0, 1, 0, 0},
     {0, 0, -2, 0, -1, 0, 1, 0, 0},
     {0, 0, 2, 0, -3, 0, 1, 0, 0},
     {0, 0, -1, 0, 0, 0, 1, 0, 0},
     {0, 0, 2, 0, -1, 0, -2, 0, 1},
     {0, 1, 0, 0, 0, 0, 0, 0, 0},
     {0, 0, 0, 1, 0, 0, 0, 0, 0},
     {0, 0, 0, 0, 0, 1, 0, 0, 0},
     {0, 0, 0, 0, 0, 0, 0, 1, 0}},
    {{1.0 / 2, 0, 0},
     {-1.0 / 2, 0, -1.0 / 2},
     {-1.0 / 6, 0, 1.0 / 6},
     {1.0 / 6, 0, 1.0 / 3},
     {0, 0, 1},
     {0, 1, 0},
     {0, 1, 0},
     {0, 1, 0},
     {0, 1, 0}},
    {{1, 1, 1, 1, 0, 1, 0, 0, 0},
     {0, 1, -1, 2, 0, 0, 1, 0, 0},
     {0, 1, 1, 4, 0, 0, 0, 1, 0},
     {0, 1, -1, 8, 1, 0, 0, 0, 1}},
};

const StrassenMatrices kSeven = {
    {{1, 0, 0, 1},
     {0, 0, 1, 1},
     {1, 0, 0, 0},
     {0, 0, 0, 1},
     {1, 1, 0, 0},
     {-1, 0, 1, 0},
     {0, 1, 0, -1}},
    {{1, 0, 0, 1},
     {1, 0, 0, 0},
     {0, 1, 0, -1},
     {-1, 0, 1, 0},
     {0, 0, 0, 1},
     {1, 1, 0, 0},
     {0, 0, 1, 1}},
    {{1, 0, 0, 1, -1, 0, 1}, {0, 0, 1, 0, 1, 0, 0}, {0, 1, 0, 1, 0, 0, 0}, {1, -1, 1, 0, 0, 1, 0}},
};

ir::Array turn_taps(const ir::Array& weights, const Matrix& g, size_t dims, ir::Array out) {
  const auto points = static_cast<int64_t>(g.size());
  const int64_t taps = dims == 2 ? kWinogradTaps * kWinogradTaps : kWinogradTaps;
  const int64_t filters = weights.elements() / taps;
  for (int64_t f = 0; f < filters; ++f) {
    std::array<double, kWinogradTaps * kWinogradTaps> w{};
    for (int64_t t = 0; t < taps; ++t) w[static_cast<size_t>(t)] = weights.get_double(f * taps + t);
    for (int64_t a = 0; a < points; ++a) {
      const auto& ga = g[static_cast<size_t>(a)];
      if (dims == 1) {
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

// Where a dimension lies in memory: elements in a step of it, and in all of it.
struct Steps {
  int64_t one = 1, extent = 1;
  Steps(const std::vector<int64_t>& shape, size_t dim) : extent(shape[dim]) {
    for (size_t d = dim + 1; d < shape.size(); ++d) one *= shape[d];
  }
};

// Element by element of the upper left quarter; what lies beyond a half that is shorter counts as zero.
ir::Array add_quarters(const ir::Array& weights, size_t row_dim, size_t column_dim, ir::Array out) {
  const Matrix& m = strassen_matrices().w;
  const std::vector<int64_t> quarter(out.shape().begin() + 1, out.shape().end());
  const Steps rows(weights.shape(), row_dim), columns(weights.shape(), column_dim);
  const int64_t elements = out.elements() / kStrassenProducts;
  std::vector<int64_t> at(quarter.size(), 0);
  for (int64_t i = 0; i < elements; ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < at.size(); ++d) offset = offset * weights.shape()[d] + at[d];
    std::array<double, 4> w{};
    for (size_t q = 0; q < 4; ++q) {
      const int64_t down = q < 2 ? 0 : quarter[row_dim];
      const int64_t right = q % 2 == 0 ? 0 : quarter[column_dim];
      if (at[row_dim] + down >= rows.extent || at[column_dim] + right >= columns.extent) continue;
      w[q] = weights.get_double(offset + down * rows.one + right * columns.one);
    }
    for (size_t p = 0; p < m.size(); ++p) {
      out.set_double(static_cast<int64_t>(p) * elements + i,
                     m[p][0] * w[0] + m[p][1] * w[1] + m[p][2] * w[2] + m[p][3] * w[3]);
    }
    for (size_t d = at.size(); d-- > 0 && ++at[d] == quarter[d];) at[d] = 0;
  }
  return out;
}

}  // namespace

std::span<const AlgorithmRow> algorithms() { return kRows; }
const AlgorithmRow& row_of(Algorithm a) { return kRows[static_cast<size_t>(a)]; }

const WinogradMatrices& winograd_matrices(Algorithm a) {
  switch (a) {
    case Algorithm::kWinograd2:
      return kTwo;
    case Algorithm::kPolyphase2:
      return kTwoOfFive;
    case Algorithm::kPolyphase4:
      return kFourOfNine;
    default:
      return kFour;
  }
}
const StrassenMatrices& strassen_matrices() { return kSeven; }

std::vector<int64_t> WeightTransform::shape(const std::vector<int64_t>& weights) const {
  if (is_winograd(algorithm_)) {
    std::vector<int64_t> out(dims_.size(), points_of(row_of(algorithm_)));
    out.insert(out.end(), weights.begin(),
               weights.end() - static_cast<std::ptrdiff_t>(dims_.size()));
    return out;
  }
  if (algorithm_ == Algorithm::kBfloat16) return weights;
  std::vector<int64_t> out{kStrassenProducts};
  out.insert(out.end(), weights.begin(), weights.end());
  for (const size_t d : dims_) out[1 + d] = half_of(out[1 + d]);
  return out;
}

ir::DType WeightTransform::dtype(ir::DType weights) const {
  return algorithm_ == Algorithm::kBfloat16 ? ir::kBF16 : weights;
}

ir::Array WeightTransform::apply(const ir::Array& weights) const {
  ir::Array out(dtype(weights.dtype()), shape(weights.shape()));
  if (algorithm_ == Algorithm::kBfloat16) {
    for (int64_t i = 0; i < out.elements(); ++i) out.set_double(i, weights.get_double(i));
    return out;
  }
  if (!is_winograd(algorithm_)) return add_quarters(weights, dims_[0], dims_[1], std::move(out));
  return turn_taps(weights, winograd_matrices(algorithm_).g, dims_.size(), std::move(out));
}

std::string WeightTransform::text() const {
  std::string out(row_of(algorithm_).name);
  for (const size_t d : dims_) out += " " + std::to_string(d);
  return out;
}

}  // namespace tenon::schedule
