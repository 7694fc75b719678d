// SPDX-License-Identifier: Apache-2.0
#include "measure/cores.h"

#include <sched.h>

#include <algorithm>

#include "runtime/cpus.h"

namespace tenon::measure {
namespace {

// Runners share caches and memory with each other, so most cores are left to builders, which disturb less.
constexpr int kCoresPerRunnersCore = 4;
constexpr int kMostRunners = 4;
constexpr int kBurst = 4;  // builds per builder: turns of all cores cost a moment of idleness each

std::vector<int> affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int c = 0; c < CPU_SETSIZE; ++c) {
    if (CPU_ISSET(static_cast<size_t>(c), &set)) cpus.push_back(c);
  }
  return cpus;
}

bool set_affinity(std::span<const int> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int c : cpus) CPU_SET(static_cast<size_t>(c), &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

// Programs that share a start of the assembler, which takes an eighth of the time of one of them: more of them would
// save little, and make a round wait for its last ones.
constexpr int kTogether = 4;

// All cores are the runner's: building and running take turns.
CorePlan in_turns(int builders) {
  CorePlan p;
  p.runners.push_back({{}, builders});
  p.burst = kBurst * builders;
  return p;
}

}  // namespace

CorePlan plan_cores(const std::vector<int>& cpus, int threads, int builders, bool overlap) {
  const int cores = std::max(1, static_cast<int>(cpus.size()));
  if (builders <= 0) builders = cores;
  if (threads >= cores && !overlap) return in_turns(builders);
  CorePlan p;
  p.overlaps = true;
  const int runners = std::clamp(cores / (kCoresPerRunnersCore * threads), 1, kMostRunners);
  const bool pinned = runners * threads <= static_cast<int>(cpus.size());
  const auto first = cpus.end() - (pinned ? runners * threads : 0);
  for (int r = 0; r < runners; ++r) {
    const auto begin = first + (pinned ? r * threads : 0);
    p.runners.push_back({{begin, begin + (pinned ? threads : 0)}, 0});
  }
  if (overlap) {
    p.builders = builders;
    return p;
  }
  p.spare.assign(cpus.begin(), first);
  p.builders = std::min(builders, static_cast<int>(p.spare.size()));
  for (int left = builders - p.builders; left > 0; --left) {
    ++p.runners[static_cast<size_t>(left % runners)].builders;
  }
  p.burst = threads == 1 ? 1 : kBurst * threads;
  return p;
}

CorePlan plan_card(const std::vector<int>& cpus, int builders) {
  CorePlan p;
  p.runners.emplace_back();
  p.builders = builders > 0 ? builders : std::max(1, static_cast<int>(cpus.size()));
  p.overlaps = true;
  p.together = kTogether;
  return p;
}

std::vector<int> usable_cores() {
  const runtime::CpuList list = runtime::usable_cpus();
  const int granted = runtime::default_threads();
  return {list.cpus, list.cpus + std::min(list.cores, granted)};
}

KeepTo::KeepTo(std::span<const int> cpus) {
  if (cpus.empty()) return;
  before_ = affinity();
  if (!set_affinity(cpus)) before_.clear();
}

KeepTo::~KeepTo() {
  if (!before_.empty()) set_affinity(before_);
}

}  // namespace tenon::measure
