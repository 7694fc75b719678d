// SPDX-License-Identifier: Apache-2.0
// What templates for GPUs share: dealing out the elements of a stage to threads, and layouts of the
// edges as they are asked for.
#pragma once

#include <vector>

#include "space/builder.h"
#include "templates/template.h"

namespace tenon::templates::gpu {

// One element per thread: the spatial loops of `stage` as one, cut into blocks. Returns the loop of
// the threads, at which what belongs to one element can be computed; none of a stage without axes.
//   C[i, j]  =>  C i@j.0 on block_x, i@j.1 on thread_x
std::optional<space::Loop> bind_elements(space::Builder& b, space::StageRef stage);

// The same for some loops of the stage, which are its outermost ones.
space::Loop bind_loops(space::Builder& b, space::StageRef stage,
                       const std::vector<space::Loop>& loops);

// Whether threads that share a sum exchange what they have, or leave it in shared memory.
space::Value ask_exchange(space::Builder& b, space::StageRef stage);

// Short sums of a stage are written out: what they read is under way at once.
void write_out_sums(space::Builder& b, space::StageRef stage);

// The threads of a block for so many elements: all multiprocessors are used before blocks grow.
int64_t threads_for(int64_t elements, const target::Gpu& gpu);

// A stage that all threads of a block fill together: its loops as one, cut by the block's threads.
// `lanes` elements go at once.
struct Threads {
  int64_t x = 1, y = 1, z = 1;
};
void fetch_together(space::Builder& b, space::StageRef stage, const Threads& threads,
                    int64_t lanes);

// The layouts that are asked for inputs and outputs.
void store_edges(space::Builder& b, const Request& request);

// The same if the result may lie in its plain order; false, and nothing is stored, if it may not.
bool store_edges_of_plain(space::Builder& b, const Request& request, const te::ComputeOp& result);

// The tensor is free, or asked for in its plain order, whatever that is called.
bool stores_plainly(const Request& request, const te::Tensor& t);

bool is_output(const te::ComputeDag& dag, const te::ComputeOp& op);

}  // namespace tenon::templates::gpu
