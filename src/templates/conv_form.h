// SPDX-License-Identifier: Apache-2.0
// What is known of a direct convolution before its first step: blocks of channels, lanes, what
// becomes of its padding, and the register tile by rule. conv.cpp writes the steps.
#pragma once

#include "schedule/dots.h"
#include "templates/conv_match.h"
#include "templates/template.h"

namespace tenon::templates {

// What the cores share out.
inline constexpr int64_t kChannels = 1, kPositions = 2;

// How products are taken: one at a time, or several that lie together.
struct Products {
  bool narrow = false;                    // of bfloat16, to which the input is copied
  std::optional<schedule::Dot> dot = {};  // that adds several
  int64_t group() const { return dot ? schedule::row_of(*dot).group : 1; }
};

struct ConvForm {
  Products products;
  int64_t x_block = 1, y_block = 1;  // of channels
  int64_t v = 1;                     // lanes, of output channels
  int64_t kvecs = 1;                 // vectors of output channels
  int64_t per_block = 1;             // vectors in a block of output channels
  int64_t ci = 1;                    // input channels that the innermost loop walks through
  int64_t x = 1, y = 1;              // positions that a register tile is cut from
  bool skip = false;                 // taps on padding are left out
  bool buffered = false;             // padded rows are copied
  bool skip_outer = false;     // taps on padding are left out in the dimensions before the rows
  size_t cut = 0;              // the spatial dimension that is cut into blocks of rows
  int64_t rows = 1;            // so many blocks
  RegisterTile tile;           // by rule
  int64_t most_vectors = 1;    // that a tile may have
  int64_t along = kPositions;  // by rule
  int64_t even_xn = 1;         // the rule's xn where the cores share out positions
};

// Nothing if the request stores tensors in another way than in blocks of channels, or if there is
// no vector of them.
std::optional<ConvForm> choose_form(const Conv& c, const Request& request, const target::Cpu& t,
                                    const Products& products);

// Vectors of columns of plain images (conv_columns.cpp); nothing where those of channels are better,
// or tensors are to be stored in another way.
std::optional<Written> write_conv_columns(const Conv& c, space::Builder& b, const Request& request);

// Positions are one dimension where the kernel is one point.
layout::Layout in_blocks(const Conv& c, layout::Layout l, int64_t block);
// The input with zeros beside it in the spatial dimensions from `first` on.
layout::Layout with_borders(const Conv& c, size_t first);

}  // namespace tenon::templates
