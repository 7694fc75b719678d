// SPDX-License-Identifier: Apache-2.0
// Steps that the templates of direct convolutions share.
#pragma once

#include "space/builder.h"

namespace tenon::templates {

// A register tile of channels: kb vectors of v output channels, ci input channels side by side.
struct ChannelTile {
  int64_t kvecs = 1;  // vectors of output channels, in all
  int64_t kb = 1, v = 1;
  int64_t in = 1, ci = 1;
  std::optional<schedule::Dot> dot = {};  // groups of input channels lie together for it
};

// K C taps..  =>  K/(kb*v) C/ci taps.. ci kb*v: one linear stream per tile.
void pack_weights(space::Builder& b, space::StageRef w, size_t rank, const ChannelTile& t);

// The loops of the sum `acc`, which is stored in vectors: input channels and taps outside the
// register tile, which is unrolled. `positions`: stored dimensions between the channels; `skip`:
// the last tap's loop is unrolled.
//   n k_0 y x k_1 | c r s  =>  n c.0 r s c.1 y x k_0 k_1
// The loop around the register tile, one step of which reads kb vectors of weights.
space::Loop tile_sum(space::Builder& b, space::StageRef acc, size_t positions, const ChannelTile& t,
                     size_t rank, bool skip);

}  // namespace tenon::templates
