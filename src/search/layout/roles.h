// SPDX-License-Identifier: Apache-2.0
// What the tensors at the edge of a task are to its complex operators (convolutions and matrix products; Xu et al.,
// "ALT", section 4): which of their dimensions are cut into tiles, which tiles are shared, and in which order the parts
// are stored. Element-wise work behind an operator follows its result, what is read through padding follows the operand.
//
//   R = relu(conv(pad(X), W) + S)   =>  R and S: n whole, y by h_t, x by w_t, k by o_t
//                                       X:       n whole, y and x beside h_t and w_t, c by i_t
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "te/dag.h"

namespace tenon::search {

// What a factor cuts; agents have one policy for each.
enum class TileKind : uint8_t { kSpatial, kOutChannel, kInChannel, kRow, kColumn, kDepth, kHalo };
inline constexpr size_t kTileKinds = 7;

struct Tile {
  std::string name;  // "h_t"
  TileKind kind;
  int64_t extent;
  int64_t bytes;  // of an element of the tensor that is cut
};

// One dimension of an edge, in the order of the template.
struct EdgeDim {
  size_t dim;
  int tile = kOutside;                 // in Roles::tiles, or one of:
  static constexpr int kOutside = -1;  // never cut, among the outer parts
  static constexpr int kInside = -2;   // never cut, among the inner parts
  // Of a window that slides: output tile t reads elements stride*t .. stride*t + window - 1. 0: not such a dimension.
  int64_t stride = 0, window = 0;
};

struct Edge {
  std::string tensor;
  std::vector<int64_t> shape;
  std::vector<EdgeDim>
      dims;              // outer parts are stored in this order, then inner parts in this order
  bool output = false;   // an output, or stored like one
  bool sliding = false;  // its positions may be stored whole, in tiles, or in tiles with their halo
  bool direct = false;   // only the operator reads it, and nothing lies between
};

struct Roles {
  std::vector<Tile> tiles;
  std::vector<Edge> edges;
  std::vector<double>
      context;  // of the operators, scaled to about 0..2; always kContextSize numbers
};
inline constexpr size_t kContextSize = 20;

// Nothing for dags without a complex operator at their edge.
std::optional<Roles> find_roles(const te::ComputeDag& dag);

}  // namespace tenon::search
