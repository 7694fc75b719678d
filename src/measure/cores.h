// SPDX-License-Identifier: Apache-2.0
// Which cores times are taken on, and which are left for building and thinking meanwhile. Nothing is built on a core while
// a time is being taken there.
//
//   2 cores, 1 thread     =>  runner {1} with a builder for when nothing is to be run, a builder on {0}
//   16 cores, 1 thread    =>  runners {12} {13} {14} {15} likewise, 12 builders on the others
//   16 cores, 16 threads  =>  one runner, and 16 builders that take turns with it
//   16 cores, a GPU       =>  one runner, and 16 builders beside it
#pragma once

#include <span>
#include <vector>

namespace tenon::measure {

// A runner's cores, and the builders that work there while it does not.
struct RunCores {
  std::vector<int> cpus;  // one per core; empty: any
  int builders = 0;
};

struct CorePlan {
  std::vector<RunCores> runners;
  int builders = 0;        // that work at any time
  std::vector<int> spare;  // where they do, and where the caller thinks; empty: any
  bool overlaps = false;   // building and thinking need not wait for runners
  int burst = 1;           // builds of a runner's builders before it has its turn
  int together = 1;        // programs of a task that a builder of any time may be given at once
};

// `cpus` has one of each core; `threads` are those of a program; `builders` at most 0: one per core. With `overlap`
// builders work everywhere and at any time.
CorePlan plan_cores(const std::vector<int>& cpus, int threads, int builders, bool overlap);
// Where a GPU keeps the time: one runner, for there is one card, and builders on every core at any time.
CorePlan plan_card(const std::vector<int>& cpus, int builders);

// One CPU of each core that this thread may use, as many as the control group grants; empty: not known.
std::vector<int> usable_cores();

// The calling thread, and those that it starts, stay on these CPUs while this lives; empty: anywhere.
class KeepTo {
 public:
  explicit KeepTo(std::span<const int> cpus);
  ~KeepTo();
  KeepTo(const KeepTo&) = delete;
  KeepTo& operator=(const KeepTo&) = delete;

 private:
  std::vector<int> before_;  // empty: nothing was changed
};

}  // namespace tenon::measure
