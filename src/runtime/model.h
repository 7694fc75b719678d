// SPDX-License-Identifier: Apache-2.0
// What distinguishes one compiled model from another: the table that model.cpp walks. Module artifact
// writes it as data (table.cpp there), so every field here has its twin in that file.
#pragma once

#include "tenon/runtime.h"

// In a finished library everything is hidden but this.
#pragma GCC visibility push(default)
#include "runtime/model_api.h"
#pragma GCC visibility pop

extern "C" {

enum : int32_t {  // of artifact::Place
  kTenonInput = 0,
  kTenonOutput = 1,
  kTenonWeights = 2,
  kTenonArena = 3,
  kTenonNumbers = 4,
  kTenonSize = 5,
};

struct tenon_model_param {
  int32_t place;
  int32_t index;
  int64_t offset;
};

struct tenon_model_step {
  tenon_kernel kernel;
  const char* name;
  const tenon_model_param* params;
  int64_t count;
};

enum : int32_t {  // of artifact::FlowKind, which says what each does
  kTenonRun = 0,
  kTenonCopy = 1,
  kTenonSet = 2,
  kTenonAdd = 3,
  kTenonClear = 4,
  kTenonTake = 5,
  kTenonPut = 6,
  kTenonUnless = 7,
  kTenonReached = 8,
  kTenonJump = 9,
  kTenonCount = 10,
};

// An instruction of a model with branches and loops.
struct tenon_model_flow {
  int32_t kind;
  int32_t target;
  tenon_model_param to, from, at;
  int64_t number;
  int64_t count;
  int64_t first_param;  // kTenonRun: how many parameters the steps before its first one have
};

// The model at one size of each open dimension.
struct tenon_model_variant {
  const tenon_model_tensor* inputs;
  const tenon_model_tensor* outputs;
  const tenon_model_step* steps;
  int64_t step_count;
  const tenon_model_flow* flow = nullptr;  // null: every step once
  int64_t flow_count = 0;
};

// The sizes of an open dimension that there are variants of. All that are allowed, unless larger ones are put together or
// others are padded to the next larger one.
struct tenon_model_compiled {
  const int64_t* values;  // ascending
  int64_t count;
  int64_t padded = 0;  // 1: they are
};

// An axis of an input whose size is computed of open dimensions. These are neither padded nor put together.
struct tenon_model_sum {
  int32_t input;
  int32_t axis;
  const char* text;        // "past + 1"
  const int64_t* factors;  // by dimension
  int64_t constant;
};

struct tenon_model_table {
  const char* name;
  const char* manifest;
  uint64_t needs;  // bit i: row i of the features in cpu_check.h
  const tenon_model_tensor* inputs;
  const tenon_model_tensor* outputs;
  const tenon_model_step* steps;
  int32_t input_count;
  int32_t output_count;
  int32_t step_count;
  int32_t unused;
  int64_t arena_bytes;        // a multiple of 64
  int64_t scratch_bytes;      // the largest workspace of a kernel; a multiple of 64
  int64_t weights_bytes;      // a multiple of 64; 0: there is no file
  uint64_t weights_checksum;  // of checksum.h
  uint8_t weights_sha256[32];
  // Of models with open dimensions; what stands above is the largest size.
  const tenon_model_dim* dims = nullptr;
  const tenon_model_compiled* compiled = nullptr;  // by dimension
  // Every combination of compiled sizes, those of the last dimension next to each other.
  const tenon_model_variant* variants = nullptr;
  const int64_t* numbers = nullptr;  // what kernels that serve several sizes read
  int32_t dim_count = 0;
  // The dimension whose sizes are put together: items lie one behind the other in tensors that have it first, and in all
  // outputs. -1: none.
  int32_t batch = -1;
  const tenon_model_flow* flow = nullptr;
  int64_t flow_count = 0;
  const char* weights =
      nullptr;              // inside the library, with their trailer; null: they are in a file
  const char* target = "";  // its name
  // Of a library for several instruction sets: their tables, the best last.
  const tenon_model_table* const* levels = nullptr;
  int64_t level_count = 0;
  const tenon_model_sum* sums = nullptr;
  int64_t sum_count = 0;
};

// In a finished library, data made by module artifact; in tests, whatever they define.
// NOLINTNEXTLINE(readability-identifier-naming): named as the functions are
extern __attribute__((visibility("hidden"))) const tenon_model_table tenon_model;

}  // extern "C"

namespace tenon::runtime {

// How the weights file ends; the weights come first, a multiple of 64 bytes. So that one pass over them
// gives both their hash, which stands here, and the hash of the file.
struct WeightsTrailer {
  char magic[8];
  uint32_t version;
  uint32_t unused;
  int64_t bytes;  // of the weights
  uint8_t sha256[32];
  uint8_t padding[8];
};
static_assert(sizeof(WeightsTrailer) == 64);
inline constexpr char kWeightsMagic[8] = {'T', 'E', 'N', 'O', 'N', 'W', 'T', 'S'};
inline constexpr uint32_t kWeightsVersion = 1;

}  // namespace tenon::runtime
