// SPDX-License-Identifier: Apache-2.0
// One function of vector_math in the smallest loop around it, for tests and benchmarks:
//
//   for i in 0..n: out[i*lanes .. +lanes] = fn(in[0][i*lanes .. +lanes], ...)
//
// kIsNan and kIsInf give 1 and 0 in the type of their argument. Needs no LLVM header to use.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/ir.h"

namespace tenon::backend::llvm_cpu {

struct ProbeSpec {
  ir::Intrinsic fn = ir::Intrinsic::kExp;
  bool f64 = false;
  int lanes = 1;
  bool has_fma = false;
  bool has_round = true;
  bool has_scale = false;
  bool gelu = false;          // fn is kErf, and the loop computes x/2 (1 + erf(x / sqrt(2)))
  bool silu = false;          // fn is kSigmoid, and the loop computes x * sigmoid(x)
  bool fast_builder = false;  // emit with every fast-math flag set on the builder
  std::string triple;         // empty: this machine's
  std::string cpu;            // as LLVM names it: "x86-64-v3"
  std::string features;       // as LLVM names them: "+avx2,+fma"
};

using ProbeFunction = void (*)(const void* a, const void* b, const void* c, void* out, int64_t n);

// Compiled for and loaded into this process.
class Probe {
 public:
  explicit Probe(const ProbeSpec& spec);
  ~Probe();
  ProbeFunction function() const { return function_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  ProbeFunction function_ = nullptr;
};

std::string probe_assembly(const ProbeSpec& spec);

// Names that the object code needs from elsewhere; none is what vector_math promises.
std::vector<std::string> probe_undefined_symbols(const ProbeSpec& spec);

}  // namespace tenon::backend::llvm_cpu
