// SPDX-License-Identifier: Apache-2.0
// Random numbers for training, from one generator that the trainer owns.
//
//   Random random(7);
//   random.unit();   // between 0 and 1
#pragma once

#include <cstdint>

namespace tenon::agent {

// Uniform numbers that are the same on every machine (splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed) : s_(seed) {}
  double unit();
  double normal();
  double gamma(double shape);  // shape >= 1
  double beta(double a, double b);

 private:
  uint64_t s_;
};

}  // namespace tenon::agent
