// SPDX-License-Identifier: Apache-2.0
#include "onnx/ops/even_steps.h"

#include <algorithm>

#include "ir/build.h"

namespace tenon::onnx {

namespace {

constexpr int64_t kLongest = 8;  // period

int64_t step(const EvenSteps& s, int64_t i) {
  const int64_t n = s.advance * i + s.shift;
  return n / s.period - (n % s.period < 0 ? 1 : 0);
}

bool follows(std::span<const int64_t> index, const EvenSteps& s) {
  for (size_t i = 0; i < index.size(); ++i) {
    if (step(s, static_cast<int64_t>(i)) != index[i]) return false;
  }
  return true;
}

}  // namespace

std::optional<EvenSteps> find_even_steps(std::span<const int64_t> index) {
  const auto n = static_cast<int64_t>(index.size());
  if (n == 1) return EvenSteps{1, 0, index[0]};
  for (int64_t period = 1; period <= std::min(kLongest, n - 1); ++period) {
    const int64_t advance = index[static_cast<size_t>(period)] - index[0];
    for (int64_t part = 0; part < period; ++part) {
      const EvenSteps s{period, advance, period * index[0] + part};
      if (follows(index, s)) return s;
    }
  }
  return std::nullopt;
}

ir::Expr step_of(const EvenSteps& s, const ir::Expr& i) {
  return ir::floor_div(i * s.advance + s.shift, s.period);
}

}  // namespace tenon::onnx
