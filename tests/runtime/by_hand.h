// SPDX-License-Identifier: Apache-2.0
// A model made by hand, linked with the runtime like any other code so that sanitizers see both:
// s = x + w (in the arena), then y = 2 * s in parallel, n = sum of s.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "runtime/model.h"

namespace tenon::runtime {

inline constexpr int64_t kElements = 1000;
inline constexpr size_t kBytes = kElements * sizeof(float);
inline constexpr int64_t kArenaBytes = 4032;    // kBytes rounded up to 64
inline constexpr int64_t kWeightsBytes = 4032;  // the weights begin at 0
inline constexpr uint64_t kWeightsChecksum = 0xcd340d04f3a1a17d;

// The bytes of its weights file: w[i] = i.
struct alignas(64) WeightsFile {
  WeightsFile();
  float w[kWeightsBytes / sizeof(float)] = {};
  WeightsTrailer trailer{};
};
static_assert(sizeof(WeightsFile) == 64 + kWeightsBytes);

inline tenon_model_options with_weights(const WeightsFile& file, int32_t threads = 1) {
  tenon_model_options o{};
  o.size = sizeof o;
  o.threads = threads;
  o.weights = &file;
  o.weights_bytes = sizeof file;
  return o;
}

struct Destroy {
  void operator()(tenon_model_ctx* ctx) const { tenon_model_destroy(ctx); }
};
using Ctx = std::unique_ptr<tenon_model_ctx, Destroy>;

Ctx create(const tenon_model_options& options);

// Why no context can be created.
std::string refusal(const tenon_model_options& options);

// Inputs and outputs, `shift` bytes away from an aligned address.
struct Buffers {
  explicit Buffers(size_t shift)
      : block(static_cast<char*>(std::aligned_alloc(64, size_t{3} * 8192))),
        x(reinterpret_cast<float*>(block + shift)),
        y(reinterpret_cast<float*>(block + 8192 + shift)),
        n(reinterpret_cast<double*>(block + size_t{2} * 8192 + shift)) {}
  ~Buffers() { std::free(block); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  // x[i] = add * (i % 7)
  void fill(float add) const;
  bool is_right(float add) const;
  int run(tenon_model_ctx* ctx) const {
    const void* inputs[] = {x, nullptr};
    void* outputs[] = {y, n};
    return tenon_model_run(ctx, inputs, outputs);
  }
  char* block;
  float* x;
  float* y;
  double* n;
};

void fill_and_check(tenon_model_ctx* ctx, const Buffers& b, float add);

}  // namespace tenon::runtime
