// SPDX-License-Identifier: Apache-2.0
// What a CPU can be asked for, by LLVM's names, and whether this one has it.
//
//   x86-64-v3 needs bits {sse3 ... lzcnt}; on a CPU with SSE4.2 only: missing = {avx, avx2, ...}
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace tenon::runtime {

enum Register : uint8_t { kEax, kEbx, kEcx, kEdx };

// A bit of cpuid, and the register files that the operating system must save for its use (bits of XCR0).
struct X86Feature {
  const char* name;
  uint32_t leaf;
  uint32_t subleaf;
  Register in;
  uint8_t bit;
  uint32_t saved;
  uint8_t level;  // of x86-64-vN that demands it first; 0: none
};

constexpr uint32_t kSavesYmm = 0x6;
constexpr uint32_t kSavesZmm = 0xe6;
constexpr uint32_t kSavesTiles = 0x60000;

// At most 64 rows, those of one leaf together.
constexpr X86Feature kX86Features[] = {
    {"sse3", 1, 0, kEcx, 0, 0, 2},
    {"ssse3", 1, 0, kEcx, 9, 0, 2},
    {"cx16", 1, 0, kEcx, 13, 0, 2},
    {"sse4.1", 1, 0, kEcx, 19, 0, 2},
    {"sse4.2", 1, 0, kEcx, 20, 0, 2},
    {"popcnt", 1, 0, kEcx, 23, 0, 2},
    {"avx", 1, 0, kEcx, 28, kSavesYmm, 3},
    {"f16c", 1, 0, kEcx, 29, kSavesYmm, 3},
    {"fma", 1, 0, kEcx, 12, kSavesYmm, 3},
    {"movbe", 1, 0, kEcx, 22, 0, 3},
    {"sahf", 0x80000001, 0, kEcx, 0, 0, 2},
    {"lzcnt", 0x80000001, 0, kEcx, 5, 0, 3},
    {"avx2", 7, 0, kEbx, 5, kSavesYmm, 3},
    {"bmi", 7, 0, kEbx, 3, 0, 3},
    {"bmi2", 7, 0, kEbx, 8, 0, 3},
    {"avx512f", 7, 0, kEbx, 16, kSavesZmm, 4},
    {"avx512dq", 7, 0, kEbx, 17, kSavesZmm, 4},
    {"avx512cd", 7, 0, kEbx, 28, kSavesZmm, 4},
    {"avx512bw", 7, 0, kEbx, 30, kSavesZmm, 4},
    {"avx512vl", 7, 0, kEbx, 31, kSavesZmm, 4},
    {"avx512vbmi", 7, 0, kEcx, 1, kSavesZmm, 0},
    {"avx512vnni", 7, 0, kEcx, 11, kSavesZmm, 0},
    {"avx512fp16", 7, 0, kEdx, 23, kSavesZmm, 0},
    {"amx-tile", 7, 0, kEdx, 24, kSavesTiles, 0},
    {"amx-int8", 7, 0, kEdx, 25, kSavesTiles, 0},
    {"amx-bf16", 7, 0, kEdx, 22, kSavesTiles, 0},
    {"avx512bf16", 7, 1, kEax, 5, kSavesZmm, 0},
    {"avxvnni", 7, 1, kEax, 4, kSavesYmm, 0},
    {"avxvnniint8", 7, 1, kEdx, 4, kSavesYmm, 0},
};

// A bit of what the kernel passes to every program.
struct Arm64Feature {
  const char* name;
  bool second;  // AT_HWCAP2
  uint8_t bit;
};

constexpr Arm64Feature kArm64Features[] = {
    {"lse", false, 8},  {"fullfp16", false, 10}, {"rdm", false, 12}, {"dotprod", false, 20},
    {"sve", false, 22}, {"sve2", true, 1},       {"i8mm", true, 13}, {"bf16", true, 14},
};

// True if this CPU has all of `needs` (bit i: row i of the table of this architecture). Otherwise writes the
// sentence that says what is missing and what to do.
bool check_cpu(uint64_t needs, char* sentence, size_t size);

}  // namespace tenon::runtime
