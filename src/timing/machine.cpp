// SPDX-License-Identifier: Apache-2.0
#include "timing/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <vector>

namespace tenon::timing {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// The value of the first "key : value" line of /proc/cpuinfo.
std::string cpuinfo(const std::string& key) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos && line.compare(0, key.size(), key) == 0 &&
        line.find_first_not_of(" \t", key.size()) == colon) {
      return colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    }
  }
  return "?";
}

std::string cache_text(int name, const char* label) {
  const long bytes = sysconf(name);
  return bytes > 0 ? fmt::format(", {} {} KiB", label, bytes >> 10) : "";
}

}  // namespace

std::vector<int> usable_cpus() {
  cpu_set_t mask;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

std::string machine_text() {
  utsname kernel{};
  uname(&kernel);
  return fmt::format("{} (family {} model {}), {} CPUs{}{}{}, {} {}", cpuinfo("model name"),
                     cpuinfo("cpu family"), cpuinfo("model"), usable_cpus().size(),
                     cache_text(_SC_LEVEL1_DCACHE_SIZE, "L1d"),
                     cache_text(_SC_LEVEL2_CACHE_SIZE, "L2"),
                     cache_text(_SC_LEVEL3_CACHE_SIZE, "L3"), kernel.sysname, kernel.release);
}

std::string clock_text() {
  const std::string folder = "/sys/devices/system/cpu/";
  const std::string governor = first_line(folder + "cpu0/cpufreq/scaling_governor");
  if (governor.empty()) {
    return "not visible (virtual machine or no cpufreq); the FMA peak is measured in every row "
           "instead";
  }
  const std::string boost = first_line(folder + "cpufreq/boost");
  return fmt::format("governor {}, boost {}", governor,
                     boost.empty()  ? "unknown"
                     : boost == "1" ? "on"
                                    : "off");
}

std::string compiler_text() {
#if defined(__clang__)
  return __VERSION__;
#else
  return "GCC " __VERSION__;
#endif
}

// From the last CPU down: the first one serves most interrupts.
int cpu_of(int thread, int threads) {
  static const std::vector<int> cpus = usable_cpus();  // before anyone narrows the mask
  if (threads > static_cast<int>(cpus.size())) {
    return -1;
  }
  return cpus[cpus.size() - 1 - static_cast<size_t>(thread)];
}

void pin_this_thread(int cpu) {
  if (cpu < 0) {
    return;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(cpu), &one);
  sched_setaffinity(0, sizeof one, &one);
}

Pinned::Pinned(int threads) {
  const int cpu = cpu_of(0, threads);
  sched_getaffinity(0, sizeof before_, &before_);
  pin_this_thread(cpu);
}

Pinned::~Pinned() { sched_setaffinity(0, sizeof before_, &before_); }

double fork_join_us(const tenon_runtime* rt) {
  if (rt->threads < 2) {
    return 0;
  }
  constexpr int kRegions = 200;
  double best = 1e9;
  for (int sample = 0; sample < 50; ++sample) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kRegions; ++i) {
      rt->parallel(
          rt, [](void*, int64_t, int64_t) {}, nullptr, rt->threads);
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count() / kRegions);
  }
  return best;
}

const char* placement_text(double fork_join_us) {
  constexpr double kFarUs = 0.2;
  return fork_join_us == 0 ? "-" : fork_join_us < kFarUs ? "near" : "far";
}

}  // namespace tenon::timing
