// SPDX-License-Identifier: Apache-2.0
// A model for GPUs made by hand, whose kernels the driver of fake_cuda.h runs:
//   s = x + w;   a = 2 * s;   b = 3 * (s + 1) by two launches through scratch;   y = a + b, n = the sum of s.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/table.h"

namespace tenon::runtime {

inline constexpr int64_t kElements = 1000;

// The bytes of its weights file: w[i] = i.
struct alignas(64) WeightsFile {
  WeightsFile();
  float w[1024] = {};
  WeightsTrailer trailer{};
};

tenon_model_options with_weights(const WeightsFile& file);

struct Destroy {
  void operator()(tenon_model_ctx* ctx) const { tenon_model_destroy(ctx); }
};
using Ctx = std::unique_ptr<tenon_model_ctx, Destroy>;

Ctx create(const tenon_model_options& options);
// Why no context can be created.
std::string refusal(const tenon_model_options& options);

// Tells the fake driver its kernels.
void set_kernels();

struct Tensors {
  explicit Tensors(float first);  // x[i] = first + i % 7
  bool is_right() const;
  int run(tenon_model_ctx* ctx);
  std::vector<float> x, y;
  float n = -1;
};

}  // namespace tenon::runtime
