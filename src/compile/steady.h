// SPDX-License-Identifier: Apache-2.0
// Programs that agree across sizes: register tiles of as many rows and vectors whatever the extents are, so that
// programs of two sizes differ in numbers only (numbers.h) and read weights that are packed alike.
//
//   rows 96, 160, 4096      12, 20, 512 tiles of 8 rows x 3 vectors, where each size for itself would take 9 or 8 rows
#pragma once

#include "plan/network.h"

namespace tenon::compile {

// Replaces the programs that rules gave to products and attention; what was given stays.
void use_steady_programs(plan::Network& network, const plan::Options& options);

}  // namespace tenon::compile
