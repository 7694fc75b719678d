// SPDX-License-Identifier: Apache-2.0
#include "timing/machine_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "runtime/quota.h"
#include "target/topology.h"
#include "timing/machine.h"

namespace tenon::timing {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// "key : value" of the first processor.
std::map<std::string, std::string> read_colon_file(const fs::path& path) {
  std::map<std::string, std::string> values;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) {
      continue;
    }
    std::string key = line.substr(0, colon);
    key.erase(key.find_last_not_of(" \t") + 1);
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    values.emplace(key, begin == std::string::npos ? "" : line.substr(begin));
  }
  return values;
}

struct Machine {
  fs::path root;
  fs::path cpus;  // sys/devices/system/cpu
  std::vector<int> usable;
  std::map<std::string, std::string> cpuinfo;
};

Fact unknown(const std::string& name, const std::string& why) {
  return {name, why, Health::kUnknown, ""};
}

Fact processor(const Machine& m) {
  for (const char* key : {"model name", "Processor", "CPU part"}) {
    if (const auto it = m.cpuinfo.find(key); it != m.cpuinfo.end()) {
      return {"processor", it->second};
    }
  }
  return unknown("processor", "not named by the kernel");
}

std::string features_text(const std::string& flags) {
  static constexpr const char* kInteresting[] = {
      "sse4_2",   "avx",      "avx2",        "fma",         "f16c",        "avx512f",
      "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx_vnni",
      "amx_tile", "amx_int8", "amx_bf16",    "asimd",       "asimddp",     "asimdhp",
      "i8mm",     "bf16",     "sve",         "sve2"};
  std::istringstream in(flags);
  std::set<std::string> has;
  for (std::string word; in >> word;) {
    has.insert(word);
  }
  std::string text;
  for (const char* name : kInteresting) {
    text += has.count(name) != 0 ? (text.empty() ? "" : " ") + std::string(name) : "";
  }
  return text;
}

Fact vectors(const Machine& m) {
  for (const char* key : {"flags", "Features"}) {
    if (const auto it = m.cpuinfo.find(key); it != m.cpuinfo.end()) {
      const std::string text = features_text(it->second);
      return {"vectors", text.empty() ? "none beyond the base" : text};
    }
  }
  return unknown("vectors", "not named by the kernel");
}

Fact cores(const Machine& m) {
  const int physical = target::count_cores(m.cpus, m.usable);
  return {"cores", fmt::format("{} physical, {} logical usable", physical, m.usable.size())};
}

Fact caches(const Machine& m) {
  const target::Caches c = target::read_caches(m.cpus, m.usable.empty() ? 0 : m.usable[0]);
  std::string text;
  for (const auto& [name, bytes] :
       {std::pair{"L1d", c.l1d_bytes}, {"L2", c.l2_bytes}, {"L3", c.l3_bytes}}) {
    if (bytes) {
      text += fmt::format("{}{} {} KiB", text.empty() ? "" : ", ", name, *bytes / 1024);
    }
  }
  return text.empty() ? unknown("caches", "not visible") : Fact{"caches", text};
}

Fact governor(const Machine& m) {
  std::set<std::string> found;
  for (const int cpu : m.usable) {
    const std::string name =
        first_line(m.cpus / fmt::format("cpu{}/cpufreq/scaling_governor", cpu));
    if (!name.empty()) {
      found.insert(name);
    }
  }
  if (found.empty()) {
    return unknown("governor", "not visible (virtual machine or no cpufreq)");
  }
  const bool steady = found.size() == 1 && *found.begin() == "performance";
  return {"governor", fmt::format("{}", fmt::join(found, ", ")),
          steady ? Health::kGood : Health::kDisturbing,
          steady ? "" : "sudo cpupower frequency-set -g performance"};
}

Fact turbo(const Machine& m) {
  const std::string no_turbo = first_line(m.cpus / "intel_pstate/no_turbo");
  const std::string boost = first_line(m.cpus / "cpufreq/boost");
  if (no_turbo.empty() && boost.empty()) {
    return unknown("turbo", "not visible");
  }
  const bool on = no_turbo.empty() ? boost == "1" : no_turbo == "0";
  const std::string hint = no_turbo.empty()
                               ? "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
                               : "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo";
  return {"turbo", on ? "on: clocks depend on heat and on neighbours" : "off",
          on ? Health::kDisturbing : Health::kGood, on ? hint : ""};
}

Fact smt(const Machine& m) {
  const std::string active = first_line(m.cpus / "smt/active");
  if (active.empty()) {
    return unknown("smt", "not visible");
  }
  if (active != "1") {
    return {"smt", "off"};
  }
  return {"smt", "on: two threads share a core", Health::kDisturbing,
          "use as many threads as physical cores, or echo off | sudo tee "
          "/sys/devices/system/cpu/smt/control"};
}

Fact clocks(const Machine& m) {
  const fs::path folder = m.cpus / fmt::format("cpu{}/cpufreq", m.usable.empty() ? 0 : m.usable[0]);
  const std::string low = first_line(folder / "cpuinfo_min_freq");
  const std::string high = first_line(folder / "cpuinfo_max_freq");
  const auto now = m.cpuinfo.find("cpu MHz");
  std::string text = now != m.cpuinfo.end() ? now->second + " MHz now" : "";
  if (!low.empty() && !high.empty()) {
    text += fmt::format("{}from {} to {} MHz", text.empty() ? "" : ", ",
                        std::atol(low.c_str()) / 1000, std::atol(high.c_str()) / 1000);
  }
  return text.empty() ? unknown("clocks", "not visible") : Fact{"clocks", text};
}

Fact load(const Machine& m) {
  const std::string line = first_line(m.root / "proc/loadavg");
  if (line.empty()) {
    return unknown("load", "not visible");
  }
  const double load1 = std::atof(line.c_str());
  const bool busy = load1 > 0.5;
  return {"load", fmt::format("{:.2f} over the last minute", load1),
          busy ? Health::kDisturbing : Health::kGood,
          busy ? "other programs are running: measure when they are done" : ""};
}

Fact cpuset(const Machine& m) {
  const auto online = target::parse_cpu_list(first_line(m.cpus / "online"));
  if (online.empty()) {
    return unknown("cpuset", fmt::format("{} logical CPUs usable", m.usable.size()));
  }
  const bool narrow = m.usable.size() < online.size();
  return {"cpuset", fmt::format("{} of {} logical CPUs", m.usable.size(), online.size()),
          Health::kGood, narrow ? "this process is confined to a part of the machine" : ""};
}

Fact quota(const Machine& m) {
  const int cores = runtime::granted_cpus(m.root.c_str());
  if (cores == 0) {
    return {"quota", "none"};
  }
  const bool tight = cores < static_cast<int>(m.usable.size());
  return {"quota", fmt::format("{} CPUs' worth of time by control group", cores),
          tight ? Health::kDisturbing : Health::kGood,
          tight ? "more threads than that are stopped for whole time slices" : ""};
}

Fact virtualization(const Machine& m) {
  const auto flags = m.cpuinfo.find("flags");
  const bool guest =
      flags != m.cpuinfo.end() && flags->second.find(" hypervisor") != std::string::npos;
  return {"virtual", guest ? "yes: neighbours on the host can disturb" : "no hypervisor seen",
          guest ? Health::kDisturbing : Health::kGood,
          guest ? "compare runs of the same minutes, interleaved" : ""};
}

Fact memory(const Machine& m) {
  const auto info = read_colon_file(m.root / "proc/meminfo");
  const auto kib = [&](const char* key) {
    const auto it = info.find(key);
    return it == info.end() ? 0.0 : std::atof(it->second.c_str());
  };
  if (kib("MemTotal") == 0) {
    return unknown("memory", "not visible");
  }
  const double free_share = kib("MemAvailable") / kib("MemTotal");
  const bool tight = free_share < 0.1;
  return {"memory",
          fmt::format("{:.1f} of {:.1f} GiB available", kib("MemAvailable") / (1 << 20),
                      kib("MemTotal") / (1 << 20)),
          tight ? Health::kDisturbing : Health::kGood, tight ? "little memory is left" : ""};
}

Fact huge_pages(const Machine& m) {
  const std::string line = first_line(m.root / "sys/kernel/mm/transparent_hugepage/enabled");
  const size_t open = line.find('[');
  const size_t close = line.find(']');
  if (open == std::string::npos || close == std::string::npos) {
    return unknown("huge pages", "not visible");
  }
  return {"huge pages", line.substr(open + 1, close - open - 1)};
}

Fact counters(const Machine& m) {
  const std::string level = first_line(m.root / "proc/sys/kernel/perf_event_paranoid");
  if (level.empty()) {
    return unknown("counters", "not visible");
  }
  const bool usable = std::atoi(level.c_str()) <= 2;
  return {"counters", fmt::format("perf_event_paranoid {}", level), Health::kGood,
          usable ? "" : "sudo sysctl kernel.perf_event_paranoid=2 lets programs read their own"};
}

Fact kernel(const Machine& m) {
  const std::string line = first_line(m.root / "proc/sys/kernel/osrelease");
  return line.empty() ? unknown("kernel", "not visible") : Fact{"kernel", "Linux " + line};
}

using Examine = Fact (*)(const Machine&);
constexpr Examine kFacts[] = {processor, vectors,    cores,    caches, clocks, governor,
                              turbo,     smt,        load,     cpuset, quota,  virtualization,
                              memory,    huge_pages, counters, kernel};

}  // namespace

std::vector<Fact> examine_machine(const fs::path& root, const std::vector<int>& usable) {
  const Machine m{root, root / "sys/devices/system/cpu", usable,
                  read_colon_file(root / "proc/cpuinfo")};
  std::vector<Fact> facts;
  for (const Examine examine : kFacts) {
    facts.push_back(examine(m));
  }
  return facts;
}

std::vector<Fact> examine_this_machine() { return examine_machine("/", usable_cpus()); }

}  // namespace tenon::timing
