// SPDX-License-Identifier: Apache-2.0
// How an operand of a tiled stage is best stored: in the order in which the loops read it (Zheng et al., "Ansor",
// layout rewrite of constants).
//
//   C[i, j] += A[i, k] * W[k, j], loops i0 j0 i1 j1 k0 i2 j2 k1 i3 j3  =>  W stored j0 j1 k0 j2 k1 j3
#pragma once

#include "search/sketch/factors.h"
#include "search/sketch/sketch.h"

namespace tenon::search {

struct Operand {
  schedule::StageId tensor;
  int64_t reuse;  // reads of each element, by spatial loops
  struct Part {
    int64_t extent;
    size_t position;  // of its loop in the nest
  };
  std::vector<std::vector<Part>> dims;  // of the tensor, each with its parts from the outermost on
};

// Inputs that the stage alone reads, at one place, by indices that are sums of whole axes.
std::vector<Operand> find_operands(const Sketch& s, const TiledStage& t,
                                   const schedule::State& state,
                                   const std::vector<Factors>& factors);

std::vector<schedule::Step> layout_steps(schedule::StageRef stage, const Operand& o);

}  // namespace tenon::search
