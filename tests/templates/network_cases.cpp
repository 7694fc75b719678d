// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "templates/case_tables.h"

namespace tenon::templates {
namespace {

// X * W + bias, ReLU.
Case conv(const std::vector<int64_t>& x, int64_t out, int64_t taps, int64_t stride,
          int64_t dilation = 1, int64_t groups = 1) {
  const std::string name = fmt::format("net_conv_{}_{}_{}_{}_{}_{}_{}_{}", x[0], x[1], x[2], out,
                                       taps, stride, dilation, groups);
  return {"", name, [=] {
            te::Builder b;
            std::vector<int64_t> w{out, x[1] / groups}, bias{out};
            te::ConvParams p;
            p.groups = groups;
            for (size_t d = 2; d < x.size(); ++d) {
              w.push_back(taps);
              bias.push_back(1);
              p.stride.push_back(stride);
              p.dilation.push_back(dilation);
              p.pad_before.push_back(taps / 2 * dilation);
              p.pad_after.push_back(taps / 2 * dilation);
            }
            const auto y =
                te::conv(b, "C", b.input("X", ir::kF32, x), b.constant("W", ir::kF32, w), p);
            const auto z = te::elementwise(b, "B", {y, b.constant("bias", ir::kF32, bias)},
                                           [](auto v) { return v[0] + v[1]; });
            b.output(te::relu(b, "A", z));
            return b.finish();
          }};
}

// X * W + bias + residual; a layer norm of X in front.
Case dense(const std::vector<int64_t>& x, int64_t columns, bool transposed, bool norm) {
  const int64_t rows = x[x.size() - 2], k = x.back();
  const std::string name = fmt::format("net_dense_{}_{}_{}{}{}", rows, k, columns,
                                       transposed ? "_t" : "", norm ? "_norm" : "");
  return {
      "", name, [=] {
        te::Builder b;
        auto in = b.input("X", ir::kF32, x);
        if (norm) {
          const auto g = b.constant("G", ir::kF32, {k}), h = b.constant("H", ir::kF32, {k});
          in = te::layer_norm(b, "N", in, g, h, 1e-5);
        }
        const auto w = transposed ? b.constant("W", ir::kF32, {columns, k})
                                  : b.constant("W", ir::kF32, {k, columns});
        const auto y = te::batch_matmul(b, "Y", in, w, false, transposed);
        const auto bias = b.constant("B", ir::kF32, {columns});
        const auto r = b.input("R", ir::kF32, y.shape());
        b.output(te::elementwise(b, "O", {y, bias, r}, [](auto v) { return v[0] + v[1] + v[2]; }));
        return b.finish();
      }};
}

Case pair(int64_t c, int64_t k, int64_t size, int64_t stride) {
  return {"", fmt::format("net_pair_{}_{}_{}_{}", c, k, size, stride), [=] {
            te::Builder b;
            const auto x = b.input("X", ir::kF32, {1, c, size, size});
            const auto d = b.constant("D", ir::kF32, {c, 1, 3, 3});
            const auto w = b.constant("W", ir::kF32, {k, c, 1, 1});
            const auto y =
                te::relu(b, "Y", te::conv(b, "S", x, d, {{stride, stride}, {1, 1}, {1, 1}, {}, c}));
            b.output(te::relu(b, "Z", te::conv(b, "P", y, w, {})));
            return b.finish();
          }};
}

// softmax(Q K^T) V of one tensor that holds all three.
Case attention(int64_t heads, int64_t rows, int64_t depth) {
  return {"", fmt::format("net_attention_{}_{}_{}", heads, rows, depth), [=] {
            te::Builder b;
            const auto x = b.input("X", ir::kF32, {rows, 3 * heads * depth});
            const auto part = [&](const std::string& name, int64_t n) {
              return b.compute(name, {heads, rows, depth}, [&](std::span<const ir::Var> at) {
                return ir::load(x, {at[1], at[0] * depth + at[2] + n * heads * depth});
              });
            };
            const auto q = part("Q", 0), k = part("K", 1), v = part("V", 2);
            const auto s = te::batch_matmul(b, "S", q, k, false, true);
            const auto o = te::batch_matmul(b, "O", te::softmax(b, "P", s), v);
            b.output(te::transpose(b, "T", o, {1, 0, 2}));
            return b.finish();
          }};
}

Case matmul(int64_t m, int64_t n, int64_t k, bool constant, bool transposed) {
  const std::string name =
      fmt::format("net_matmul_{}_{}_{}{}{}", m, n, k, constant ? "_c" : "", transposed ? "_t" : "");
  return {"", name, [=] {
            te::Builder b;
            const std::vector<int64_t> w = transposed ? std::vector{n, k} : std::vector{k, n};
            const auto x = b.input("X", ir::kF32, {m, k});
            b.output(te::matmul(b, "Y", x,
                                constant ? b.constant("W", ir::kF32, w) : b.input("W", ir::kF32, w),
                                false, transposed));
            return b.finish();
          }};
}

Case capsule() {
  return {"", "net_capsule", [] {
            te::Builder b;
            const auto x = b.input("X", ir::kF32, {1, 16, 16, 32, 4, 4});
            const auto w = b.constant("W", ir::kF32, {3, 3, 32, 4, 4, 32});
            b.output(te::capsule_conv2d(b, "Y", x, w, {{2, 2}, {0, 0}, {0, 0}, {}, 1}));
            return b.finish();
          }};
}

}  // namespace

std::vector<Case> network_cases() {
  std::vector<Case> out{
      conv({1, 3, 224, 224}, 64, 7, 2),
      conv({1, 64, 56, 56}, 64, 3, 1),
      conv({1, 64, 56, 56}, 256, 1, 1),
      conv({1, 256, 56, 56}, 64, 1, 1),
      conv({1, 64, 56, 56}, 128, 3, 2),
      conv({1, 128, 28, 28}, 128, 3, 1),
      conv({1, 256, 14, 14}, 256, 3, 1),
      conv({1, 512, 7, 7}, 512, 3, 1),
      conv({1, 1024, 14, 14}, 256, 1, 1),
      conv({1, 512, 28, 28}, 256, 1, 1),
      conv({1, 256, 56, 56}, 512, 1, 2),
      conv({1, 512, 14, 14}, 512, 3, 2),
      conv({4, 64, 28, 28}, 96, 3, 1),
      conv({1, 64, 56, 56}, 64, 3, 1, 2),
      conv({1, 128, 28, 28}, 128, 3, 1, 1, 32),
      conv({1, 96, 56, 56}, 96, 3, 1, 1, 96),
      conv({1, 144, 56, 56}, 144, 5, 2, 1, 144),
      conv({1, 32, 112, 112}, 32, 3, 1, 1, 32),
      conv({1, 64, 500}, 128, 3, 1),
      conv({1, 32, 8, 28, 28}, 64, 3, 1),
      dense({1, 128, 768}, 768, false, false),
      dense({1, 128, 768}, 3072, true, false),
      dense({1, 197, 768}, 3072, false, true),
      dense({1, 64, 32}, 64, false, true),
      dense({1, 1, 2048}, 1000, true, false),
      dense({1, 512, 512}, 512, false, false),
      dense({2, 50, 96}, 384, false, true),
      pair(32, 64, 112, 1),
      pair(128, 128, 56, 1),
      pair(256, 512, 14, 2),
      attention(12, 128, 64),
      attention(3, 197, 64),
      attention(1, 64, 32),
      capsule(),
      matmul(1024, 1024, 1024, true, false),
      matmul(512, 512, 512, false, false),
      matmul(512, 384, 1000, false, true),
      matmul(1, 1000, 2048, true, true),
  };
  const auto wide = [](te::Builder& b, const te::Tensor& x) { return te::softmax(b, "Y", x); };
  out.push_back(unary("", "net_softmax", {1536, 128}, wide));
  out.push_back(unary("", "net_softmax_long", {16, 30000}, wide));
  out.push_back(unary("", "net_gelu", {128, 3072},
                      [](te::Builder& b, const te::Tensor& x) { return te::gelu(b, "Y", x); }));
  out.push_back(unary("", "net_transpose", {1, 64, 56, 56}, [](auto& b, const auto& x) {
    return te::transpose(b, "Y", x, {0, 2, 3, 1});
  }));
  out.push_back(unary("", "net_norm", {4, 64, 4096},
                      [](auto& b, const auto& x) { return te::norm2(b, "Y", x); }));
  return out;
}

}  // namespace tenon::templates
