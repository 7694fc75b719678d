// SPDX-License-Identifier: Apache-2.0
#include "te/rounding.h"

#include <algorithm>
#include <cmath>

namespace tenon::te {
namespace {

double epsilon_of(ir::DType type) {
  if (!type.is_float()) {
    return 0;
  }
  const int mantissa_bits = type == ir::kF64   ? 52
                            : type == ir::kF32 ? 23
                            : type == ir::kF16 ? 10
                                               : 7;
  return std::ldexp(1.0, -mantissa_bits);
}

}  // namespace

double tolerance(const ComputeDag& dag) {
  double longest = 1;
  double epsilon = 0;
  for (const OpRef& op : dag.ops) {
    double length = 1;
    for (const Axis& axis : op->reduce_axes) {
      length *= static_cast<double>(axis.extent);
    }
    longest = std::max(longest, length);
    epsilon = std::max(epsilon, epsilon_of(op->output.dtype()));
  }
  return 16 * epsilon * std::sqrt(longest);
}

}  // namespace tenon::te
