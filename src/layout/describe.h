// SPDX-License-Identifier: Apache-2.0
// A layout in a few words, for people: the storage dimensions from outside to inside, by the letters of the logical ones.
//
//   N C H W               row-major
//   N H W C               channels last
//   N C/16 H W 16c        blocks of 16 channels: C/16 counts blocks, 16c the channels of one
//   N C/64 4c/16 H W 16c  blocks of blocks: 4 of 16 in each of 64
//   N C 1+H+1 W+3         padded: one row before and one after, three columns after
//   N C H~4 6h~ W         overlapping tiles of 6 rows, one every 4
//   N C (H W)/7 7(h w)    H and W as one dimension, cut every 7
//
// Layouts of one shape that have one description store every element at the same place.
#pragma once

#include <string>
#include <vector>

#include "layout/layout.h"

namespace tenon::layout {

// N C, and the spatial dimensions W, H W or D H W, for tensors of rank 3 to 5 of convolutions and pooling (`image`);
// M N and B M N for other matrices, d0 d1 .. for the rest.
std::vector<std::string> dimension_letters(size_t rank, bool image);

// `letters` has one for each logical dimension. What has no short form is to_string(l).
std::string describe(const Layout& l, const std::vector<std::string>& letters);

}  // namespace tenon::layout
