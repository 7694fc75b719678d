// SPDX-License-Identifier: Apache-2.0
// A small, fast, reproducible generator (splitmix64). Passed by reference, never global.
#pragma once

#include <cstdint>
#include <vector>

#include "support/check.h"

namespace tenon {

class Rng {
 public:
  explicit Rng(uint64_t seed) : s_(seed) {}
  uint64_t next() {
    uint64_t z = (s_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  // Uniform in [lo, hi], both ends included.
  int64_t between(int64_t lo, int64_t hi) {
    TENON_CHECK(lo <= hi) << lo << ".." << hi;
    // In unsigned arithmetic: hi - lo may not fit into int64_t. A span of 0 means all 2^64 values.
    const uint64_t span = static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo) + 1;
    const uint64_t offset = span == 0 ? next() : next() % span;
    return static_cast<int64_t>(static_cast<uint64_t>(lo) + offset);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  bool chance(double p) { return unit() < p; }
  template <class T>
  const T& pick(const std::vector<T>& v) {
    TENON_CHECK(!v.empty());
    return v[static_cast<size_t>(between(0, static_cast<int64_t>(v.size()) - 1))];
  }
  // An independent generator for a sub-task.
  Rng fork() { return Rng(next()); }

 private:
  uint64_t s_;
};

}  // namespace tenon
