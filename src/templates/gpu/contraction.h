// SPDX-License-Identifier: Apache-2.0
// Sums of products by tiles in shared memory and registers, for templates that consist of one and
// more.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/algorithms/gemm.h"
#include "space/builder.h"
#include "templates/anchor.h"
#include "templates/gpu/tile.h"

namespace tenon::templates::gpu {

ProductSize product_size(const schedule::Gemm& g);

// The anchor, which is such a sum, and what follows it up to the final op, as one kernel.
// `like_output`: tensors that are read or written where the result is. Where blocks share the sums,
// their kernel leaves what they found; returns the stage that adds it up, which is to be placed in
// the kernel of the final op.
std::optional<space::StageRef> write_product(space::Builder& b, const Chain& chain,
                                             const schedule::Gemm& g,
                                             const std::vector<std::string>& like_output);

}  // namespace tenon::templates::gpu
