// SPDX-License-Identifier: Apache-2.0
#include "history/alike_tasks.h"

namespace tenon::history {
namespace {

using layout::Layout;
using search::NamedTask;

void finish(te::Builder& b, const te::Tensor& y, After after) {
  std::vector<int64_t> per_channel(y.rank(), 1);
  const size_t channel = y.rank() > 2 ? 1 : y.rank() - 1;
  per_channel[channel] = y.shape()[channel];
  te::Tensor out = y;
  const auto sum = [](auto v) { return v[0] + v[1]; };
  switch (after) {
    case After::kNothing:
      break;
    case After::kRelu:
      out = te::relu(b, "R", y);
      break;
    case After::kBiasRelu:
      out = te::relu(b, "R",
                     te::elementwise(b, "Z", {y, b.constant("B", y.dtype(), per_channel)}, sum));
      break;
    case After::kResidual:
      out = te::elementwise(b, "R", {y, b.input("S", y.dtype(), y.shape())}, sum);
      break;
    case After::kGelu:
      out = te::gelu(b, "R", y);
      break;
  }
  b.output(out);
}

Layout blocked(const std::vector<int64_t>& shape, int64_t b) {
  return Layout(shape).split(1, {(shape[1] + b - 1) / b, b}).reorder({0, 1, 3, 4, 2});
}

}  // namespace

task::Task conv(const Conv& c) {
  const int64_t pad = c.dilation * (c.kernel - 1) / 2;
  const te::ConvParams p{
      {c.stride, c.stride}, {pad, pad}, {pad, pad}, {c.dilation, c.dilation}, c.groups};
  std::map<std::string, Layout> edges;
  return search::make_task(
      [&](te::Builder& b) {
        const auto x = b.input("X", ir::kF32, {1, c.in, c.size, c.size});
        const auto w = b.constant("W", ir::kF32, {c.out, c.in / c.groups, c.kernel, c.kernel});
        const auto y = te::conv(b, "Y", x, w, p);
        finish(b, y, c.after);
      },
      "x86-64-v3 cores=4",
      c.block == 0
          ? edges
          : std::map<std::string, Layout>{{c.after == After::kNothing ? "Y" : "R",
                                           blocked({1, c.out, (c.size + c.stride - 1) / c.stride,
                                                    (c.size + c.stride - 1) / c.stride},
                                                   c.block)}});
}

task::Task depthwise(int64_t channels, int64_t size, After after) {
  return search::make_task([&](te::Builder& b) {
    const auto x = b.input("X", ir::kF32, {1, channels, size, size});
    const auto w = b.constant("W", ir::kF32, {channels, 1, 3, 3});
    finish(b, te::depthwise_conv2d(b, "Y", x, w, {{1, 1}, {1, 1}, {1, 1}, {}, 1}), after);
  });
}

task::Task transposed(int64_t in, int64_t out, int64_t size) {
  return search::make_task([&](te::Builder& b) {
    const auto x = b.input("X", ir::kF32, {1, in, size, size});
    const auto w = b.constant("W", ir::kF32, {in, out, 2, 2});
    b.output(te::conv_transpose(b, "Y", x, w, {{2, 2}, {0, 0}, {0, 0}, {}, 1}));
  });
}

task::Task matmul(int64_t m, int64_t n, int64_t k, After after, bool constant) {
  return search::make_task([&](te::Builder& b) {
    const auto a = b.input("A", ir::kF32, {m, k});
    const auto w = constant ? b.constant("W", ir::kF32, {k, n}) : b.input("W", ir::kF32, {k, n});
    finish(b, te::matmul(b, "C", a, w), after);
  });
}

std::vector<std::vector<NamedTask>> alike_tasks() {
  std::vector<std::vector<NamedTask>> out(5);
  for (const After after : kAfters) {
    const std::string tail = " " + std::to_string(static_cast<int>(after));
    out[0].push_back({"conv 7" + tail, conv({.after = after})});
    out[0].push_back({"conv odd" + tail, conv({.in = 3, .out = 5, .size = 9, .after = after})});
    out[0].push_back({"conv 1x1" + tail, conv({.kernel = 1, .after = after})});
    out[0].push_back({"conv blocked" + tail, conv({.size = 6, .after = after, .block = 8})});
    out[0].push_back({"conv stride" + tail, conv({.size = 8, .stride = 2, .after = after})});
    out[1].push_back({"depthwise 8" + tail, depthwise(8, 7, after)});
    out[1].push_back({"depthwise 5" + tail, depthwise(5, 9, after)});
    out[2].push_back({"matmul" + tail, matmul(12, 32, 24, after)});
    out[2].push_back({"matmul odd" + tail, matmul(7, 13, 11, after, false)});
    out[2].push_back({"matmul deep" + tail, matmul(4, 4, 64, after)});
  }
  out[3] = {{"transposed 3", transposed(3, 5, 4)}, {"transposed 8", transposed(8, 4, 3)}};
  const auto softmax = [](int64_t rows, int64_t columns) {
    return search::make_task([=](te::Builder& b) {
      b.output(te::softmax(b, "S", b.input("X", ir::kF32, {rows, columns})));
    });
  };
  out[4] = {{"softmax 5x37", softmax(5, 37)}, {"softmax 8x16", softmax(8, 16)}};
  return out;
}

}  // namespace tenon::history
