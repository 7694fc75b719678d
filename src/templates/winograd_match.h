// SPDX-License-Identifier: Apache-2.0
// Convolutions that Winograd's algorithms take, and whether one of these is estimated to be faster
// than the direct one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/algorithms/algorithms.h"
#include "schedule/state.h"
#include "templates/anchor.h"
#include "templates/template.h"

namespace tenon::templates {

struct WinogradConv {
  Chain chain;
  te::OpRef inner;  // what the algorithm computes: the anchor, or its undilated form
  te::Tensor x, w;
  double taps_used = 1;         // share of the taps that do not fall on padding
  int64_t stride = 1;           // along the dimensions of tiles
  size_t dims = 0;              // dimensions of tiles: 1 or 2
  size_t others = 0;            // spatial dimensions before them
  std::vector<int64_t> phases;  // of a dilated convolution, by spatial dimension
  std::vector<std::string> like_output;
  int64_t phases_of(size_t spatial) const { return phases.empty() ? 1 : phases[spatial]; }
};

// Along trailing dimensions of 3 taps side by side; variant itself checks the rest.
std::optional<WinogradConv> match_winograd(const schedule::State& initial);

// Nothing: the direct one.
std::optional<schedule::Algorithm> choose_winograd(const WinogradConv& c, const Request& request,
                                                   const target::Cpu& t);

}  // namespace tenon::templates
