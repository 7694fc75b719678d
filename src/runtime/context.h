// SPDX-License-Identifier: Apache-2.0
// A context of a compiled model: memory, weights, threads and the parameters of all steps.
//
// Its workspace:   arena | scratch of the running kernel | staging of inputs and outputs
#pragma once

#include "runtime/atomic.h"
#include "runtime/fork_mark.h"
#include "runtime/model.h"
#include "runtime/weights.h"

namespace tenon::runtime {

inline constexpr size_t kAlignment = 64;

inline bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % kAlignment == 0; }

// A parameter that changes from run to run.
struct Slot {
  void** param;
  int32_t tensor;  // inputs, then outputs
};

struct Memory {
  void* mapping = nullptr;
  size_t bytes = 0;
};

}  // namespace tenon::runtime

struct tenon_model_ctx {
  tenon::runtime::Atomic<bool> busy{false};  // a run goes on
  tenon::runtime::Atomic<int64_t> refused{0};
  tenon::runtime::ForkMark mark;
  char* workspace = nullptr;
  tenon::runtime::Memory memory;  // of the workspace, unless it is the caller's
  tenon::runtime::Weights weights;
  const tenon_runtime* runtime = nullptr;
  const tenon_runtime* own_runtime = nullptr;
  tenon_model_hook hook = nullptr;
  void* hook_user = nullptr;
  size_t slot_count = 0;
  tenon::runtime::Slot* slots = nullptr;  // in the order of steps
  void** params = nullptr;                // of all steps, one after the other
  char** staging = nullptr;               // per input, then per output
  void** used = nullptr;                  // the same: what kernels get in this run
};
