// SPDX-License-Identifier: Apache-2.0
// What the axes of tensors are to the work of a program: its anchor, the reduction with most
// operations (else the op with most). Found from how the anchor reads its operands, not from names.
//
//   Y[n,k,y,x] = sum(c,r,s) X[n,c,2*y+r,2*x+s] * W[k,c,r,s]
//     n rows, k columns, y and x windows, c depth, r and s taps; Y's y and X's third dimension are one axis
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/state.h"

namespace tenon::cost {

enum class AxisRole : uint8_t {
  kShared,   // of both operands: a batch of products, or depthwise channels
  kRows,     // of the first operand alone
  kColumns,  // of the second alone
  kWindow,   // a position that slides with a tap
  kDepth,    // summed
  kTap,      // summed, and slides
  kOther,    // no axis of the anchor
};
inline constexpr size_t kAxisRoles = 7;

struct AxisFacts {
  int64_t extent = 1;
  AxisRole role = AxisRole::kOther;
  int8_t axis = -1;  // of the anchor, spatial ones first; -1: none of them
  // How many neighbours along the axis this one steps over: 16 for C / 16 of N C/16 H W 16.
  int64_t unit = 1;
};

struct AnchorAxis {
  AxisFacts facts;
  int64_t step = 1;  // stride of a window, dilation of a tap
};

struct Roles {
  schedule::StageId anchor = -1;  // -1: nothing is computed
  std::vector<AnchorAxis> axes;   // of the anchor, spatial ones first
  // Of each stage: its dimensions, which are its spatial loops if it is computed, then the axes it reduces over.
  std::vector<std::vector<AxisFacts>> stages;
};
Roles roles_of(const schedule::State& s);

}  // namespace tenon::cost
