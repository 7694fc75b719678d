// SPDX-License-Identifier: Apache-2.0
// Division by a constant scale as a multiplication, where the quotient is rounded to an integer.
#pragma once

#include <cstdint>
#include <optional>

namespace tenon::backend::llvm_cpu {

// A scale as a factor in two parts: round(fma(x, high, x * low)) is round(x / scale) for every x, as far as the result can
// be told apart in integers from `least` to `most`. Nothing where that does not hold: it is tried out.
struct Reciprocal {
  float high = 0, low = 0;
};
std::optional<Reciprocal> reciprocal_of(float scale, int64_t least, int64_t most);

}  // namespace tenon::backend::llvm_cpu
