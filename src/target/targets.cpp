// SPDX-License-Identifier: Apache-2.0
// The named targets. A new processor family is one row here.
#include <utility>

#include "target/target.h"

namespace tenon::target {
namespace {

constexpr int64_t kKiB = 1024;

struct Row {
  const char* name;
  Arch arch;
  const char* triple;
  const char* processor;
  const char* features;
  int vector_bytes;
  int vector_registers;
  bool has_fma;
  int64_t l2_bytes;
};

constexpr const char* kX86Triple = "x86_64-unknown-linux-gnu";
constexpr const char* kArmTriple = "aarch64-unknown-linux-gnu";

// Of one architecture, from the least able to the most able.
constexpr Row kRows[] = {
    {"x86-64", Arch::kX86_64, kX86Triple, "x86-64", "", 16, 16, false, 256 * kKiB},
    {"x86-64-v2", Arch::kX86_64, kX86Triple, "x86-64-v2", "", 16, 16, false, 256 * kKiB},
    {"x86-64-v3", Arch::kX86_64, kX86Triple, "x86-64-v3", "", 32, 16, true, 512 * kKiB},
    {"x86-64-v4", Arch::kX86_64, kX86Triple, "x86-64-v4", "", 64, 32, true, 1024 * kKiB},
    {"x86-64-v4-vnni", Arch::kX86_64, kX86Triple, "x86-64-v4", "+avx512vnni", 64, 32, true,
     1024 * kKiB},
    {"x86-64-v4-bf16", Arch::kX86_64, kX86Triple, "x86-64-v4", "+avx512vnni,+avx512bf16", 64, 32,
     true, 1024 * kKiB},
    {"aarch64", Arch::kAArch64, kArmTriple, "generic", "", 16, 32, true, 512 * kKiB},
    {"aarch64-dotprod", Arch::kAArch64, kArmTriple, "generic", "+dotprod", 16, 32, true,
     512 * kKiB},
};

Target make_target(const Row& row) {
  Cpu cpu;
  cpu.processor = row.processor;
  cpu.features = row.features;
  cpu.vector_bytes = row.vector_bytes;
  cpu.datapath_bytes = row.vector_bytes;
  cpu.rates = guessed_rates(cpu.datapath_bytes);
  cpu.vector_registers = row.vector_registers;
  cpu.has_fma = row.has_fma;
  cpu.l2_bytes = row.l2_bytes;
  return {.name = row.name,
          .arch = row.arch,
          .triple = row.triple,
          .machine = "",
          .backend = "llvm-cpu",
          .device = "cpu",
          .part = std::move(cpu)};
}

std::vector<Target> make_targets() {
  std::vector<Target> targets;
  for (const Row& row : kRows) {
    targets.push_back(make_target(row));
  }
  return targets;
}

}  // namespace

const std::vector<Target>& known_targets() {
  static const std::vector<Target> targets = make_targets();
  return targets;
}

}  // namespace tenon::target
