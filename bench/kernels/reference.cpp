// SPDX-License-Identifier: Apache-2.0
// Inputs, and the answers in double by the definition of each operator.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "bench/kernels/workload.h"

namespace tenon::bench {
namespace {

using Doubles = std::vector<double>;
using Floats = std::vector<float>;

size_t at(int64_t i) { return static_cast<size_t>(i); }

Operand random_operand(const std::string& name, std::vector<int64_t> shape, bool constant,
                       double scale, std::mt19937_64& rng) {
  Operand operand{name, std::move(shape), {}, constant};
  const int64_t count =
      std::accumulate(operand.shape.begin(), operand.shape.end(), int64_t{1}, std::multiplies<>());
  std::normal_distribution<float> normal(0.0F, static_cast<float>(scale));
  operand.values.resize(at(count));
  for (float& v : operand.values) {
    v = normal(rng);
  }
  return operand;
}

Doubles matmul(const Workload& w, const Floats& a, const Floats& b) {
  Doubles c(at(w.m * w.n), 0.0);
  for (int64_t i = 0; i < w.m; ++i) {
    double* row = &c[at(i * w.n)];
    for (int64_t k = 0; k < w.k; ++k) {
      const double x = a[at(i * w.k + k)];
      const float* right = &b[at(k * w.n)];
      for (int64_t j = 0; j < w.n; ++j) {
        row[j] += x * right[j];
      }
    }
  }
  return c;
}

// Adds weight * (one channel of the input shifted by a tap) to one channel of the output.
void add_tap(const Workload& w, const float* in, double weight, int64_t r, int64_t s, double* out) {
  const int64_t side = w.out_size();
  for (int64_t y = 0; y < side; ++y) {
    const int64_t iy = y * w.stride + r - w.pad;
    if (iy < 0 || iy >= w.size) {
      continue;
    }
    for (int64_t x = 0; x < side; ++x) {
      const int64_t ix = x * w.stride + s - w.pad;
      if (ix >= 0 && ix < w.size) {
        out[y * side + x] += weight * in[iy * w.size + ix];
      }
    }
  }
}

// Adds weight * (each element of an input channel) where a tap of a transposed convolution puts it.
void scatter_tap(const Workload& w, const float* in, double weight, int64_t r, int64_t s,
                 double* out) {
  const int64_t side = w.out_size();
  for (int64_t iy = 0; iy < w.size; ++iy) {
    const int64_t y = iy * w.stride + r - w.pad;
    if (y < 0 || y >= side) {
      continue;
    }
    for (int64_t ix = 0; ix < w.size; ++ix) {
      const int64_t x = ix * w.stride + s - w.pad;
      if (x >= 0 && x < side) {
        out[y * side + x] += weight * in[iy * w.size + ix];
      }
    }
  }
}

Doubles convolution(const Workload& w, const Floats& in, const Floats& weights) {
  const int64_t plane = w.out_size() * w.out_size();
  const int64_t taps = w.kernel * w.kernel;
  const bool depthwise = w.kind == Kind::kDepthwise;
  const bool transposed = w.kind == Kind::kConvTranspose;
  Doubles out(at(w.out_channels * plane), 0.0);
  for (int64_t k = 0; k < w.out_channels; ++k) {
    for (int64_t c = depthwise ? k : 0; c < (depthwise ? k + 1 : w.in_channels); ++c) {
      const int64_t filter = depthwise    ? k
                             : transposed ? c * w.out_channels + k
                                          : k * w.in_channels + c;
      for (int64_t t = 0; t < taps; ++t) {
        const double weight = weights[at(filter * taps + t)];
        (transposed ? scatter_tap : add_tap)(w, &in[at(c * w.size * w.size)], weight, t / w.kernel,
                                             t % w.kernel, &out[at(k * plane)]);
      }
    }
  }
  return out;
}

Doubles softmax(const Workload& w, const Floats& x) {
  Doubles out(x.size());
  for (int64_t i = 0; i < w.m; ++i) {
    const float* row = &x[at(i * w.n)];
    double* to = &out[at(i * w.n)];
    const double top = *std::max_element(row, row + w.n);
    double sum = 0;
    for (int64_t j = 0; j < w.n; ++j) {
      to[j] = std::exp(row[j] - top);
      sum += to[j];
    }
    for (int64_t j = 0; j < w.n; ++j) {
      to[j] /= sum;
    }
  }
  return out;
}

Doubles layer_norm(const Workload& w, const Floats& x, const Floats& scale, const Floats& bias) {
  Doubles out(x.size());
  for (int64_t i = 0; i < w.m; ++i) {
    const float* row = &x[at(i * w.n)];
    const double mean = std::accumulate(row, row + w.n, 0.0) / static_cast<double>(w.n);
    double variance = 0;
    for (int64_t j = 0; j < w.n; ++j) {
      variance += (row[j] - mean) * (row[j] - mean);
    }
    const double inverse = 1 / std::sqrt(variance / static_cast<double>(w.n) + w.epsilon());
    for (int64_t j = 0; j < w.n; ++j) {
      out[at(i * w.n + j)] = (row[j] - mean) * inverse * scale[at(j)] + bias[at(j)];
    }
  }
  return out;
}

Doubles elementwise(const Workload& w, const std::vector<Operand>& inputs) {
  const Floats& a = inputs[0].values;
  Doubles out(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = a[i];
    out[i] = w.kind == Kind::kGelu ? x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)))
                                   : std::max(x + inputs[1].values[i], 0.0);
  }
  return out;
}

Doubles answer(const Workload& w, const std::vector<Operand>& inputs) {
  switch (w.kind) {
    case Kind::kMatmul:
      return matmul(w, inputs[0].values, inputs[1].values);
    case Kind::kConv:
    case Kind::kDepthwise:
    case Kind::kConvTranspose:
      return convolution(w, inputs[0].values, inputs[1].values);
    case Kind::kSoftmax:
      return softmax(w, inputs[0].values);
    case Kind::kLayerNorm:
      return layer_norm(w, inputs[0].values, inputs[1].values, inputs[2].values);
    case Kind::kNorm2: {
      double sum = 0;
      for (const double x : inputs[0].values) {
        sum += x * x;
      }
      return {std::sqrt(sum)};
    }
    default:
      return elementwise(w, inputs);
  }
}

std::vector<Operand> make_inputs(const Workload& w) {
  std::mt19937_64 rng(20240607);
  const double count =
      static_cast<double>(w.kind == Kind::kMatmul      ? w.k
                          : w.kind == Kind::kDepthwise ? w.kernel * w.kernel
                                                       : w.in_channels * w.kernel * w.kernel);
  const double weight = 1 / std::sqrt(std::max(count, 1.0));
  const std::vector<int64_t> image = {1, w.in_channels, w.size, w.size};
  const std::vector<int64_t> matrix = w.matrix_shape();
  switch (w.kind) {
    case Kind::kMatmul:
      return {random_operand("A", {w.m, w.k}, false, 1, rng),
              random_operand("B", {w.k, w.n}, w.packed, weight, rng)};
    case Kind::kConv:
      return {random_operand("X", image, false, 1, rng),
              random_operand("W", {w.out_channels, w.in_channels, w.kernel, w.kernel}, true, weight,
                             rng)};
    case Kind::kDepthwise:
      return {random_operand("X", image, false, 1, rng),
              random_operand("W", {w.in_channels, 1, w.kernel, w.kernel}, true, weight, rng)};
    case Kind::kConvTranspose:
      return {random_operand("X", image, false, 1, rng),
              random_operand("W", {w.in_channels, w.out_channels, w.kernel, w.kernel}, true, weight,
                             rng)};
    case Kind::kLayerNorm:
      return {random_operand("X", matrix, false, 1, rng),
              random_operand("scale", {w.n}, true, 1, rng),
              random_operand("bias", {w.n}, true, 1, rng)};
    case Kind::kAddRelu:
      return {random_operand("A", matrix, false, 1, rng),
              random_operand("B", matrix, false, 1, rng)};
    case Kind::kNorm2:
      return {random_operand("X", {1, w.m, w.n}, false, 1, rng)};
    default:
      return {random_operand("X", matrix, false, 1, rng)};
  }
}

}  // namespace

Data make_data(const Workload& w) {
  Data data;
  data.inputs = make_inputs(w);
  data.reference = answer(w, data.inputs);
  return data;
}

double error_of(const std::vector<float>& got, const std::vector<double>& reference) {
  if (got.size() != reference.size()) {
    return std::numeric_limits<double>::infinity();
  }
  double largest = 0;
  double error = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(got[i])) {
      return std::numeric_limits<double>::infinity();
    }
    largest = std::max(largest, std::abs(reference[i]));
    error = std::max(error, std::abs(got[i] - reference[i]));
  }
  return largest > 0 ? error / largest : error;
}

}  // namespace tenon::bench
