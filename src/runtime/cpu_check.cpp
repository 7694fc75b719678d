// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu_check.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

namespace tenon::runtime {
namespace {

struct Names {
  char text[256] = "";
  int count = 0;
};

constexpr int kNamed = 4;

// "a, b, c, d and 3 more"
void add_name(Names& names, const char* name) {
  const size_t length = strlen(names.text);
  if (names.count < kNamed) {
    snprintf(names.text + length, sizeof names.text - length, "%s%s", names.count == 0 ? "" : ", ",
             name);
  }
  ++names.count;
}

void end_names(Names& names) {
  const size_t length = strlen(names.text);
  if (names.count > kNamed) {
    snprintf(names.text + length, sizeof names.text - length, " and %d more", names.count - kNamed);
  }
}

#if defined(__x86_64__)

constexpr size_t kRows = sizeof kX86Features / sizeof kX86Features[0];
static_assert(kRows <= 64);

struct Leaf {
  uint32_t leaf = 0;
  uint32_t subleaf = 0;
  uint32_t registers[4] = {0, 0, 0, 0};
};

// Zeros where the processor has no such leaf. Virtual machines answer slowly: `last` spares questions.
uint32_t cpuid_word(Leaf& last, uint32_t leaf, uint32_t subleaf, Register in) {
  if (last.leaf != leaf || last.subleaf != subleaf) {
    last = {leaf, subleaf, {0, 0, 0, 0}};
    uint32_t* r = last.registers;
    __get_cpuid_count(leaf, subleaf, &r[kEax], &r[kEbx], &r[kEcx], &r[kEdx]);
  }
  return last.registers[in];
}

uint32_t saved_states(Leaf& last) {
  constexpr uint32_t kOsxsave = 1U << 27;
  if ((cpuid_word(last, 1, 0, kEcx) & kOsxsave) == 0) {
    return 0;
  }
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

uint64_t present() {
  Leaf last;
  const uint32_t saved = saved_states(last);
  uint64_t bits = 0;
  for (size_t i = 0; i < kRows; ++i) {
    const X86Feature& f = kX86Features[i];
    const bool has = ((cpuid_word(last, f.leaf, f.subleaf, f.in) >> f.bit) & 1) != 0;
    if (has && (saved & f.saved) == f.saved) {
      bits |= uint64_t{1} << i;
    }
  }
  return bits;
}

// The highest level all of whose features are there.
const char* best_target(uint64_t has) {
  static constexpr const char* kTargets[] = {"x86-64", "x86-64", "x86-64-v2", "x86-64-v3",
                                             "x86-64-v4"};
  int best = 4;
  for (size_t i = 0; i < kRows; ++i) {
    const int level = kX86Features[i].level;
    if (level > 0 && level <= best && ((has >> i) & 1) == 0) {
      best = level - 1;
    }
  }
  return kTargets[best];
}

void cpu_name(char* text, size_t size) {
  uint32_t words[13] = {};
  uint32_t leaf = 0x80000002;
  for (uint32_t* w = words; w < words + 12; w += 4) {
    __get_cpuid(leaf++, &w[0], &w[1], &w[2], &w[3]);
  }
  const char* at = reinterpret_cast<const char*>(words);
  while (*at == ' ') {
    ++at;
  }
  snprintf(text, size, "%s", at);
  for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; --n) {
    text[n - 1] = 0;
  }
}

const char* name_of(size_t row) { return kX86Features[row].name; }

#else

constexpr size_t kRows = sizeof kArm64Features / sizeof kArm64Features[0];

uint64_t present() {
  const uint64_t words[2] = {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
  uint64_t bits = 0;
  for (size_t i = 0; i < kRows; ++i) {
    const Arm64Feature& f = kArm64Features[i];
    bits |= ((words[f.second ? 1 : 0] >> f.bit) & 1) << i;
  }
  return bits;
}

const char* best_target(uint64_t) { return "aarch64"; }

void cpu_name(char* text, size_t size) { snprintf(text, size, "AArch64"); }

const char* name_of(size_t row) { return kArm64Features[row].name; }

#endif

}  // namespace

bool check_cpu(uint64_t needs, char* sentence, size_t size) {
  const uint64_t has = present();
  if ((needs & ~has) == 0) {
    return true;
  }
  Names missing;
  for (size_t i = 0; i < kRows; ++i) {
    if ((((needs & ~has) >> i) & 1) != 0) {
      add_name(missing, name_of(i));
    }
  }
  end_names(missing);
  char cpu[64];
  cpu_name(cpu, sizeof cpu);
  snprintf(sentence, size,
           "this library needs %s, which this CPU (%s) lacks: compile with --target %s",
           missing.text, cpu, best_target(has));
  return false;
}

}  // namespace tenon::runtime
