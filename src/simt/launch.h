// SPDX-License-Identifier: Apache-2.0
// Runs kernels (simt.h) over a grid: blocks on several threads of this machine, the threads of a block one after the
// other, as fibers where they meet at barriers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/cuda/driver.h"
#include "simt/simt.h"

namespace tenon::simt {

using runtime::cuda::Status;

struct Kernel {
  std::string name;
  tenon_simt_function entry = nullptr;
  tenon_simt_kernel about = {};
  uint32_t most_shared_bytes = 48 << 10;  // more must be asked for
};

struct Launch {
  const Kernel* kernel = nullptr;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;
  std::vector<void*> arguments;
};

inline constexpr uint32_t kMostThreads = 1024;
inline constexpr uint32_t kMostSharedBytes = 99 << 10;

// kInvalidValue for a launch that no GPU would take; kLaunchFailed, after a sentence to standard error, when some
// threads of a block wait for others that have ended.
Status run(const Launch& launch);

}  // namespace tenon::simt
