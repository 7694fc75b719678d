// SPDX-License-Identifier: Apache-2.0
// One library for several instruction sets: programs of the same model for several targets, whose kernels have names of
// their own and whose weights lie in one file, each once.
//
//   std::vector<Program> levels = join_levels({v2, v3, v4});   // levels[0].weights_bytes == levels[2].weights_bytes
#pragma once

#include <vector>

#include "artifact/program.h"

namespace tenon::artifact {

// From the least target to the best. Throws UserError unless they are CPUs of one architecture, each needing what those before
// it do, with the same tensors.
std::vector<Program> join_levels(std::vector<Program> programs);

}  // namespace tenon::artifact
