// SPDX-License-Identifier: Apache-2.0
// A Cpu says what a processor can do in one instruction, where the choice of LLVM IR depends on it.
#pragma once

#include <cstdint>

namespace tenon::backend::llvm_cpu {

struct Cpu {
  bool x86 = true;
  bool fma = false;              // fused multiply-add of f32 and f64
  bool half_convert = false;     // f16 <-> f32
  bool round = false;            // round to integral
  bool scale = false;            // f32 times a power of two, fractions: AVX-512
  bool dot = false;              // sums of four products of 8-bit integers
  bool dot_bf16 = false;         // sums of two products of bfloat16
  int look_up_bytes = 0;         // of a table that one instruction reads in all lanes; 0: none
  bool narrow_indices = false;   // 64-bit integers are multiplied slowly, 32 bits are preferred
  int vector_bytes = 16;         // widest register worth using
  int64_t l3_bytes = 0;          // last-level cache; 0: none known
  int64_t parallel_vectors = 0;  // less work than this is not worth another core
};

}  // namespace tenon::backend::llvm_cpu
