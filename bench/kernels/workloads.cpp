// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "bench/kernels/workload.h"

namespace tenon::bench {
namespace {

Workload matmul(bool packed, int64_t m, int64_t k, int64_t n) {
  Workload w;
  w.kind = Kind::kMatmul;
  w.op = packed ? "matmul_packed" : "matmul_plain";
  w.shape = fmt::format("{}x{}x{}", m, k, n);
  w.packed = packed;
  w.m = m;
  w.k = k;
  w.n = n;
  return w;
}

struct ConvRow {
  int64_t in_channels, out_channels, size, kernel, stride;
};

Workload conv(Kind kind, const std::string& op, const ConvRow& row, int64_t pad) {
  Workload w;
  w.kind = kind;
  w.op = op;
  w.shape = row.in_channels == row.out_channels
                ? fmt::format("{}@{}", row.in_channels, row.size)
                : fmt::format("{}->{}@{}", row.in_channels, row.out_channels, row.size);
  w.in_channels = row.in_channels;
  w.out_channels = row.out_channels;
  w.size = row.size;
  w.kernel = row.kernel;
  w.stride = row.stride;
  w.pad = pad;
  return w;
}

Workload rows(Kind kind, const std::string& op, const std::string& shape, int64_t m, int64_t n) {
  Workload w;
  w.kind = kind;
  w.op = op;
  w.shape = shape;
  w.m = m;
  w.n = n;
  return w;
}

// Written m x k x n, as "M x K x N".
constexpr int64_t kPackedMatmuls[][3] = {{512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048},
                                         {128, 768, 768}, {128, 768, 3072},   {128, 3072, 768}};
constexpr int64_t kPlainMatmuls[][3] = {{512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048}};

constexpr ConvRow kConvs[] = {
    {64, 64, 56, 3, 1},  {128, 128, 28, 3, 1},  {256, 256, 14, 3, 1}, {512, 512, 7, 3, 1},
    {64, 128, 56, 3, 2}, {256, 512, 14, 3, 2},  {3, 64, 224, 7, 2},   {64, 256, 56, 1, 1},
    {256, 64, 56, 1, 1}, {256, 1024, 14, 1, 1}, {2048, 512, 7, 1, 1}, {96, 24, 56, 1, 1},
    {960, 320, 7, 1, 1},
};
constexpr ConvRow kDepthwises[] = {
    {32, 32, 112, 3, 1}, {144, 144, 56, 3, 1}, {384, 384, 14, 3, 1}, {960, 960, 7, 3, 1}};
constexpr ConvRow kTransposes[] = {
    {512, 256, 4, 4, 2}, {256, 128, 8, 4, 2}, {128, 64, 16, 4, 2}, {64, 3, 32, 4, 2}};

}  // namespace

std::vector<Workload> all_workloads() {
  std::vector<Workload> all;
  for (const auto& s : kPackedMatmuls) {
    all.push_back(matmul(true, s[0], s[1], s[2]));
  }
  for (const auto& s : kPlainMatmuls) {
    all.push_back(matmul(false, s[0], s[1], s[2]));
  }
  for (const ConvRow& r : kConvs) {
    const std::string stride = r.stride == 1 ? "" : fmt::format("_s{}", r.stride);
    all.push_back(
        conv(Kind::kConv, fmt::format("conv{0}x{0}{1}", r.kernel, stride), r, r.kernel / 2));
  }
  for (const ConvRow& r : kDepthwises) {
    all.push_back(conv(Kind::kDepthwise, "depthwise3x3", r, 1));
  }
  for (const ConvRow& r : kTransposes) {
    all.push_back(conv(Kind::kConvTranspose, "conv_transpose4x4_s2", r, 1));
  }
  all.push_back(rows(Kind::kSoftmax, "softmax", "12x128x128", 12 * 128, 128));
  all.back().batch = 12;
  all.push_back(rows(Kind::kLayerNorm, "layer_norm", "128x768", 128, 768));
  all.push_back(rows(Kind::kGelu, "gelu", "128x3072", 128, 3072));
  all.push_back(rows(Kind::kNorm2, "norm2", "1024x1024", 1024, 1024));
  all.push_back(rows(Kind::kAddRelu, "add_relu", "16M", 4096, 4096));
  return all;
}

}  // namespace tenon::bench
