// SPDX-License-Identifier: Apache-2.0
#include "runtime/by_hand.h"

#include <gtest/gtest.h>

namespace tenon::runtime {
namespace {

struct Closure {
  const float* in;
  float* out;
};

extern "C" void add_weights(void* const* params, void* workspace, const tenon_runtime* rt) {
  const auto* x = static_cast<const float*>(params[0]);
  const auto* w = static_cast<const float*>(params[1]);
  auto* s = static_cast<float*>(params[2]);
  auto* scratch = static_cast<float*>(workspace);
  EXPECT_NE(rt, nullptr);
  scratch[0] = 1;
  for (int64_t i = 0; i < kElements; ++i) {
    s[i] = x[i] + w[i];
  }
}

extern "C" void twice_and_sum(void* const* params, void*, const tenon_runtime* rt) {
  for (const int i : {0, 1, 2}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(params[i]) % 64, 0U);
  }
  Closure c{static_cast<const float*>(params[0]), static_cast<float*>(params[1])};
  const tenon_body body = [](void* closure, int64_t begin, int64_t end) {
    const auto& both = *static_cast<const Closure*>(closure);
    for (int64_t i = begin; i < end; ++i) {
      both.out[i] = 2 * both.in[i];
    }
  };
  rt->parallel(rt, body, &c, kElements);
  double sum = 0;
  for (int64_t i = 0; i < kElements; ++i) {
    sum += static_cast<double>(c.in[i]);
  }
  *static_cast<double*>(params[2]) = sum;
}

constexpr int64_t kShape[] = {kElements};
constexpr int64_t kEmptyShape[] = {3, 0};
const tenon_model_tensor kInputs[] = {{"x", "f32", 1, kShape, kBytes, nullptr},
                                      {"empty", "f32", 2, kEmptyShape, 0, nullptr}};
const tenon_model_tensor kOutputs[] = {{"y", "f32", 1, kShape, kBytes, nullptr},
                                       {"n", "f64", 0, nullptr, sizeof(double), nullptr}};
const tenon_model_param kFirst[] = {
    {kTenonInput, 0, 0}, {kTenonWeights, 0, 0}, {kTenonArena, 0, 0}};
const tenon_model_param kSecond[] = {
    {kTenonArena, 0, 0}, {kTenonOutput, 0, 0}, {kTenonOutput, 1, 0}};
const tenon_model_step kSteps[] = {{add_weights, "add", kFirst, 3},
                                   {twice_and_sum, "twice", kSecond, 3}};

}  // namespace

WeightsFile::WeightsFile() {
  std::memcpy(trailer.magic, kWeightsMagic, sizeof trailer.magic);
  trailer.version = kWeightsVersion;
  trailer.bytes = kWeightsBytes;
  trailer.sha256[0] = 1;
  trailer.sha256[1] = 2;
  trailer.sha256[2] = 3;
  for (int64_t i = 0; i < kElements; ++i) {
    w[i] = static_cast<float>(i);
  }
}

Ctx create(const tenon_model_options& options) {
  const char* why = "";
  Ctx ctx(tenon_model_create_with(&options, &why));
  EXPECT_NE(ctx, nullptr) << why;
  return ctx;
}

std::string refusal(const tenon_model_options& options) {
  const char* why = "not refused";
  const Ctx ctx(tenon_model_create_with(&options, &why));
  EXPECT_EQ(ctx, nullptr);
  EXPECT_EQ(Ctx(tenon_model_create_with(&options, nullptr)), nullptr);
  return why;
}

void Buffers::fill(float add) const {
  for (int64_t i = 0; i < kElements; ++i) {
    x[i] = add * static_cast<float>(i % 7);
  }
}

bool Buffers::is_right(float add) const {
  double sum = 0;
  bool right = true;
  for (int64_t i = 0; i < kElements; ++i) {
    const float s = add * static_cast<float>(i % 7) + static_cast<float>(i);
    right = right && y[i] == 2 * s;
    sum += static_cast<double>(s);
  }
  return right && *n == sum;
}

void fill_and_check(tenon_model_ctx* ctx, const Buffers& b, float add) {
  b.fill(add);
  ASSERT_EQ(b.run(ctx), 0);
  EXPECT_TRUE(b.is_right(add)) << add;
}

}  // namespace tenon::runtime

using namespace tenon::runtime;

extern "C" const tenon_model_table tenon_model = {
    "by_hand", "{}", 0,           kInputs, kOutputs,      kSteps,           2,        2,
    2,         0,    kArenaBytes, 64,      kWeightsBytes, kWeightsChecksum, {1, 2, 3}};
