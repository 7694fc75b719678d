// SPDX-License-Identifier: Apache-2.0
// A context of a model that runs on a GPU: memory of the card, and one graph of all launches.
//
// Its memory:   arena | scratch of the steps | inputs | outputs      of which only the last two are staged on the host
#pragma once

#include "runtime/atomic.h"
#include "runtime/cuda/card.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/table.h"
#include "runtime/fork_mark.h"

namespace tenon::runtime::cuda {

inline constexpr size_t kDeviceAlignment = 256;  // of every parameter of a kernel

// A node of the graph. Its arguments lie in the lists of the context.
struct Launch {
  KernelNodeParams params;
  GraphNode node;
  bool stale;  // an argument has changed since the graph was told
};

// An argument that names memory of the caller.
struct Slot {
  DevicePointer* argument;
  int32_t tensor;  // inputs, then outputs
  int32_t launch;
};

}  // namespace tenon::runtime::cuda

struct tenon_model_ctx {
  tenon::runtime::Atomic<bool> busy{false};  // a run goes on
  tenon::runtime::Atomic<int64_t> refused{0};
  tenon::runtime::ForkMark mark;
  tenon::runtime::cuda::Card* card = nullptr;
  tenon::runtime::cuda::DevicePointer memory = 0;
  char* staging = nullptr;  // inputs, then outputs, as they lie on the card
  tenon::runtime::cuda::Stream stream = nullptr;
  tenon::runtime::cuda::Graph graph = nullptr;
  tenon::runtime::cuda::GraphExec exec = nullptr;
  tenon_model_hook hook = nullptr;
  void* hook_user = nullptr;
  bool lost = false;  // a kernel failed: the driver does nothing more
  char driver_error[256] = "";
  size_t launch_count = 0;
  size_t slot_count = 0;
  tenon::runtime::cuda::Launch* launches = nullptr;  // in the order of steps
  tenon::runtime::cuda::Slot* slots = nullptr;
  tenon::runtime::cuda::DevicePointer* arguments = nullptr;  // of all launches, one after the other
  void** argument_pointers = nullptr;                        // to each of them
  tenon::runtime::cuda::DevicePointer* own = nullptr;  // per input, then per output: its own memory
};

namespace tenon::runtime::cuda {

size_t input_bytes();   // of all inputs, each at a multiple of kDeviceAlignment
size_t output_bytes();  // the same of outputs

}  // namespace tenon::runtime::cuda
