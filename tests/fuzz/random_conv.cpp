// SPDX-License-Identifier: Apache-2.0
#include "fuzz/random_conv.h"

#include <algorithm>

#include "te/ops.h"

namespace tenon::fuzz {
namespace {

using te::Tensor;

enum class Kind : uint8_t { kPlain, kGrouped, kDepthwise, kMultiplier, kTransposed, kPointwise };

constexpr double kMostWork = 6000;  // products; a case is interpreted several times

struct Drawing {
  Kind kind = Kind::kPlain;
  size_t rank = 2;
  ir::DType type = ir::kF32;
  int64_t images = 1, in = 1, out = 1;  // out: of each group of a transposed convolution
  std::vector<int64_t> x, kernel, extra;
  te::ConvParams p;
};

int64_t span_of(const Drawing& c, size_t d) { return (c.kernel[d] - 1) * c.p.dilation[d] + 1; }

int64_t out_extent(const Drawing& c, size_t d) {
  const int64_t pads = c.p.pad_before[d] + c.p.pad_after[d];
  if (c.kind == Kind::kTransposed)
    return (c.x[d] - 1) * c.p.stride[d] - pads + span_of(c, d) + c.extra[d];
  return (c.x[d] + pads - span_of(c, d)) / c.p.stride[d] + 1;
}

double work_of(const Drawing& c) {
  double work = static_cast<double>(c.images * c.out * c.in) / static_cast<double>(c.p.groups);
  if (c.kind == Kind::kTransposed) work *= static_cast<double>(c.p.groups);
  if (c.kind == Kind::kMultiplier) work /= static_cast<double>(c.in);
  for (size_t d = 0; d < c.rank; ++d)
    work *= static_cast<double>(std::max<int64_t>(out_extent(c, d), 1) * c.kernel[d]);
  return work;
}

bool fits(const Drawing& c) {
  for (size_t d = 0; d < c.rank; ++d) {
    const int64_t pads = c.p.pad_before[d] + c.p.pad_after[d];
    if (c.kind != Kind::kTransposed && c.x[d] + pads < span_of(c, d)) return false;
    if (out_extent(c, d) < 1) return false;
  }
  return work_of(c) <= kMostWork;
}

void draw_channels(Drawing& c, Rng& rng) {
  static const std::vector<int64_t> kChannels = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 20};
  c.in = rng.pick(kChannels);
  c.out = rng.pick(kChannels);
  if (c.kind == Kind::kGrouped) {
    c.p.groups = rng.between(2, 4);
    c.in = c.p.groups * rng.between(1, 4);
    c.out = c.p.groups * rng.between(1, 5);
  } else if (c.kind == Kind::kDepthwise) {
    c.out = c.p.groups = c.in;
  } else if (c.kind == Kind::kMultiplier) {
    c.out = c.in * rng.between(1, 3);
  } else if (c.kind == Kind::kTransposed && rng.chance(0.3)) {
    c.p.groups = rng.between(1, 3);
    c.in = c.p.groups * rng.between(1, 3);
    c.out = rng.between(1, 3);
  }
}

void draw_windows(Drawing& c, Rng& rng) {
  const bool filter = c.kind == Kind::kPlain && rng.chance(0.5);  // what other algorithms take
  const int64_t step = rng.chance(0.6) ? 1 : 2;
  for (size_t d = 0; d < c.rank; ++d) {
    const bool point = c.kind == Kind::kPointwise;
    c.kernel.push_back(point ? 1 : filter || rng.chance(0.4) ? 3 : rng.between(1, 4));
    c.p.stride.push_back(filter ? step : rng.chance(0.4) ? 1 : rng.between(2, 3));
    c.p.dilation.push_back(filter || rng.chance(0.6) ? 1 : 2);
    const int64_t most = point ? 0 : std::min<int64_t>(2, span_of(c, d) - 1);
    c.p.pad_before.push_back(rng.chance(0.3) ? 0 : rng.between(0, most));
    c.p.pad_after.push_back(rng.chance(0.5) ? c.p.pad_before[d] : rng.between(0, most));
    c.x.push_back(rng.between(1, c.rank == 1 ? 23 : c.rank == 2 ? 11 : 5));
    c.extra.push_back(rng.chance(0.3) ? rng.between(0, c.p.stride[d] - 1) : 0);
  }
}

Drawing draw(Rng& rng) {
  static const std::vector<Kind> kKinds = {
      Kind::kPlain,     Kind::kPlain,      Kind::kPlain,      Kind::kPlain,      Kind::kGrouped,
      Kind::kDepthwise, Kind::kMultiplier, Kind::kTransposed, Kind::kTransposed, Kind::kPointwise};
  static const std::vector<ir::DType> kTypes = {ir::kF32, ir::kF32, ir::kF32, ir::kF32, ir::kF32,
                                                ir::kF32, ir::kI32, ir::kI8,  ir::kBF16};
  while (true) {
    Drawing c;
    c.kind = rng.pick(kKinds);
    c.rank = c.kind == Kind::kMultiplier ? 2 : static_cast<size_t>(rng.between(1, 3));
    c.type = rng.pick(kTypes);
    c.images = rng.chance(0.8) ? 1 : 2;
    draw_windows(c, rng);
    draw_channels(c, rng);
    if (fits(c)) return c;
  }
}

std::vector<int64_t> join(std::vector<int64_t> a, const std::vector<int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Tensor add_conv(te::Builder& b, const Drawing& c) {
  const Tensor x = b.input("X", c.type, join({c.images, c.in}, c.x));
  const auto weights = [&](int64_t first, int64_t second) {
    return b.constant("W", c.type, join({first, second}, c.kernel));
  };
  if (c.kind == Kind::kTransposed)
    return te::conv_transpose(b, "C", x, weights(c.in, c.out), c.p, c.extra);
  if (c.kind == Kind::kMultiplier)
    return te::depthwise_conv2d(b, "C", x, weights(c.in, c.out / c.in), c.p);
  return te::conv(b, "C", x, weights(c.out, c.in / c.p.groups), c.p);
}

}  // namespace

te::ComputeDag random_conv(Rng& rng) {
  const Drawing c = draw(rng);
  te::Builder b;
  Tensor y = add_conv(b, c);
  const auto sum = [](std::span<const ir::Expr> e) { return e[0] + e[1]; };
  if (rng.chance(0.4)) {
    std::vector<int64_t> per_channel(y.rank() - 1, 1);
    per_channel[0] = y.shape()[1];
    y = te::elementwise(b, "B", {y, b.constant("bias", y.dtype(), per_channel)}, sum);
  }
  if (rng.chance(0.2)) y = te::elementwise(b, "S", {y, b.input("R", y.dtype(), y.shape())}, sum);
  if (rng.chance(0.4)) y = te::relu(b, "A", y);
  b.output(y);
  return b.finish();
}

}  // namespace tenon::fuzz
