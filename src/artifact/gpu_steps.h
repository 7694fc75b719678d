// SPDX-License-Identifier: Apache-2.0
// A GPU runs several kernels at once, so each step of a program is told which steps it waits for: those before
// it that write what it reads or writes, or read what it writes. Steps that may run at once have scratch of
// their own.
//
//   s0: x -> a    s1: a -> b    s2: a -> c    s3: b, c -> y      =>      after: {}, {0}, {0}, {1, 2}
#pragma once

#include <cstdint>
#include <vector>

#include "artifact/kernels.h"
#include "artifact/program.h"

namespace tenon::artifact {

struct GpuStep {
  std::vector<int32_t> after;  // ascending; what these wait for is left out
  int64_t scratch_offset = 0;  // behind the arena
};

struct GpuSteps {
  std::vector<GpuStep> steps;
  int64_t scratch_bytes = 0;  // of all
};

// At most so many steps have scratch at once; more wait for each other. Few, so that what one step leaves in the cache
// serves the next.
inline constexpr size_t kScratchPlaces = 4;

GpuSteps order_steps(const Program& program, const std::vector<CompiledKernel>& kernels);

}  // namespace tenon::artifact
