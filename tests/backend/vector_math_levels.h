// SPDX-License-Identifier: Apache-2.0
// The instruction sets that vector_math is tested for, and running a probe over whole arrays.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "backend/llvm/vector_math/probe.h"

namespace tenon::backend::llvm_cpu {

struct Level {
  const char* name;
  const char* features;
  bool fma;
  bool round;
  bool scale = false;
};

inline constexpr Level kX86Levels[] = {
    {"sse2", "+sse2", false, false},
    {"sse4.2", "+sse4.2", false, true},
    {"avx2", "+avx2,+fma", true, true},
    {"avx512", "+avx512f,+avx512vl,+avx512dq,+avx512bw,+avx2,+fma", true, true, true},
};

inline bool runs_here([[maybe_unused]] std::string_view level) {
#if defined(__x86_64__)
  if (level == "avx512") {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  }
  if (level == "avx2") {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  }
  return level == "sse2" || __builtin_cpu_supports("sse4.2");
#else
  return false;
#endif
}

inline std::vector<Level> levels_here() {
  std::vector<Level> levels;
  for (const Level& level : kX86Levels) {
    if (runs_here(level.name)) {
      levels.push_back(level);
    }
  }
  return levels;
}

inline ProbeSpec spec_for(ir::Intrinsic fn, bool f64, int lanes, const Level& level) {
  ProbeSpec spec;
  spec.fn = fn;
  spec.f64 = f64;
  spec.lanes = lanes;
  spec.has_fma = level.fma;
  spec.has_round = level.round;
  spec.has_scale = level.scale;
  spec.triple = "x86_64-unknown-linux-gnu";
  spec.cpu = "x86-64";
  spec.features = level.features;
  return spec;
}

// fn over a (and b, c) element by element; the arrays are padded to whole vectors.
template <class T>
std::vector<T> run(const ProbeSpec& spec, const std::vector<T>& a, const std::vector<T>& b = {},
                   const std::vector<T>& c = {}) {
  const Probe probe(spec);
  const auto lanes = static_cast<size_t>(spec.lanes);
  const size_t n = (a.size() + lanes - 1) / lanes;
  auto padded = [&](std::vector<T> v) {
    v.resize(n * lanes, T(0.5));
    return v;
  };
  const std::vector<T> x = padded(a), y = padded(b), z = padded(c);
  std::vector<T> out(n * lanes, T(-77));
  probe.function()(x.data(), y.data(), z.data(), out.data(), static_cast<int64_t>(n));
  out.resize(a.size());
  return out;
}

}  // namespace tenon::backend::llvm_cpu
