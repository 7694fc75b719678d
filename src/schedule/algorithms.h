// SPDX-License-Identifier: Apache-2.0
// The algorithms of `variant`. Winograd's minimal filtering (Lavin and Gray 2015): m outputs of a filter of 3 taps from
// m + 2 inputs with m + 2 multiplications instead of 3 m, along one dimension or along two.
//
//   y = A^T [ (G w) * (B^T x) ]
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
enum class Algorithm : uint8_t { kWinograd2, kWinograd4 };

struct AlgorithmRow {
  Algorithm algorithm;
  std::string_view name;
  int64_t tile;   // outputs of one tile, along a dimension
  double growth;  // of the rounding error over that of the definition, at most, as measured
};
std::span<const AlgorithmRow> algorithms();  // in the order of Algorithm
const AlgorithmRow& row_of(Algorithm a);

inline constexpr int64_t kWinogradTaps = 3;

using Matrix = std::vector<std::vector<double>>;
struct WinogradMatrices {
  Matrix b;  // B^T: (m + 2) x (m + 2), of the input
  Matrix g;  // G: (m + 2) x 3, of the weights
  Matrix a;  // A^T: m x (m + 2), of the output
};
const WinogradMatrices& winograd_matrices(Algorithm a);

// What a constant is turned into when the program is compiled: the last `dims` dimensions of 3 taps become leading ones
// of m + 2.
//   K C 3 3  =>  6 6 K C
class WeightTransform {
 public:
  WeightTransform(Algorithm algorithm, size_t dims) : algorithm_(algorithm), dims_(dims) {}
  std::vector<int64_t> shape(const std::vector<int64_t>& weights) const;
  ir::Array apply(const ir::Array& weights) const;  // in double, rounded once
  std::string text() const;                         // "winograd4 2"

 private:
  Algorithm algorithm_;
  size_t dims_;
};

}  // namespace tenon::schedule
