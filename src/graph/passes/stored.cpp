// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/stored.h"

#include "support/check.h"

namespace tenon::graph {
namespace {

// Element `offset` belongs to channel offset / inner % channels.
struct Channels {
  int64_t count = 1, inner = 1;

  Channels(const Shape& shape, size_t axis) : count(shape[axis]) {
    for (size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  }
  size_t of(int64_t offset) const { return static_cast<size_t>(offset / inner % count); }
};

int64_t element(const ir::Array& w, int64_t i) {
  const auto byte = std::to_integer<uint8_t>(w.data()[i]);
  return w.dtype().is_signed() ? static_cast<int8_t>(byte) : int64_t{byte};
}

}  // namespace

std::optional<std::vector<double>> per_channel(const ir::Array& p, const Shape& of, size_t axis) {
  const auto count = static_cast<size_t>(of[axis]);
  if (p.elements() == 1) return std::vector<double>(count, p.get_double(0));
  const size_t missing = of.size() - p.shape().size();
  if (p.shape().size() > of.size() || p.elements() != of[axis] || axis < missing ||
      p.shape()[axis - missing] != of[axis])
    return std::nullopt;
  std::vector<double> out;
  for (size_t i = 0; i < count; ++i) out.push_back(p.get_double(static_cast<int64_t>(i)));
  return out;
}

std::optional<ir::Array> centred(const ir::Array& w, const std::vector<double>& zeros,
                                 size_t axis) {
  TENON_CHECK(w.dtype().bits == 8) << ir::to_string(w.dtype());
  const Channels channels(w.shape(), axis);
  ir::Array out(ir::kI8, w.shape());
  for (int64_t i = 0; i < w.elements(); ++i) {
    const int64_t v = element(w, i) - static_cast<int64_t>(zeros[channels.of(i)]);
    if (v < -128 || v > 127) return std::nullopt;
    out.data()[i] = static_cast<std::byte>(v & 0xff);
  }
  return out;
}

std::vector<int64_t> channel_sums(const ir::Array& w, size_t axis) {
  const Channels channels(w.shape(), axis);
  std::vector<int64_t> sums(static_cast<size_t>(channels.count), 0);
  for (int64_t i = 0; i < w.elements(); ++i) sums[channels.of(i)] += element(w, i);
  return sums;
}

}  // namespace tenon::graph
