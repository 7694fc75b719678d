// SPDX-License-Identifier: Apache-2.0
#include "runtime/by_hand_cuda.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/checksum.h"
#include "runtime/fake_cuda.h"

namespace tenon::runtime {
namespace {

constexpr size_t kBytes = kElements * sizeof(float);
constexpr int64_t kPadded = 4096;  // kBytes rounded up to 256

float* floats(void** arguments, int i) {
  uint64_t at = 0;
  std::memcpy(&at, arguments[i], sizeof at);
  return reinterpret_cast<float*>(at);
}

// Each has four arguments, as fake_cuda.cpp wants it.
void add(void** p) {
  for (int64_t i = 0; i < kElements; ++i) floats(p, 2)[i] = floats(p, 0)[i] + floats(p, 1)[i];
}
void twice(void** p) {
  for (int64_t i = 0; i < kElements; ++i) floats(p, 1)[i] = 2 * floats(p, 0)[i];
}
void add_one(void** p) {
  for (int64_t i = 0; i < kElements; ++i) floats(p, 1)[i] = floats(p, 0)[i] + 1;
}
void thrice(void** p) {
  for (int64_t i = 0; i < kElements; ++i) floats(p, 1)[i] = 3 * floats(p, 0)[i];
}
void join(void** p) {
  floats(p, 3)[0] = 0;
  for (int64_t i = 0; i < kElements; ++i) {
    floats(p, 2)[i] = floats(p, 0)[i] + floats(p, 1)[i];
    floats(p, 3)[0] += floats(p, 0)[i] / 2;
  }
}

constexpr int64_t kShape[] = {kElements};
constexpr int64_t kEmptyShape[] = {3, 0};
const tenon_model_tensor kInputs[] = {{"x", "f32", 1, kShape, kBytes, nullptr},
                                      {"empty", "f32", 2, kEmptyShape, 0, nullptr}};
const tenon_model_tensor kOutputs[] = {{"y", "f32", 1, kShape, kBytes, nullptr},
                                       {"n", "f32", 0, nullptr, sizeof(float), nullptr}};
constexpr int64_t kS = 0;
constexpr int64_t kA = kPadded;
constexpr int64_t kB = 2 * kPadded;
const tenon_model_param kAdd[] = {{kTenonInput, 0, 0}, {kTenonWeights, 0, 0}, {kTenonArena, 0, kS}};
const tenon_model_param kTwice[] = {{kTenonArena, 0, kS}, {kTenonArena, 0, kA}};
const tenon_model_param kThrice[] = {{kTenonArena, 0, kS}, {kTenonArena, 0, kB}};
const tenon_model_param kJoin[] = {
    {kTenonArena, 0, kA}, {kTenonArena, 0, kB}, {kTenonOutput, 0, 0}, {kTenonOutput, 1, 0}};
const tenon_model_step kSteps[] = {{nullptr, "add", kAdd, 3},
                                   {nullptr, "twice", kTwice, 2},
                                   {nullptr, "thrice", kThrice, 2},
                                   {nullptr, "join", kJoin, 4}};

const tenon_cuda_module kModules[] = {
    {"fake image add twice ", "// add twice "},
    {"fake image add_one thrice join ", "// add_one thrice join "}};
constexpr int32_t kFour[] = {0, 1, 2, 2};
constexpr int32_t kTwo[] = {0, 1, 1, 1};
constexpr int32_t kToScratch[] = {0, kTenonScratch, kTenonScratch, 0};
constexpr int32_t kFromScratch[] = {kTenonScratch, 1, 1, 1};
constexpr int32_t kAll[] = {0, 1, 2, 3};
const tenon_cuda_launch kLaunches[] = {
    {"add", kFour, 4, 0, {8, 1, 1}, {128, 1, 1}, 0, 0},
    {"twice", kTwo, 4, 0, {8, 1, 1}, {128, 1, 1}, 100 << 10, 0},
    {"add_one", kToScratch, 4, 1, {8, 1, 1}, {128, 1, 1}, 0, 0},
    {"thrice", kFromScratch, 4, 1, {8, 1, 1}, {128, 1, 1}, 0, 1},
    {"join", kAll, 4, 1, {1, 2, 3}, {32, 2, 2}, 1024, 0},
};
constexpr int32_t kAfterFirst[] = {0};
constexpr int32_t kAfterBoth[] = {1, 2};
const tenon_cuda_step kCudaSteps[] = {{0, 1, 0, nullptr, 0},
                                      {1, 1, 0, kAfterFirst, 1},
                                      {2, 2, 256, kAfterFirst, 1},
                                      {4, 1, 0, kAfterBoth, 2}};

}  // namespace

WeightsFile::WeightsFile() {
  for (int64_t i = 0; i < kElements; ++i) w[i] = static_cast<float>(i);
  std::memcpy(trailer.magic, kWeightsMagic, sizeof trailer.magic);
  trailer.version = kWeightsVersion;
  trailer.bytes = kPadded;
  trailer.sha256[0] = 1;
}

tenon_model_options with_weights(const WeightsFile& file) {
  tenon_model_options o{};
  o.size = sizeof o;
  o.weights = &file;
  o.weights_bytes = sizeof file;
  return o;
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
  return why;
}

void set_kernels() {
  fake_cuda::set_kernel("add", add);
  fake_cuda::set_kernel("twice", twice);
  fake_cuda::set_kernel("add_one", add_one);
  fake_cuda::set_kernel("thrice", thrice);
  fake_cuda::set_kernel("join", join);
}

Tensors::Tensors(float first) : x(kElements), y(kElements, -1) {
  for (size_t i = 0; i < x.size(); ++i) x[i] = first + static_cast<float>(i % 7);
}

bool Tensors::is_right() const {
  float sum = 0;
  bool right = true;
  for (size_t i = 0; i < x.size(); ++i) {
    const float s = x[i] + static_cast<float>(i);
    right = right && y[i] == 2 * s + 3 * (s + 1);
    sum += s;
  }
  return right && n == sum;
}

int Tensors::run(tenon_model_ctx* ctx) {
  const void* inputs[] = {x.data(), nullptr};
  void* outputs[] = {y.data(), &n};
  return tenon_model_run(ctx, inputs, outputs);
}

}  // namespace tenon::runtime

using namespace tenon::runtime;

extern "C" const tenon_model_table tenon_model = {
    "by_hand", "{}", 0, kInputs, kOutputs, kSteps, 2, 2, 4, 0, 3 * kPadded, 8192, kPadded, 0, {1}};
extern "C" const tenon_cuda_table tenon_cuda = {"sm_90", kModules, kLaunches, kCudaSteps, 2, 5};
