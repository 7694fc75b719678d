// SPDX-License-Identifier: Apache-2.0
#include "search/layout_cases.h"

#include <algorithm>

namespace tenon::search {
namespace {

using te::Builder;
using te::Tensor;

// Small, of every divisibility.
int64_t channels(Rng& rng) { return rng.pick(std::vector<int64_t>{1, 3, 4, 5, 8, 12, 16, 17}); }

struct Sizes {
  std::vector<int64_t> in, kernel;
  te::ConvParams p;
};

Sizes draw_windows(Rng& rng, size_t rank) {
  Sizes s;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t kernel = rng.pick(std::vector<int64_t>{1, 2, 3, 3});
    const int64_t dilation = rng.chance(0.25) ? 2 : 1;
    const int64_t span = (kernel - 1) * dilation + 1;
    s.kernel.push_back(kernel);
    s.p.dilation.push_back(dilation);
    s.p.stride.push_back(rng.chance(0.5) ? 1 : rng.between(2, 3));
    s.p.pad_before.push_back(rng.chance(0.5) ? 0 : rng.between(0, kernel));
    s.p.pad_after.push_back(rng.chance(0.5) ? 0 : rng.between(0, kernel));
    s.in.push_back(span + rng.between(0, rank == 3 ? 4 : 8));
  }
  return s;
}

std::vector<int64_t> joined(std::vector<int64_t> a, const std::vector<int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Tensor draw_conv(Builder& b, Rng& rng, ir::DType type) {
  const auto rank = static_cast<size_t>(rng.chance(0.5) ? 2 : rng.between(1, 3));
  Sizes s = draw_windows(rng, rank);
  if (rng.chance(0.3)) {  // what other algorithms take
    s.kernel.assign(rank, 3);
    s.p.stride.assign(rank, 1);
    s.p.dilation.assign(rank, 1);
    for (int64_t& n : s.in) n = std::max<int64_t>(n, rank == 3 ? 4 : 6);
  }
  const bool grouped = rng.chance(0.25);
  const bool depthwise = !grouped && rng.chance(0.25);
  s.p.groups = grouped ? rng.between(2, 3) : 1;
  int64_t in = (rank == 3 ? rng.between(1, 5) : channels(rng)) * s.p.groups;
  int64_t out = channels(rng) * s.p.groups;
  if (depthwise) s.p.groups = in;
  if (depthwise) out = in * (rng.chance(0.8) ? 1 : 2);
  const Tensor x = b.input("X", type, joined({rng.between(1, 2), in}, s.in));
  const Tensor w = b.constant("W", type, joined({out, in / s.p.groups}, s.kernel));
  return te::conv(b, "Y", x, w, s.p);
}

Tensor draw_transposed(Builder& b, Rng& rng, ir::DType type) {
  const auto rank = static_cast<size_t>(rng.between(1, 2));
  Sizes s = draw_windows(rng, rank);
  s.p.groups = rng.chance(0.2) ? 2 : 1;
  for (size_t d = 0; d < rank; ++d) {
    s.p.pad_before[d] = rng.between(0, (s.kernel[d] - 1) / 2);
    s.p.pad_after[d] = rng.between(0, (s.kernel[d] - 1) / 2);
  }
  const int64_t in = channels(rng) * s.p.groups;
  const Tensor x = b.input("X", type, joined({1, in}, s.in));
  const Tensor w = b.constant("W", type, joined({in, channels(rng)}, s.kernel));
  return te::conv_transpose(b, "Y", x, w, s.p);
}

Tensor draw_matmul(Builder& b, Rng& rng, ir::DType type) {
  const bool batched = rng.chance(0.4);
  const bool ta = rng.chance(0.3);
  const bool tb = rng.chance(0.3);
  const int64_t m = channels(rng), n = channels(rng), k = channels(rng);
  std::vector<int64_t> x = ta ? std::vector{k, m} : std::vector{m, k};
  std::vector<int64_t> w = tb ? std::vector{n, k} : std::vector{k, n};
  if (batched) x.insert(x.begin(), rng.between(1, 3));
  if (batched && rng.chance(0.5)) w.insert(w.begin(), x[0]);
  const Tensor a = b.input("X", type, x);
  const Tensor c = rng.chance(0.6) ? b.constant("W", type, w) : b.input("Z", type, w);
  return batched ? te::batch_matmul(b, "Y", a, c, ta, tb) : te::matmul(b, "Y", a, c, ta, tb);
}

}  // namespace

te::ComputeDag random_complex(Rng& rng) {
  Builder b;
  const ir::DType type = rng.chance(0.8) ? ir::kF32 : ir::kI32;
  const int64_t kind = rng.between(0, 9);
  Tensor y = kind < 6   ? draw_conv(b, rng, type)
             : kind < 8 ? draw_matmul(b, rng, type)
                        : draw_transposed(b, rng, type);
  const bool conv = kind < 6 || kind >= 8;
  if (rng.chance(0.5)) {
    std::vector<int64_t> shape{conv ? y.shape()[1] : y.shape().back()};
    if (conv) shape.resize(y.rank() - 1, 1);
    const Tensor bias = b.constant("B", type, shape);
    y = te::elementwise(b, "T", {y, bias}, [](auto v) { return v[0] + v[1]; });
  }
  if (rng.chance(0.4)) {
    const Tensor s = b.input("S", type, y.shape());
    y = te::elementwise(b, "A", {y, s}, [](auto v) { return v[0] + v[1]; });
  }
  if (rng.chance(0.5)) y = te::relu(b, "R", y);
  b.output(y);
  return b.finish();
}

}  // namespace tenon::search
