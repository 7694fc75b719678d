// SPDX-License-Identifier: Apache-2.0
// A program for GPUs made by hand, of loops bound to blocks and threads, with what it must answer.
#pragma once

#include <string>
#include <vector>

#include "artifact/program.h"

namespace tenon::artifact {

// s = x + w;   a = 2 * s;   b = 3 * (s + 1) by two launches through a workspace;   y = a + b;   z = s * s
//   a and b wait for s only, y for both. All have `n` elements; w is random.
Program branching_program(const std::string& name, const target::Target& target, int64_t n);
std::vector<ir::Array> branching_answer(const Program& program, const ir::Array& x);

}  // namespace tenon::artifact
