// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/workload.h"

#include <initializer_list>

namespace tenon::bench {

std::vector<int64_t> Workload::matrix_shape() const {
  return batch == 1 ? std::vector<int64_t>{m, n} : std::vector<int64_t>{batch, m / batch, n};
}

int64_t Workload::out_size() const {
  return kind == Kind::kConvTranspose ? (size - 1) * stride - 2 * pad + kernel
                                      : (size + 2 * pad - kernel) / stride + 1;
}

std::vector<int64_t> Workload::output_shape() const {
  switch (kind) {
    case Kind::kConv:
    case Kind::kDepthwise:
    case Kind::kConvTranspose:
      return {1, out_channels, out_size(), out_size()};
    case Kind::kNorm2:
      return {1};
    default:
      return matrix_shape();
  }
}

double Workload::flops() const {
  const auto product = [](std::initializer_list<int64_t> factors) {
    double p = 1;
    for (const int64_t f : factors) {
      p *= static_cast<double>(f);
    }
    return p;
  };
  switch (kind) {
    case Kind::kMatmul:
      return product({2, m, n, k});
    case Kind::kConv:
      return product({2, out_channels, in_channels, kernel, kernel, out_size(), out_size()});
    case Kind::kDepthwise:
      return product({2, out_channels, kernel, kernel, out_size(), out_size()});
    case Kind::kConvTranspose:
      return product({2, out_channels, in_channels, kernel, kernel, size, size});
    case Kind::kSoftmax:
      return product({5, m, n});  // max, subtract, exp, add, divide
    case Kind::kLayerNorm:
      return product({8, m, n});  // add; subtract, square, add; subtract, three for scale and bias
    case Kind::kGelu:
      return product({5, m, n});
    case Kind::kNorm2:
    case Kind::kAddRelu:
      return product({2, m, n});
  }
  return 0;
}

double Workload::bytes() const {
  const double matrix = 4.0 * static_cast<double>(m) * static_cast<double>(n);
  const double image = 4.0 * static_cast<double>(in_channels * size * size);
  const double result = 4.0 * static_cast<double>(out_channels * out_size() * out_size());
  const double filters = 4.0 * static_cast<double>(out_channels * kernel * kernel);
  switch (kind) {
    case Kind::kMatmul:
      return matrix + 4.0 * static_cast<double>(k * (m + n));
    case Kind::kConv:
    case Kind::kConvTranspose:
      return image + result + filters * static_cast<double>(in_channels);
    case Kind::kDepthwise:
      return image + result + filters;
    case Kind::kNorm2:
      return matrix;
    case Kind::kAddRelu:
      return 3 * matrix;
    default:
      return 2 * matrix;
  }
}

Bound Workload::bound() const {
  switch (kind) {
    case Kind::kMatmul:
    case Kind::kConv:
    case Kind::kDepthwise:
    case Kind::kConvTranspose:
      return Bound::kCompute;
    default:
      return Bound::kMemory;
  }
}

}  // namespace tenon::bench
