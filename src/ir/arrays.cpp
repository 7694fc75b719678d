// SPDX-License-Identifier: Apache-2.0
#include "ir/arrays.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/check.h"

namespace tenon::ir {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double distance(double got, double reference) {
  if (got == reference || (std::isnan(got) && std::isnan(reference))) {
    return 0;
  }
  const double d = std::abs(got - reference);
  return std::isnan(d) ? kInfinite : d;
}

}  // namespace

Tolerance tolerance_of(DType dtype, std::optional<double> rtol, std::optional<double> atol) {
  if (dtype.is_float()) {
    return {rtol.value_or(1e-3), atol};
  }
  return {rtol.value_or(0), atol.value_or(0)};
}

Difference differ(const Array& got, const Array& reference, const Tolerance& tolerance) {
  TENON_CHECK(got.dtype() == reference.dtype() && got.shape() == reference.shape());
  Difference d;
  d.elements = reference.elements();
  for (int64_t i = 0; i < d.elements; ++i) {
    const double r = std::abs(reference.get_double(i));
    d.largest = std::isfinite(r) ? std::max(d.largest, r) : d.largest;
    d.finite += std::isfinite(r) ? 1 : 0;
    d.nan += std::isnan(r) && std::isnan(got.get_double(i)) ? 1 : 0;
  }
  d.rtol = tolerance.rtol;
  d.atol = tolerance.atol_for(d.largest);
  for (int64_t i = 0; i < d.elements; ++i) {
    const double r = reference.get_double(i);
    const double apart = distance(got.get_double(i), r);
    const double scale = std::isfinite(r) ? std::abs(r) : 0;
    d.failing += apart > d.atol + d.rtol * scale ? 1 : 0;
    if (apart > 0) {
      d.passing_rtol = std::max(d.passing_rtol, scale > 0 ? apart / scale : kInfinite);
    }
    if (apart > d.max_abs) {
      d.max_abs = apart;
      d.worst = i;
      d.worst_got = got.get_double(i);
      d.worst_reference = r;
    }
  }
  d.passing_atol = d.max_abs;
  return d;
}

double relative_error(const std::vector<Array>& got, const std::vector<Array>& reference) {
  double difference = 0;
  double largest = 0;
  for (size_t o = 0; o < reference.size(); ++o) {
    for (int64_t i = 0; i < reference[o].elements(); ++i) {
      const double expected = reference[o].get_double(i);
      const double delta = std::abs(got[o].get_double(i) - expected);
      difference = std::isnan(delta) ? INFINITY : std::max(difference, delta);
      largest = std::max(largest, std::abs(expected));
    }
  }
  return largest > 0 ? difference / largest : difference;
}

Statistics statistics(const Array& array) {
  Statistics s;
  s.min = std::numeric_limits<double>::infinity();
  s.max = -s.min;
  int64_t finite = 0;
  for (int64_t i = 0; i < array.elements(); ++i) {
    const double v = array.get_double(i);
    if (!std::isfinite(v)) {
      ++s.not_finite;
      continue;
    }
    ++finite;
    s.mean += (v - s.mean) / static_cast<double>(finite);
    s.min = std::min(s.min, v);
    s.max = std::max(s.max, v);
  }
  return finite == 0 ? Statistics{0, 0, 0, s.not_finite} : s;
}

}  // namespace tenon::ir
