// SPDX-License-Identifier: Apache-2.0
// The machine under the benchmark.
#pragma once

#include <sched.h>

#include <string>
#include <vector>

#include "tenon/runtime.h"

namespace tenon::timing {

// Logical CPUs that this thread may use, in ascending order.
std::vector<int> usable_cpus();
// "AMD EPYC (25/17), 2 CPUs, L2 1024 KiB, L3 32 MiB, Linux 6.1"
std::string machine_text();
// "governor performance, boost off", or that the kernel does not tell (virtual machines).
std::string clock_text();
// The compiler of this program.
std::string compiler_text();

// The CPU for thread `thread` of a benchmark: 0 is the measuring thread. -1: there are more threads
// than CPUs, so nobody should be pinned.
int cpu_of(int thread, int threads);

// Holds the calling thread on cpu_of(0) and gives the old mask back at the end. Threads started
// meanwhile inherit the narrow mask, so start pools before.
class Pinned {
 public:
  explicit Pinned(int threads);
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  cpu_set_t before_;
};

void pin_this_thread(int cpu);  // nothing if cpu < 0

// Best time of an empty parallel region: well under 0.2 us when the CPUs share a last-level cache,
// about 0.4 us when they do not. 0 for one thread.
double fork_join_us(const tenon_runtime* rt);
// "near", "far" or "-" (one thread) for such a time.
const char* placement_text(double fork_join_us);

}  // namespace tenon::timing
