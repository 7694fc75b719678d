// SPDX-License-Identifier: Apache-2.0
// The pool behind tenon_runtime, made as somebody wants it: tests make pools that a machine would not get by itself.
#pragma once

#include "runtime/cpus.h"
#include "tenon/runtime.h"

namespace tenon::runtime {

struct PoolPlan {
  int32_t threads = 1;  // that run, the caller's among them
  bool pinned = false;  // worker i to cpus[i], the caller to none; cpus[0] is where it is
  int64_t worker_spin_ns = 0;
  int64_t caller_spin_ns = 0;
  int32_t cpus[kMaxCpus];
};

// For this machine and the CPUs that the calling thread may use. At most one thread per CPU, pinned as long as there are
// CPUs that no other thread of the process is pinned to.
PoolPlan plan_pool(int32_t threads);

// `threads` is what the runtime says. Null when threads cannot be started.
const tenon_runtime* create_pool(const PoolPlan& plan, int32_t threads);

}  // namespace tenon::runtime
