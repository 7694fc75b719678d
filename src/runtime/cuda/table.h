// SPDX-License-Identifier: Apache-2.0
// A compiled model for GPUs has this table besides that of runtime/model.h (whose steps have no kernel then). It holds
// code for the card and the launches of each step. Module artifact writes it as data (gpu_table.cpp there), so every field here has
// its twin in that file.
#pragma once

#include "runtime/model.h"

#pragma GCC visibility push(default)
#include "runtime/cuda/device_api.h"
#pragma GCC visibility pop

extern "C" {

// Kernels that are loaded together.
struct tenon_cuda_module {
  const void* image;  // machine code; null: there is none
  const char* ptx;    // text, for cards that the image is not for; null: there is none
};

// Arguments of kernels are pointers: a parameter of the step by its number, or this.
enum : int32_t { kTenonScratch = -1 };

struct tenon_cuda_launch {
  const char* symbol;
  const int32_t* arguments;
  int32_t argument_count;
  int32_t module;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  int32_t early;  // 1: it may begin before those in front of it are done, and waits by itself
};

// The launches of a step run one after the other.
struct tenon_cuda_step {
  int32_t first_launch;
  int32_t launch_count;
  int64_t scratch_offset;  // of its own scratch, behind the arena
  const int32_t* after;    // steps that must be done before; what these wait for is left out
  int64_t after_count;
};

struct tenon_cuda_table {
  const char* processor;  // "sm_90"
  const tenon_cuda_module* modules;
  const tenon_cuda_launch* launches;
  const tenon_cuda_step* steps;  // as many as tenon_model.steps
  int32_t module_count;
  int32_t launch_count;
};

// NOLINTNEXTLINE(readability-identifier-naming): named as the functions are
extern __attribute__((visibility("hidden"))) const tenon_cuda_table tenon_cuda;

}  // extern "C"
