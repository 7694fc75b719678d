// SPDX-License-Identifier: Apache-2.0
// What a module for GPUs (backend::to_bytes) is made of, for people.
#pragma once

#include <string>

#include "target/target.h"

namespace tenon::report {

// A line per launch: its grid, its blocks, shared memory, and where ptxas is found registers, spills and the share of
// threads that a multiprocessor holds.
//
//   product_0  grid 7x4x9  block 128x1x1  shared 16384  registers 96  spilled 0  occupancy 25 %
std::string describe_launches(const std::string& module_bytes, const target::Target& t);
// The same in front of code, each line after "// ".
std::string launches_as_comments(const std::string& module_bytes, const target::Target& t);

// Its machine code as text. Throws UserError where there is none, or nothing that reads it.
std::string disassemble(const std::string& module_bytes);

}  // namespace tenon::report
