// SPDX-License-Identifier: Apache-2.0
#include "templates/case_tables.h"

#include "te/ops.h"

namespace tenon::templates {
namespace {

te::ComputeDag copy_dag(std::vector<int64_t> shape) {
  te::Builder b;
  b.output(te::elementwise(b, "Y", {b.input("X", ir::kF32, std::move(shape))},
                           [](auto v) { return v[0]; }));
  return b.finish();
}

// Poses of capsules, their rows to the front: whole lines of X are far apart in Y.
te::ComputeDag poses_dag(int64_t h, int64_t w, int64_t c, int64_t size) {
  te::Builder b;
  const auto x = b.input("X", ir::kF32, {h, w, c, size, size});
  b.output(te::transpose(b, "Y", x, {3, 2, 4, 0, 1}));
  return b.finish();
}

te::ComputeDag concat_dag(const std::vector<int64_t>& channels, bool epilogue) {
  te::Builder b;
  std::vector<te::Tensor> parts;
  for (const int64_t c : channels)
    parts.push_back(b.input("X" + std::to_string(parts.size()), ir::kF32, {1, c, 5, 7}));
  auto y = te::concat(b, "Y", parts, 1);
  if (epilogue) {
    const auto g = b.constant("G", ir::kF32, {y.shape()[1], 1, 1});
    y = te::elementwise(b, "Z", {y, g}, [](auto v) { return v[0] * v[1]; });
  }
  b.output(y);
  return b.finish();
}

}  // namespace

std::vector<Case> map_cases() {
  return {
      {"elementwise", "copy",
       [] {
         return copy_dag({2, 48, 5, 7});
       }},
      {"elementwise", "copy_sequence",
       [] {
         return copy_dag({1, 32, 16});
       }},
      {"elementwise", "poses", [] { return poses_dag(3, 16, 2, 4); }},
      {"elementwise", "poses_odd", [] { return poses_dag(5, 8, 3, 3); }},
      unary("elementwise", "gelu", {5, 83},
            [](te::Builder& b, const te::Tensor& x) { return te::gelu(b, "Y", x); }),
      unary("elementwise", "transpose", {5, 7, 33},
            [](te::Builder& b, const te::Tensor& x) {
              return te::transpose(b, "Y", x, {2, 0, 1});
            }),
      unary("elementwise", "transpose2d", {37, 21},
            [](te::Builder& b, const te::Tensor& x) {
              return te::transpose(b, "Y", x, {1, 0});
            }),
      {"elementwise", "concat",
       [] {
         return concat_dag({16, 32, 16}, false);
       }},
      {"elementwise", "concat_many",
       [] {
         return concat_dag({16, 8, 8, 16, 8, 8, 4, 12}, true);
       }},
      {"elementwise", "concat_odd",
       [] {
         return concat_dag({5, 24, 3}, true);
       }},
      unary("elementwise", "slice", {2, 40, 6, 5},
            [](te::Builder& b, const te::Tensor& x) {
              return te::slice(b, "Y", x, {0, 16, 1, 0}, {2, 16, 4, 5});
            }),
      unary("elementwise", "channel_shuffle", {1, 24, 5, 6},
            [](te::Builder& b, const te::Tensor& x) {
              const auto r = te::reshape(b, "R", x, {1, 2, 12, 5, 6});
              const auto t = te::transpose(b, "T", r, {0, 2, 1, 3, 4});
              return te::reshape(b, "Y", t, {1, 24, 5, 6});
            }),
      unary("elementwise", "pad", {1, 20, 6, 9},
            [](te::Builder& b, const te::Tensor& x) {
              return te::pad(b, "Y", x, {0, 0, 1, 2}, {0, 4, 2, 1}, 1.5);
            }),
      parsed("elementwise", "resize_nearest",
             "input X: f32[2, 20, 4, 5]\n"
             "Y[n: 2, c: 20, y: 8, x: 15] = X[n, c, y // 2, x // 3]\n"
             "output Y\n"),
      parsed("elementwise", "resize_nearest_long",
             "input X: f32[2, 3, 4, 25]\n"
             "Y[n: 2, c: 3, y: 8, x: 75] = X[n, c, y // 2, x // 3]\n"
             "output Y\n"),
      parsed("elementwise", "depth_to_space",
             "input X: f32[1, 12, 4, 5]\n"
             "Y[n: 1, c: 3, y: 8, x: 10] = X[n, c * 4 + y % 2 * 2 + x % 2, y // 2, x // 2]\n"
             "output Y\n"),
  };
}

}  // namespace tenon::templates
