// SPDX-License-Identifier: Apache-2.0
// A convolution by Winograd's algorithm as one kernel. A block has some channels and some tiles of a row of the output: it
// transforms what these tiles read of all input channels into shared memory, multiplies at all points of a tile at
// once, leaves the products in shared memory, and transforms them.
//
//   d, v1 in registers; v[p, c, t] in shared memory          a thread for each input channel and tile
//   for steps of c, the next weights under way               a thread for 4 channels x 4 tiles of a point
//       m[p, k, t] += w[p, c, k] * v[p, c, t]
//   y1 in registers; result to memory, with what follows     a thread for each output channel and tile
#pragma once

#include <optional>

#include "space/builder.h"
#include "target/target.h"
#include "templates/winograd_match.h"

namespace tenon::templates::gpu {

struct FusedTile {
  int64_t channels = 16, tiles = 8;  // of the output, for a block
  int64_t depth = 8;                 // input channels between two barriers
};

struct FusedSize {
  int64_t points = 6, tile = 4;         // along one dimension, of a tile and of what comes of it
  int64_t images = 1, in = 1, out = 1;  // channels of input and output
  int64_t rows = 1, columns = 1;        // of tiles of an image
  int64_t all_points() const { return points * points; }
};

// Nothing: this form is not for such a convolution.
std::optional<FusedSize> fused_size(const WinogradConv& c, const schedule::AlgorithmRow& row);

// The best that a block of the card has room for, and its time in clocks of a multiprocessor.
struct FusedChoice {
  FusedTile tile;
  double clocks = 0;
};
std::optional<FusedChoice> choose_fused(const FusedSize& s, const target::Gpu& gpu);

// After the variant and what it makes inline. The other sizes of a tile are asked for.
void write_fused(space::Builder& b, const WinogradConv& c, const FusedSize& s,
                 const FusedTile& rule);

}  // namespace tenon::templates::gpu
