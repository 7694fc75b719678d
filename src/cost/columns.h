// SPDX-License-Identifier: Apache-2.0
// The columns of a row of features, written from left to right.
//
//   columns.squashed(1023); columns.one_hot(1, 3);   =>   10, 0, 1, 0
#pragma once

#include <cmath>
#include <cstddef>

namespace tenon::cost {

// Ansor's and AutoTVM's squashing of everything that may be large.
inline float slog(double v) {
  return v == 0 ? 0 : static_cast<float>(std::copysign(std::log2(std::abs(v) + 1), v));
}

class ColumnWriter {
 public:
  explicit ColumnWriter(float* at) : at_(at) {}
  void exact(double v) { *at_++ = static_cast<float>(v); }
  void squashed(double v) { *at_++ = slog(v); }
  void one_hot(size_t which, size_t of) {
    at_[which] = 1;
    at_ += of;
  }
  void skip(size_t n) { at_ += n; }
  const float* at() const { return at_; }

 private:
  float* at_;  // zeros
};

}  // namespace tenon::cost
