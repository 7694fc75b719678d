// SPDX-License-Identifier: Apache-2.0
// Which sizes of a model are compiled, and what becomes of the others: they are padded to a larger one, or batches are put
// together of smaller ones (docs/dynamic-shapes.md).
//
//   seq 1..512      1, 2, 3, 4, 5, 6, 8, 10, 12, .., 512 are compiled, 7 is padded to 8
#pragma once

#include <vector>

#include "compile/padding.h"
#include "compile/size_grid.h"
#include "compile/sizes.h"
#include "graph/define.h"
#include "graph/passes.h"

namespace tenon::compile {

// It says how the sizes of one dimension are padded.
struct PaddedDim {
  size_t dim = 0;
  Padding padding;
};

// Which sizes are compiled, and what becomes of the others.
struct Chosen {
  Dims dims;
  std::vector<PaddedDim> padded;
  int32_t batch = -1;  // the dimension whose sizes are put together
};

// Throws UserError where nothing leaves few enough combinations.
Chosen choose_sizes(const OpenModel& model, const Dims& dims, const graph::Evaluator& evaluate);

// The model at these sizes with all of its constants folded: importing folds small ones only.
graph::Graph folded_at(const OpenModel& model, const std::vector<int64_t>& sizes,
                       const graph::Evaluator& evaluate);

}  // namespace tenon::compile
