// SPDX-License-Identifier: Apache-2.0
// Random programs for GPUs, compiled, run on a card and compared with what the interpreter gives. Half of them are loops
// of every kind bound to threads, which must agree bit for bit; half are random schedules of random dags, with shared
// memory, register tiles, several kernels and fetching ahead.
//
//   const Found found = check_random_programs({.target = "cuda", .runs = 500, .seed = 1});
//   found.problems                                 // {"seed 17: ..."}
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::gpu {

struct RandomOptions {
  std::string target = "cuda";
  int64_t runs = 500;
  uint64_t seed = 1;
  int threads = 1;            // that draw and compile
  double deadline_s = 1e6;    // no program begins after that
  int64_t most_problems = 5;  // it stops after so many
};

struct Found {
  int64_t run = 0;
  int64_t refused = 0;  // drawn, but not for this target; others are drawn in their place
  int64_t kernels = 0;
  std::vector<std::string> problems;  // each says how to repeat it
};

// Throws UserError where there is no card.
Found check_random_programs(const RandomOptions& options);

}  // namespace tenon::gpu
