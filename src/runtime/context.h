// SPDX-License-Identifier: Apache-2.0
// A context of a compiled model: memory, weights, threads and the parameters of all steps.
//
// Its workspace:   arena | scratch of the running kernel | staging of inputs and outputs | inputs as they were | sizes
//
// Inputs as they were are there where sizes are put together of several runs: an output of the first may lie in the memory
// of an input that the second reads. The sizes of open dimensions are there for kernels to read, each in a place of its own.
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

// What run and set_shape answer; the texts are in tenon_model_error.
enum Answer : int { kDone = 0, kNullPointer = 1, kBusy = 2, kForked = 3, kContrary = 9 };

// The tensors and steps of a model without open dimensions.
tenon_model_variant sole_variant();

// Fills in the parameters of all steps of a variant, unless they are there already.
void place_params(tenon_model_ctx& ctx, const tenon_model_variant& variant);

// The variant of these sizes, which are compiled ones, and of the size `batch` where sizes are put together.
const tenon_model_variant& variant_of(const tenon_model_ctx& ctx, int64_t batch);

// The largest compiled size that is at most `left`. There is one: the smallest is 1.
int64_t next_part(int64_t left);

// The size that is put together of several; 1 if there is none.
int64_t batch_of(const tenon_model_ctx& ctx);

// Whether an input has one part for each item of that size; the others are the same for all items.
bool has_items(int32_t input);

// The extent of an axis of a tensor of the variant that runs, without padding.
int64_t extent_within(const tenon_model_ctx& ctx, const tenon_model_tensor& t, int32_t axis);
bool is_padded(const tenon_model_ctx& ctx, const tenon_model_tensor& t);

// Whether an input was set to a shape whose computed axes the sizes do not have now.
bool is_contrary(const tenon_model_ctx& ctx);

// Fills in the tensors of the next run from the sizes.
void set_tensors(tenon_model_ctx& ctx);

// Runs steps of the placed variant; `params` are those of the first.
void run_steps(const tenon_model_ctx& ctx, int64_t first, int64_t count, void** params);

// Follows the branches and loops of the placed variant, which has some.
void run_flow(tenon_model_ctx& ctx);

// Parameters of steps and of instructions, of which each has kFlowParams.
inline constexpr int64_t kFlowParams = 3;
int64_t step_params(const tenon_model_variant& variant);

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
  void** params = nullptr;                // of all steps, one after the other, then of the flow
  char** staging = nullptr;               // per input, then per output
  void** used = nullptr;                  // the same: what kernels get in this run
  const void** part = nullptr;  // the same: the caller's memory, where the current part begins
  char* kept_inputs = nullptr;  // memory for all inputs
  char* size_places = nullptr;  // the size of each open dimension, kAlignment bytes apart
  tenon_model_variant sole{};
  const tenon_model_variant* placed = nullptr;  // whose parameters are filled in
  int64_t* sizes = nullptr;                     // by open dimension
  int64_t* stated = nullptr;                    // what computed axes were set to; -1: nothing
  tenon_model_tensor* now = nullptr;            // per input, then per output, of the next run
  int64_t* extents = nullptr;                   // of `now`, one after the other
  tenon_model_tensor* given = nullptr;          // per output, of the last run
  int64_t* given_rows = nullptr;  // the same: shapes, where the run decided about them
};
