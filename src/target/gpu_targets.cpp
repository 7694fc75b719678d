// SPDX-License-Identifier: Apache-2.0
// The named GPUs. A new one is one row here.
#include <utility>

#include "target/target.h"

namespace tenon::target {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;

struct Row {
  const char* name;
  const char* processor;
  int multiprocessors;
  int threads_per_multiprocessor;
  int64_t shared_bytes_per_block;
  int64_t shared_bytes_per_multiprocessor;
  int64_t l2_bytes;
};

// The last row is no card: its kernels are compiled for this machine's processor and run there,
// thread after thread, which tests everything but NVIDIA's own part.
constexpr Row kRows[] = {
    {"cuda sm_80", "sm_80", 108, 2048, 163 * kKiB, 164 * kKiB, 40 * kMiB},
    {"cuda sm_86", "sm_86", 84, 1536, 99 * kKiB, 100 * kKiB, 6 * kMiB},
    {"cuda sm_89", "sm_89", 128, 1536, 99 * kKiB, 100 * kKiB, 72 * kMiB},
    {"cuda sm_90", "sm_90", 132, 2048, 227 * kKiB, 228 * kKiB, 50 * kMiB},
    {"cuda simt", "simt", 4, 2048, 99 * kKiB, 100 * kKiB, 4 * kMiB},
};

Target make_target(const Row& row) {
  Gpu gpu;
  gpu.processor = row.processor;
  gpu.multiprocessors = row.multiprocessors;
  gpu.threads_per_multiprocessor = row.threads_per_multiprocessor;
  gpu.shared_bytes_per_block = row.shared_bytes_per_block;
  gpu.shared_bytes_per_multiprocessor = row.shared_bytes_per_multiprocessor;
  gpu.l2_bytes = row.l2_bytes;
  Limits limits;
  limits.lanes = 4;  // 16 bytes are the most that one access moves
  limits.unrolled_loops = 1024;
  // A kernel for each: blocks cannot wait for each other's rows.
  limits.fused_weights_bytes = 0;
  // A block has a dozen rows of scores, three times over: before, in and behind the exponential.
  limits.fused_attention = row.shared_bytes_per_block / 48;
  return {.name = row.name,
          .arch = Arch::kNvptx64,
          .triple = "nvptx64-nvidia-cuda",
          .machine = "",
          .backend = "nvptx",
          .device = "cuda",
          .part = std::move(gpu),
          .limits = limits};
}

std::vector<Target> make_targets() {
  std::vector<Target> targets;
  for (const Row& row : kRows) targets.push_back(make_target(row));
  return targets;
}

}  // namespace

const std::vector<Target>& gpu_targets() {
  static const std::vector<Target> targets = make_targets();
  return targets;
}

}  // namespace tenon::target
