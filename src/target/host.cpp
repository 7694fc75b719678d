// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "runtime/quota.h"
#include "support/check.h"
#include "target/fingerprint.h"
#include "target/target.h"
#include "target/topology.h"

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace tenon::target {
namespace {

constexpr const char* kBfloat16 = "+avx512bf16";

#if defined(__x86_64__)

constexpr Arch kHostArch = Arch::kX86_64;

struct Registers {
  uint32_t a = 0, b = 0, c = 0, d = 0;
};

// Zeros where the processor has no such leaf.
Registers cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d);
  return r;
}

// Which register files the operating system saves: a vector unit that it does not save is unusable.
uint64_t saved_states() {
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

constexpr bool has_bits(uint64_t value, std::initializer_list<int> bits) {
  return std::all_of(bits.begin(), bits.end(), [&](int bit) { return ((value >> bit) & 1) != 0; });
}

// The levels of the x86-64 psABI.
bool has_v2() {
  // sse3, ssse3, cmpxchg16b, sse4.1, sse4.2, popcnt; lahf
  return has_bits(cpuid(1).c, {0, 9, 13, 19, 20, 23}) && has_bits(cpuid(0x80000001).c, {0});
}

bool has_v3() {
  // fma, movbe, osxsave, avx, f16c; bmi1, avx2, bmi2; lzcnt; xmm and ymm saved
  return has_v2() && has_bits(cpuid(1).c, {12, 22, 27, 28, 29}) &&
         has_bits(cpuid(7).b, {3, 5, 8}) && has_bits(cpuid(0x80000001).c, {5}) &&
         has_bits(saved_states(), {1, 2});
}

bool has_v4() {
  // avx512f, avx512dq, avx512cd, avx512bw, avx512vl; opmask and both halves of zmm saved
  return has_v3() && has_bits(cpuid(7).b, {16, 17, 28, 30, 31}) &&
         has_bits(saved_states(), {5, 6, 7});
}

const char* host_row() {
  if (has_v4()) {
    return "x86-64-v4";
  }
  if (has_v3()) {
    return "x86-64-v3";
  }
  return has_v2() ? "x86-64-v2" : "x86-64";
}

// What schedules and code make use of beyond the level.
std::vector<std::string> host_features() {
  if (has_v4()) {
    std::vector<std::string> features;
    if (has_bits(cpuid(7).c, {1})) features.emplace_back("+avx512vbmi");
    if (has_bits(cpuid(7).c, {11})) features.emplace_back("+avx512vnni");
    return features;
  }
  if (has_v3() && has_bits(cpuid(7, 1).a, {4})) {
    return {"+avxvnni"};
  }
  return {};
}

// What is used only where it is asked for.
std::vector<std::string> further_features() {
  const bool has = has_v4() && has_bits(cpuid(7, 1).a, {5});
  return has ? std::vector<std::string>{kBfloat16} : std::vector<std::string>{};
}

std::string host_machine() {
  const Registers vendor = cpuid(0);
  std::string name;
  for (const uint32_t part : {vendor.b, vendor.d, vendor.c}) {
    name.append(reinterpret_cast<const char*>(&part), sizeof(part));
  }
  const uint32_t signature = cpuid(1).a;
  const uint32_t base = (signature >> 8) & 0xf;
  const uint32_t family = base == 0xf ? base + ((signature >> 20) & 0xff) : base;
  const uint32_t model = ((signature >> 4) & 0xf) | ((signature >> 12) & 0xf0);
  return fmt::format("{} {}/{}/{}", name, family, model, signature & 0xf);
}

#else

constexpr Arch kHostArch = Arch::kAArch64;

const char* host_row() { return "aarch64"; }

std::vector<std::string> host_features() {
  const bool has_dot = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  return has_dot ? std::vector<std::string>{"+dotprod"} : std::vector<std::string>{};
}

std::vector<std::string> further_features() { return {}; }

// "CPU implementer : 0x41" and "CPU part : 0xd0c" => "0x41 0xd0c"
std::string host_machine() {
  std::ifstream in("/proc/cpuinfo");
  std::string implementer;
  std::string part;
  for (std::string line; std::getline(in, line);) {
    const std::string value = line.substr(std::min(line.size(), line.find(':') + 2));
    if (line.starts_with("CPU implementer")) {
      implementer = value;
    } else if (line.starts_with("CPU part")) {
      part = value;
    }
  }
  return fmt::format("{} {}", implementer, part);
}

#endif

const Target& row_named(const std::string& name) {
  const std::vector<Target>& rows = known_targets();
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Target& t) { return t.name == name; });
  TENON_CHECK(found != rows.end()) << name;
  return *found;
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) {
        cpus.push_back(cpu);
      }
    }
  }
  return cpus.empty() ? std::vector<int>{0} : cpus;
}

void set_topology(Cpu& t) {
  const std::filesystem::path folder = "/sys/devices/system/cpu";
  const std::vector<int> cpus = allowed_cpus();
  t.cores = count_cores(folder, cpus);
  if (const int granted = runtime::granted_cpus(""); granted > 0) {
    t.cores = std::min(t.cores, granted);
  }
  const Caches caches = read_caches(folder, cpus.front());
  t.l1d_bytes = caches.l1d_bytes.value_or(t.l1d_bytes);
  t.l2_bytes = caches.l2_bytes.value_or(t.l2_bytes);
  t.l3_bytes = caches.l3_bytes.value_or(t.l3_bytes);
  t.line_bytes = caches.line_bytes.value_or(t.line_bytes);
}

// The place of a row with this processor name among the rows of its architecture, or -1.
int level(Arch arch, const std::string& processor) {
  int place = 0;
  for (const Target& t : known_targets()) {
    if (t.arch == arch && t.cpu().processor == processor) {
      return place;
    }
    place += t.arch == arch ? 1 : 0;
  }
  return -1;
}

bool card_runs(const Gpu& g) {
  try {
    return card_target().gpu().processor == g.processor;
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace

Target host_target() {
  Target t = row_named(host_row());
  t.name = "host";
  t.cpu().features = fmt::format("{}", fmt::join(host_features(), ","));
  set_machine(t, host_machine());
  set_topology(t.cpu());
  return t;
}

bool runs_here(const Target& t) {
  if (!t.is_cpu()) return card_runs(t.gpu());
  const int needed = level(t.arch, t.cpu().processor);
  if (t.arch != kHostArch || needed < 0 ||
      needed > level(kHostArch, row_named(host_row()).cpu().processor)) {
    return false;
  }
  std::vector<std::string> have = host_features();
  for (const std::string& f : further_features()) have.push_back(f);
  std::istringstream wanted(t.cpu().features);
  for (std::string feature; std::getline(wanted, feature, ',');) {
    if (std::find(have.begin(), have.end(), feature) == have.end()) {
      return false;
    }
  }
  return true;
}

bool has_bfloat16(const Cpu& t) { return t.features.find(kBfloat16) != std::string::npos; }

Target with_bfloat16(Target t) {
  const std::vector<std::string> more = further_features();
  if (t.name != "host" || has_bfloat16(t.cpu()) ||
      std::find(more.begin(), more.end(), kBfloat16) == more.end())
    return t;
  t.cpu().features += (t.cpu().features.empty() ? "" : ",") + std::string(kBfloat16);
  return t;
}

}  // namespace tenon::target
