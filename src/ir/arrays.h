// SPDX-License-Identifier: Apache-2.0
// What can be said of arrays: the statistics of one; how far two are apart, and the smallest tolerance
// under which they are equal.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/interp.h"

namespace tenon::ir {

// An element matches if |got - reference| <= atol + rtol * |reference|. NaN equals NaN, an infinity equals itself.
struct Tolerance {
  double rtol = 1e-3;
  std::optional<double> atol;  // nothing: 1e-4 of the reference's largest value

  double atol_for(double largest) const { return atol.value_or(1e-4 * largest); }
};
// Integers and bools are equal or not, unless a tolerance is asked for.
Tolerance tolerance_of(DType dtype, std::optional<double> rtol, std::optional<double> atol);

struct Difference {
  double largest = 0;  // |reference|, finite ones
  double max_abs =
      0;  // |got - reference|; infinite if one is NaN or infinite and the other is not so
  double rtol = 0, atol = 0;  // as used
  int64_t failing = 0;        // elements
  int64_t elements = 0;
  int64_t nan = 0;     // elements that are NaN on both sides, and so match
  int64_t finite = 0;  // elements of the reference
  int64_t worst = 0;   // index of max_abs
  double worst_got = 0, worst_reference = 0;
  // Each alone, with the other 0: what would just pass. Infinite: nothing would.
  double passing_atol = 0, passing_rtol = 0;

  bool matches() const { return failing == 0; }
  // A reference without a finite number would match any output that lost its numbers the same way.
  bool decides() const { return elements == 0 || finite > 0; }
  bool passes() const { return matches() && decides(); }
};

// Both of the same type and shape.
Difference differ(const Array& got, const Array& reference, const Tolerance& tolerance);

// Largest difference over all outputs, divided by the largest value of the reference.
double relative_error(const std::vector<Array>& got, const std::vector<Array>& reference);

struct Statistics {
  double mean = 0, min = 0, max = 0;
  int64_t not_finite = 0;  // left out of the others
};
Statistics statistics(const Array& array);

}  // namespace tenon::ir
