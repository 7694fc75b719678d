// SPDX-License-Identifier: Apache-2.0
// Running a model on a GPU: copies, the graph, and what can go wrong there.
#include <string.h>

#include "runtime/cuda/context.h"
#include "runtime/cuda/graph.h"
#include "runtime/interface.h"
#include "runtime/sentence.h"
#include "runtime/shapes.h"

namespace tenon::runtime::cuda {
namespace {

// tenon_model_run answers with these; the texts are in tenon_model_error.
enum Answer : int {
  kDone = 0,
  kNullPointer = 1,
  kBusy = 2,
  kForked = 3,
  kMisaligned = 4,
  kRefused = 5,
  kLost = 6,
};

constexpr const char* kAnswers[] = {
    "done",
    "nothing was run: the context, or the pointer to a tensor that has bytes, is NULL",
    "nothing was run: this context is running on another thread; create one context per thread",
    "nothing was run: a card cannot be used after fork(); create the context in the child, and "
    "none before",
    "nothing was run: a pointer to device memory is no multiple of 256",
    "the CUDA driver refused to run; the function driver_error says why",
    "a kernel failed on the card, or the card is lost; this process cannot use it any more; the "
    "function driver_error says more",
};

// After these the driver answers every call of the process on that card with the same error.
bool ends_context(Status status) {
  switch (status) {
    case kEccUncorrectable:
    case kIllegalAddress:
    case kLaunchTimeout:
    case kContextIsDestroyed:
    case kHardwareStackError:
    case kIllegalInstruction:
    case kMisalignedAddress:
    case kInvalidAddressSpace:
    case kInvalidPc:
    case kLaunchFailed:
    case kUnknown:
      return true;
    default:
      return false;
  }
}

Answer answer_to(tenon_model_ctx& ctx, Status status) {
  if (status == kSuccess) {
    return kDone;
  }
  explain(*ctx.card->driver, status, ctx.driver_error, sizeof ctx.driver_error);
  ctx.lost = ctx.lost || ends_context(status);
  return ctx.lost ? kLost : kRefused;
}

void copy_in(const tenon_model_ctx& ctx, const void* const* inputs) {
  for (int32_t i = 0; i < tenon_model.input_count; ++i) {
    if (tenon_model.inputs[i].bytes > 0) {
      memcpy(ctx.staging + (ctx.own[i] - ctx.own[0]), inputs[i], tenon_model.inputs[i].bytes);
    }
  }
}

void copy_out(const tenon_model_ctx& ctx, void* const* outputs) {
  const DevicePointer* own = ctx.own + tenon_model.input_count;
  for (int32_t i = 0; i < tenon_model.output_count; ++i) {
    if (tenon_model.outputs[i].bytes > 0) {
      memcpy(outputs[i], ctx.staging + input_bytes() + (own[i] - own[0]),
             tenon_model.outputs[i].bytes);
    }
  }
}

// A hook waits for each step, so that the time between its two calls is that of the step.
Status run_steps(const tenon_model_ctx& ctx) {
  size_t launch = 0;
  // Runs of the graph wait for each other; these launches would not wait for one on a caller's stream.
  const Status before = ctx.card->driver->CtxSynchronize();
  if (before != kSuccess) {
    return before;
  }
  for (int32_t s = 0; s < tenon_model.step_count; ++s) {
    ctx.hook(ctx.hook_user, s, 0);
    Status status = launch_step(ctx, s, launch);
    if (status == kSuccess) {
      status = ctx.card->driver->StreamSynchronize(ctx.stream);
    }
    if (status != kSuccess) {
      return status;
    }
    launch += static_cast<size_t>(tenon_cuda.steps[s].launch_count);
    ctx.hook(ctx.hook_user, s, 1);
  }
  return kSuccess;
}

Status run_between_copies(tenon_model_ctx& ctx) {
  const Driver& driver = *ctx.card->driver;
  const DevicePointer* outputs = ctx.own + tenon_model.input_count;
  Status status = bind(ctx, ctx.own, outputs);
  if (status == kSuccess && input_bytes() > 0) {
    status = driver.MemcpyHtoDAsync(ctx.own[0], ctx.staging, input_bytes(), ctx.stream);
  }
  if (status == kSuccess) {
    status = ctx.hook != nullptr ? run_steps(ctx) : driver.GraphLaunch(ctx.exec, ctx.stream);
  }
  if (status == kSuccess && output_bytes() > 0) {
    status =
        driver.MemcpyDtoHAsync(ctx.staging + input_bytes(), outputs[0], output_bytes(), ctx.stream);
  }
  // Waited for in any case: what was begun must not go on in memory that the next run writes.
  const Status waited = driver.StreamSynchronize(ctx.stream);
  return status != kSuccess ? status : waited;
}

Status run_on_host(tenon_model_ctx& ctx, const void* const* inputs, void* const* outputs) {
  const Current current(*ctx.card);
  if (current.status() != kSuccess) {
    return current.status();
  }
  copy_in(ctx, inputs);
  const Status status = run_between_copies(ctx);
  if (status == kSuccess) {
    copy_out(ctx, outputs);
  }
  return status;
}

Status run_on_device(tenon_model_ctx& ctx, const DevicePointer* inputs,
                     const DevicePointer* outputs, Stream stream) {
  const Current current(*ctx.card);
  if (current.status() != kSuccess) {
    return current.status();
  }
  const Status status = bind(ctx, inputs, outputs);
  return status == kSuccess ? ctx.card->driver->GraphLaunch(ctx.exec, stream) : status;
}

Answer check_device_pointers(const DevicePointer* pointers, const tenon_model_tensor* tensors,
                             int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    if (tensors[i].bytes > 0 && (pointers == nullptr || pointers[i] == 0)) {
      return kNullPointer;
    }
    if (tensors[i].bytes > 0 && pointers[i] % kDeviceAlignment != 0) {
      return kMisaligned;
    }
  }
  return kDone;
}

// Kept until the work is handed to the driver.
class Turn {
 public:
  explicit Turn(tenon_model_ctx& ctx) : ctx_(ctx) {
    if (ctx.mark.in_child()) {
      refusal_ = kForked;
    } else if (ctx.busy.exchange(true)) {
      ctx.refused.fetch_add(1);
      refusal_ = kBusy;
    } else {
      refusal_ = ctx.lost ? kLost : kDone;
      taken_ = true;
    }
  }
  ~Turn() {
    if (taken_) {
      ctx_.busy.release(false);
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  Answer refusal() const { return refusal_; }

 private:
  tenon_model_ctx& ctx_;
  Answer refusal_ = kDone;
  bool taken_ = false;
};

}  // namespace
}  // namespace tenon::runtime::cuda

extern "C" {

int tenon_model_run(tenon_model_ctx* ctx, const void* const* inputs, void* const* outputs) {
  using namespace tenon::runtime;
  if (ctx == nullptr || has_null(inputs, tenon_model.inputs, tenon_model.input_count) ||
      has_null(outputs, tenon_model.outputs, tenon_model.output_count)) {
    return cuda::kNullPointer;
  }
  const cuda::Turn turn(*ctx);
  if (turn.refusal() != cuda::kDone) {
    return turn.refusal();
  }
  return cuda::answer_to(*ctx, cuda::run_on_host(*ctx, inputs, outputs));
}

int tenon_model_run_device(tenon_model_ctx* ctx, const uint64_t* inputs, const uint64_t* outputs,
                           void* stream) {
  using namespace tenon::runtime;
  if (ctx == nullptr) {
    return cuda::kNullPointer;
  }
  cuda::Answer answer =
      cuda::check_device_pointers(inputs, tenon_model.inputs, tenon_model.input_count);
  if (answer == cuda::kDone) {
    answer = cuda::check_device_pointers(outputs, tenon_model.outputs, tenon_model.output_count);
  }
  if (answer != cuda::kDone) {
    return answer;
  }
  const cuda::Turn turn(*ctx);
  if (turn.refusal() != cuda::kDone) {
    return turn.refusal();
  }
  return cuda::answer_to(
      *ctx, cuda::run_on_device(*ctx, inputs, outputs, static_cast<cuda::Stream>(stream)));
}

const char* tenon_model_error(int code) {
  using namespace tenon::runtime::cuda;
  if (code == tenon::runtime::kRefusedShape) {
    return tenon::runtime::kRefusedShapeText;
  }
  if (code == tenon::runtime::kRefusedTarget) {
    return tenon::runtime::kRefusedTargetText;
  }
  return code >= kDone && code <= kLost ? kAnswers[code] : "run does not return this code";
}

// Sizes are fixed here: what fits is what there is.
int tenon_model_set_shape(tenon_model_ctx* ctx, int32_t input, const int64_t* shape, int32_t rank,
                          const char** why) {
  using namespace tenon::runtime;
  if (ctx == nullptr || (shape == nullptr && rank > 0)) {
    return cuda::kNullPointer;
  }
  char sentence[kSentenceBytes];
  return read_sizes(input, shape, rank, nullptr, sentence) ? static_cast<int>(cuda::kDone)
                                                           : refuse_shape(sentence, why);
}

const tenon_model_tensor* tenon_model_input_now(const tenon_model_ctx* ctx, int32_t i) {
  return ctx != nullptr ? tenon_model_input(i) : nullptr;
}

const tenon_model_tensor* tenon_model_output_now(const tenon_model_ctx* ctx, int32_t i) {
  return ctx != nullptr ? tenon_model_output(i) : nullptr;
}

const tenon_model_tensor* tenon_model_output_given(const tenon_model_ctx* ctx, int32_t i) {
  return tenon_model_output_now(ctx, i);
}

int64_t tenon_model_refused(const tenon_model_ctx* ctx) {
  return ctx != nullptr ? ctx->refused.relaxed() : 0;
}

// The card has its own; a run is waited for by the thread that calls it.
int32_t tenon_model_threads(const tenon_model_ctx* ctx) { return ctx != nullptr ? 1 : 0; }

const tenon_runtime* tenon_model_runtime_create(int32_t, const char** why) {
  char sentence[tenon::runtime::kSentenceBytes] = "a model for GPUs has no threads to share";
  tenon::runtime::tell_why(sentence, why);
  return nullptr;
}

void tenon_model_runtime_destroy(const tenon_runtime*) {}

void tenon_model_set_hook(tenon_model_ctx* ctx, tenon_model_hook hook, void* user) {
  if (ctx != nullptr) {
    ctx->hook = hook;
    ctx->hook_user = user;
  }
}

int32_t tenon_model_device(const tenon_model_ctx* ctx) {
  return ctx != nullptr ? ctx->card->number : -1;
}

const char* tenon_model_driver_error(const tenon_model_ctx* ctx) {
  return ctx != nullptr ? ctx->driver_error : "";
}

}  // extern "C"
