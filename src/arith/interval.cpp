// SPDX-License-Identifier: Apache-2.0
#include "arith/interval.h"

#include <algorithm>

#include "arith/linear.h"
#include "ir/build.h"

namespace tenon::arith {
namespace {

constexpr int64_t kMinusInf = Interval::kMinusInf;
constexpr int64_t kPlusInf = Interval::kPlusInf;

// An end that leaves 64 bits is as good as unknown.
int64_t add_end(int64_t a, int64_t b, int64_t infinity) {
  int64_t r = 0;
  if (a == infinity || b == infinity || __builtin_add_overflow(a, b, &r)) {
    return infinity;
  }
  return r;
}

// `e * k` for an end `e` of an interval, k != 0; `infinity` is what the product tends to.
int64_t scale_end(int64_t e, int64_t k, int64_t infinity) {
  int64_t r = 0;
  if (e == kMinusInf || e == kPlusInf || __builtin_mul_overflow(e, k, &r)) {
    return infinity;
  }
  return r;
}

}  // namespace

Interval operator+(Interval a, Interval b) {
  return {add_end(a.lo, b.lo, kMinusInf), add_end(a.hi, b.hi, kPlusInf)};
}

Interval operator*(Interval a, int64_t k) {
  if (k == 0) {
    return {0, 0};
  }
  if (k > 0) {
    return {scale_end(a.lo, k, kMinusInf), scale_end(a.hi, k, kPlusInf)};
  }
  return {scale_end(a.hi, k, kMinusInf), scale_end(a.lo, k, kPlusInf)};
}

Interval operator-(Interval a, Interval b) { return a + b * -1; }

Interval operator*(Interval a, Interval b) {
  if (a.is_point()) {
    return b * a.lo;
  }
  if (b.is_point()) {
    return a * b.lo;
  }
  if (a.bounded() && b.bounded()) {
    return unite(unite(a * b.lo, a * b.hi), unite(b * a.lo, b * a.hi));
  }
  if (a.lo >= 0 && b.lo >= 0) {
    return {scale_end(a.lo, b.lo, kMinusInf), kPlusInf};
  }
  return {};
}

Interval min(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)}; }
Interval max(Interval a, Interval b) { return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)}; }
Interval unite(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Interval intersect(Interval a, Interval b) {
  const Interval r{std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
  return r.lo <= r.hi ? r : a;
}

Interval floor_div(Interval a, Interval b) {
  if (b.lo <= 0) {
    return {};
  }
  const auto end = [&](int64_t e, bool towards_zero) {
    if (e == kMinusInf || e == kPlusInf) {
      return e;
    }
    const int64_t divisor = towards_zero ? b.hi : b.lo;
    return divisor == kPlusInf ? (e < 0 ? -1 : 0) : floor_div(e, divisor);
  };
  return {end(a.lo, a.lo >= 0), end(a.hi, a.hi < 0)};
}

Interval floor_mod(Interval a, Interval b) {
  if (b.lo <= 0) {
    return {};
  }
  if (b.is_point() && a.bounded()) {
    const int64_t q = floor_div(a.lo, b.lo);
    if (q == floor_div(a.hi, b.lo)) {
      return {a.lo - q * b.lo, a.hi - q * b.lo};
    }
  }
  const int64_t largest = b.hi == kPlusInf ? kPlusInf : b.hi - 1;
  return {0, a.lo >= 0 ? std::min(a.hi, largest) : largest};
}

Interval range_of(ir::DType t) {
  if (t.is_bool()) {
    return {0, 1};
  }
  if (!t.is_int() || t.bits >= 64) {
    return {};
  }
  if (t.code == ir::TypeCode::kUInt) {
    return {0, (int64_t{1} << t.bits) - 1};
  }
  const int64_t half = int64_t{1} << (t.bits - 1);
  return {-half, half - 1};
}

void Ranges::add_fact(const Linear& non_negative) {
  facts_.push_back(std::make_shared<const Linear>(non_negative));
}

}  // namespace tenon::arith
