// SPDX-License-Identifier: Apache-2.0
// The columns of a token, and how sizes become numbers of about one.
//
//   row.begin(kNestToken, stage.flags); row.axis(facts); row.mark_loop(loop); row.number(0, log_of(16));
#pragma once

#include <algorithm>
#include <vector>

#include "cost/tokens.h"

namespace tenon::cost {

inline constexpr uint32_t kFlagsAt = kTokenKinds, kRoleAt = kFlagsAt + 8,
                          kAxisAt = kRoleAt + kAxisRoles, kMarksAt = kAxisAt + 1,
                          kNumbersAt = kMarksAt + kTokenMarks;
inline constexpr float kLogUnit = 0.125F;  // logarithms up to 40 beside flags

float log_of(int64_t v);  // log2(1 + v) / 8
inline float small(int64_t v, float of) { return static_cast<float>(v) / of; }
// What a vector leaves over of an extent, as a share of the vector.
inline float left_over(int64_t extent, int64_t lanes) {
  return static_cast<float>(extent % lanes) / static_cast<float>(lanes);
}

// What rows tell of a target.
struct TokenMachine {
  int64_t vector_bytes = 16, registers = 16, cores = 1, l1 = 0, l2 = 0, l3 = 0;
  bool gpu = false;

  explicit TokenMachine(const target::Target& t);
  int64_t lanes(int64_t element_bytes) const {
    return std::max<int64_t>(1, vector_bytes / std::max<int64_t>(1, element_bytes));
  }
};

class TokenWriter {
 public:
  explicit TokenWriter(std::vector<float>& values) : values_(values) {}

  bool full() const { return values_.size() >= kTokenRows * kTokenColumns; }
  void begin(size_t kind, uint8_t flags);
  void axis(const AxisFacts& f);
  void mark_loop(const SketchLoop& l);
  void number(size_t which, float v) {
    if (which < kTokenNumbers) values_[at_ + kNumbersAt + which] = v;
  }

 private:
  std::vector<float>& values_;
  size_t at_ = 0;
};

}  // namespace tenon::cost
