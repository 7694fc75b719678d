// SPDX-License-Identifier: Apache-2.0
#include "onnx_suite/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace tenon::onnx_suite {
namespace {

std::string text(const ir::Array& a) {
  return fmt::format("{}[{}]", ir::to_string(a.dtype()), fmt::join(a.shape(), ","));
}

// How far beyond the tolerance, 0 inside.
double excess(const ir::Array& got, const ir::Array& want, int64_t i) {
  if (!want.dtype().is_float()) {
    return got.get(i).i == want.get(i).i ? 0 : 1;
  }
  const double g = got.get_double(i);
  const double w = want.get_double(i);
  if (g == w || (std::isnan(g) && std::isnan(w))) return 0;
  const double off = std::abs(g - w) - (kAbsolute + kRelative * std::abs(w));
  return std::isfinite(off) ? std::max(off, 0.0) : HUGE_VAL;
}

}  // namespace

std::string difference(const ir::Array& got, const ir::Array& want) {
  if (got.dtype() != want.dtype() || got.shape() != want.shape()) {
    return fmt::format("it is {}, not {}", text(got), text(want));
  }
  int64_t count = 0;
  int64_t worst = 0;
  double most = 0;
  for (int64_t i = 0; i < want.elements(); ++i) {
    const double e = excess(got, want, i);
    count += e > 0 ? 1 : 0;
    if (e > most) {
      most = e;
      worst = i;
    }
  }
  if (count == 0) return "";
  return fmt::format("{} of {} elements of {} differ; element {} is {}, not {}", count,
                     want.elements(), text(want), worst, got.get_double(worst),
                     want.get_double(worst));
}

}  // namespace tenon::onnx_suite
