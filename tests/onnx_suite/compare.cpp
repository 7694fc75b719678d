// SPDX-License-Identifier: Apache-2.0
#include "onnx_suite/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/check.h"

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

template <class Excess>
std::string worst_of(const ir::Array& got, const ir::Array& want, const Excess& excess) {
  int64_t count = 0;
  int64_t worst = 0;
  double most = 0;
  for (int64_t i = 0; i < want.elements(); ++i) {
    const double e = excess(i);
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

}  // namespace

std::string difference(const ir::Array& got, const ir::Array& want) {
  if (got.dtype() != want.dtype() || got.shape() != want.shape()) {
    return fmt::format("it is {}, not {}", text(got), text(want));
  }
  return worst_of(got, want, [&](int64_t i) { return excess(got, want, i); });
}

std::string difference_in_bits(const ir::Array& got, const ir::Array& want) {
  TENON_CHECK(got.dtype() == ir::kBF16 && want.dtype() == ir::kU16);
  if (got.shape() != want.shape()) {
    return fmt::format("it is {}, not {}", text(got), text(want));
  }
  return worst_of(got, want, [&](int64_t i) {
    uint16_t bits = 0;
    std::memcpy(&bits, got.data() + 2 * i, 2);
    const auto wanted = static_cast<uint16_t>(want.get(i).i);
    const bool nan = std::isnan(got.get_double(i)) && std::isnan(ir::bf16_to_f32(wanted));
    return nan ? 0 : std::max(0, std::abs(bits - wanted) - 1);
  });
}

}  // namespace tenon::onnx_suite
