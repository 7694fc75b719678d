// SPDX-License-Identifier: Apache-2.0
#include "backend/llvm/reciprocal.h"

#include <cmath>
#include <limits>

namespace tenon::backend::llvm_cpu {
namespace {

float quotient(float x, const Reciprocal& r) { return std::fma(x, r.high, x * r.low); }

// Scales this far from the ends of f32 leave room for their reciprocals and for products with small integers.
constexpr float kLeastScale = 1e-30F;

}  // namespace

// Both roundings grow with x, so they agree if they step from n to n + 1 between the same two numbers. These lie near
// (n + 1/2) * scale.
std::optional<Reciprocal> reciprocal_of(float scale, int64_t least, int64_t most) {
  if (!(scale > kLeastScale) || !(scale < 1 / kLeastScale)) return std::nullopt;
  const double exact = 1 / static_cast<double>(scale);
  Reciprocal r;
  r.high = static_cast<float>(exact);
  if (static_cast<double>(r.high) > exact) r.high = std::nextafter(r.high, 0.0F);
  r.low = static_cast<float>(exact - static_cast<double>(r.high));
  constexpr int kNeighbours = 4;
  const float infinity = std::numeric_limits<float>::infinity();
  for (int64_t n = least - 1; n <= most; ++n) {
    const double step = static_cast<double>(n) + 0.5;
    auto x = static_cast<float>(step * static_cast<double>(scale));
    for (int i = 0; i < kNeighbours; ++i) x = std::nextafter(x, -infinity);
    const float before = std::nearbyint(x / scale);
    for (int i = 0; i <= 2 * kNeighbours; ++i, x = std::nextafter(x, infinity)) {
      if (std::nearbyint(x / scale) != std::nearbyint(quotient(x, r))) return std::nullopt;
    }
    if (static_cast<double>(before) > step || static_cast<double>(std::nearbyint(x / scale)) < step)
      return std::nullopt;
  }
  return r;
}

}  // namespace tenon::backend::llvm_cpu
