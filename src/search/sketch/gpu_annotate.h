// SPDX-License-Identifier: Apache-2.0
// From a sketch for a GPU to a program: what is planned for each stage (sketch.h) is written with its
// sizes, threads, memory and unrolled loops as holes; each stage that is left is a kernel with a few
// elements per thread. Sizes are drawn within the threads, registers and shared memory of the target.
//
//   tile C     =>  blocks, virtual threads, threads, registers; operands fetched into shared memory
//   share C    =>  parts of each sum by the threads of a block, which add them up
//   .. split   =>  blocks have parts of each sum, and a second kernel adds up in a fixed order
#pragma once

#include "search/sketch/sketch.h"
#include "space/builder.h"

namespace tenon::search {

// Goes on from the steps of the sketch. `constants_in_loop_order`: those that tiles read are stored
// as they are fetched.
void annotate_gpu(space::Builder& b, const Sketch& s, bool constants_in_loop_order);

int64_t elements_of(const std::vector<te::Axis>& axes);

// Leading axes of `out` that tell rows apart, each of which has one result of `op`; 0: there are none.
size_t row_axes(const te::ComputeDag& dag, const te::ComputeOp& op, const te::ComputeOp& out);

// Lengths of parts of a sum along its longest axis that blocks may have; none: it is not split.
std::vector<int64_t> split_lengths(const te::ComputeOp& op);

// Loops whose values choose among the rows of a small matrix, once all that lies between
// elements is inlined.
std::vector<schedule::LoopId> matrix_loops(const schedule::State& s, schedule::StageId id);

}  // namespace tenon::search
