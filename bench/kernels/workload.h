// SPDX-License-Identifier: Apache-2.0
// One kernel to measure: what it computes, on which shape, and what counts as work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::bench {

enum class Kind : uint8_t {
  kMatmul,
  kConv,           // 2-d, batch 1, NCHW
  kDepthwise,      // one filter per channel
  kConvTranspose,  // weights C K KH KW
  kSoftmax,        // over the last dimension
  kLayerNorm,      // over the last dimension, with scale and bias
  kGelu,           // exact, by erf
  kNorm2,          // of the whole matrix
  kAddRelu,        // max(a + b, 0)
};

// What the machine should run out of first.
enum class Bound : uint8_t { kCompute, kMemory };

struct Workload {
  Kind kind = Kind::kMatmul;
  std::string op;     // "matmul_packed", "conv3x3", ...
  std::string shape;  // "512x512x512"
  // Matrix product m x k by k x n; the others are rows m of n elements. packed: the layout of B is
  // free.
  int64_t m = 0, n = 0, k = 0;
  bool packed = false;
  int64_t batch = 1;  // the rows are a tensor batch x m/batch x n
  // Convolutions: square images and kernels; `size` is the side of the input.
  int64_t in_channels = 0, out_channels = 0, size = 0, kernel = 0, stride = 1, pad = 0;

  int64_t out_size() const;
  std::vector<int64_t> matrix_shape() const;  // m x n, or with its batch
  std::vector<int64_t> output_shape() const;
  // Direct algorithm; padding counts, multiplications by the zeros between the elements of a
  // transposed convolution's input do not. For softmax and the like: per element as written in the
  // reference.
  double flops() const;
  double bytes() const;  // every input read once, every output written once
  Bound bound() const;
  double epsilon() const { return 1e-5; }  // of layer normalisation
};

// All rows, in the order of the report.
std::vector<Workload> all_workloads();

struct Operand {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
  bool constant = false;  // a weight: its layout is free and packing it is not timed
};

// Inputs (normal values, weights scaled to keep the output near 1) and the answer in double.
struct Data {
  std::vector<Operand> inputs;
  std::vector<double> reference;
};
Data make_data(const Workload& w);

// Largest error relative to the largest value of the answer; infinity when sizes differ or a value
// is not finite.
double error_of(const std::vector<float>& got, const std::vector<double>& reference);
// Above it a contestant is wrong. Single precision, Winograd's F(4x4) included; a misplaced element
// gives far more.
constexpr double kTolerance = 2e-5;

}  // namespace tenon::bench
