// SPDX-License-Identifier: Apache-2.0
// Which CPUs a pool may use, in the order in which it should take them.
#pragma once

namespace tenon::runtime {

inline constexpr int kMaxCpus = 1024;

struct CpuList {
  int count = 0;  // 0: unknown, do not pin
  int cores = 0;  // how many of them, from the first, lie on different physical cores
  int cpus[kMaxCpus];
};

// The CPUs in the calling thread's affinity mask: its current one first, then one per physical
// core, then the other hardware threads of those cores; each time those that share the last cache with the first one
// before those of the same socket, and these before all others.
//   2 cores of 2 threads {0,2} {1,3}, called on 2   =>   2 1 0 3
CpuList usable_cpus();

// Moves CPUs that a thread of this process is pinned to (that one alone is in its mask) behind the others, the first one
// and the calling thread left out. Returns how many come before them: those that a new pool has for itself. What is asked is
// the kernel, so that pools of other libraries in this process are seen too.
int put_unheld_first(CpuList& list);

// One per physical core of that mask, less where the control group grants less time; at least 1.
int default_threads();

}  // namespace tenon::runtime
