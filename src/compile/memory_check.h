// SPDX-License-Identifier: Apache-2.0
// Follows every byte of a program through its steps, without knowing how places were chosen: each step
// must read what was last written for it. Every compilation is checked; the cost is n log n in steps.
//
//   step 0 writes slot 3 to arena 0..1024
//   step 1 writes slot 4 to arena 512..640
//   step 2 reads slot 3 at arena 0..1024        InternalError: slot 4 lies there
#pragma once

#include "artifact/program.h"
#include "plan/network.h"

namespace tenon::compile {

// Throws InternalError that names the step and the value.
void check_memory(const graph::Graph& g, const graph::Partition& p, const plan::LayoutPlan& plan,
                  const artifact::Program& program);
// The same, along all ways through branches and loops.
void check_memory(const plan::Network& n, const artifact::Program& program);

}  // namespace tenon::compile
