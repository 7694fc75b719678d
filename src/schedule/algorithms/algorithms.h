// SPDX-License-Identifier: Apache-2.0
// The algorithms of `variant`, as the small matrices that they consist of.
//
// Winograd's minimal filtering (Lavin and Gray 2015): m outputs of a filter of 3 taps from m + 2 inputs with m + 2
// multiplications instead of 3 m, along one dimension or along two.
//
//   y = A^T [ (G w) * (B^T x) ]
//
// With stride 2, by phases: outputs are those of two taps over even inputs plus those of one tap over odd ones, both
// side by side, so that m outputs take m + 1 and m multiplications.
//
// Three that change where numbers lie, not what is multiplied: im2col.h, phases.h and gemm.h.
//
// Strassen's product (1969), one level: quarters of matrices with 7 multiplications instead of 8.
//
//   c = C [ (A x) * (W w) ]
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/interp.h"

namespace tenon::schedule {

// Stored in traces: append only.
enum class Algorithm : uint8_t {
  kWinograd2,
  kWinograd4,
  kStrassen,
  kPolyphase2,
  kPolyphase4,
  kIm2col,
  kPhases,
  kBfloat16,
  kGemm,
};

struct AlgorithmRow {
  Algorithm algorithm;
  std::string_view name;
  int64_t tile;         // Winograd's: outputs of one tile, along a dimension; 0 for others
  double error_factor;  // of the rounding error over that of the definition, at most, as measured
  int64_t stride = 1;   // Winograd's: of the convolution along the dimensions of tiles
};
std::span<const AlgorithmRow> algorithms();  // in the order of Algorithm
const AlgorithmRow& row_of(Algorithm a);
inline bool is_winograd(Algorithm a) { return row_of(a).tile > 0; }

using Matrix = std::vector<std::vector<double>>;

inline constexpr int64_t kWinogradTaps = 3;
struct WinogradMatrices {
  Matrix b;  // B^T: points x points, of the input
  Matrix g;  // G: points x 3, of the weights
  Matrix a;  // A^T: m x points, of the output
};
// What a tile reads along a dimension, and its products: m + 2, or 2 m + 1 with stride 2.
inline int64_t points_of(const AlgorithmRow& row) {
  return (row.tile - 1) * row.stride + kWinogradTaps;
}
const WinogradMatrices& winograd_matrices(Algorithm a);

// Quarters are upper left, upper right, lower left, lower right.
inline constexpr int64_t kStrassenProducts = 7;
struct StrassenMatrices {
  Matrix a;  // 7 x 4, of the first operand
  Matrix w;  // 7 x 4, of the weights
  Matrix c;  // 4 x 7, of the output
};
const StrassenMatrices& strassen_matrices();
// Of an extent that is cut in two: the second half may be one shorter, and is filled up with zeros.
inline int64_t half_of(int64_t extent) { return (extent + 1) / 2; }

// What a constant is turned into when the program is compiled. New dimensions lead.
//   winograd4, dims 2 and 3: each of 3 taps becomes 6 points       K C 3 3  =>  6 6 K C
//   strassen, dims 0 and 1: sums of quarters                       K N      =>  7 K/2 N/2
//   bfloat16: as they are, in that type
class WeightTransform {
 public:
  // `dims`: of the taps, the last ones; or of the rows and columns of a matrix.
  WeightTransform(Algorithm algorithm, std::vector<size_t> dims)
      : algorithm_(algorithm), dims_(std::move(dims)) {}
  std::vector<int64_t> shape(const std::vector<int64_t>& weights) const;
  ir::DType dtype(ir::DType weights) const;
  ir::Array apply(const ir::Array& weights) const;  // in double, rounded once
  std::string text() const;                         // "winograd4 2 3"

 private:
  Algorithm algorithm_;
  std::vector<size_t> dims_;
};

}  // namespace tenon::schedule
