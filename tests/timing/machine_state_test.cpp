// SPDX-License-Identifier: Apache-2.0
#include "timing/machine_state.h"

#include <gtest/gtest.h>

#include <fstream>

namespace tenon::timing {
namespace {

namespace fs = std::filesystem;

// A machine made of files.
class Machine {
 public:
  explicit Machine(const std::string& name)
      : root_(fs::path(::testing::TempDir()) / ("tenon_machine_" + name)) {
    fs::remove_all(root_);
  }
  Machine& file(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
    return *this;
  }
  Fact fact(const std::string& name) const {
    for (const Fact& f : examine_machine(root_, {0, 1})) {
      if (f.name == name) {
        return f;
      }
    }
    return {name, "(no such fact)", Health::kUnknown, ""};
  }

 private:
  fs::path root_;
};

constexpr const char* kCpu = "sys/devices/system/cpu/";

TEST(MachineState, ABareMachineIsUnknownAndNotAnError) {
  const Machine machine("bare");
  for (const char* name :
       {"processor", "governor", "turbo", "smt", "load", "memory", "clocks", "kernel"}) {
    EXPECT_EQ(machine.fact(name).health, Health::kUnknown) << name;
  }
}

TEST(MachineState, SeesWhatDisturbs) {
  Machine machine("noisy");
  const std::string cpu = kCpu;
  machine.file(cpu + "cpu0/cpufreq/scaling_governor", "powersave")
      .file(cpu + "cpu1/cpufreq/scaling_governor", "powersave")
      .file(cpu + "intel_pstate/no_turbo", "0")
      .file(cpu + "smt/active", "1")
      .file(cpu + "online", "0-7")
      .file("proc/loadavg", "3.10 2.00 1.00 1/100 1234")
      .file("proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 50000 kB")
      .file("proc/cpuinfo",
            "model name\t: Some CPU\nflags\t\t: fpu avx2 fma hypervisor\ncpu MHz : 2000.0");
  for (const char* name : {"governor", "turbo", "smt", "load", "memory", "virtual"}) {
    EXPECT_EQ(machine.fact(name).health, Health::kDisturbing) << name;
    EXPECT_NE(machine.fact(name).hint, "") << name;
  }
  EXPECT_EQ(machine.fact("governor").value, "powersave");
  EXPECT_EQ(machine.fact("processor").value, "Some CPU");
  EXPECT_EQ(machine.fact("vectors").value, "avx2 fma");
  EXPECT_EQ(machine.fact("cpuset").value, "2 of 8 logical CPUs");
}

TEST(MachineState, SeesAQuietMachine) {
  Machine machine("quiet");
  const std::string cpu = kCpu;
  machine.file(cpu + "cpu0/cpufreq/scaling_governor", "performance")
      .file(cpu + "cpu1/cpufreq/scaling_governor", "performance")
      .file(cpu + "cpufreq/boost", "0")
      .file(cpu + "smt/active", "0")
      .file("proc/loadavg", "0.01 0.00 0.00 1/100 1234")
      .file("proc/cpuinfo", "model name\t: Some CPU\nflags\t\t: fpu avx2");
  for (const char* name : {"governor", "turbo", "smt", "load", "virtual"}) {
    EXPECT_EQ(machine.fact(name).health, Health::kGood) << name;
  }
}

}  // namespace
}  // namespace tenon::timing
