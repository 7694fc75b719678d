// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/context.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/cuda/graph.h"
#include "runtime/interface.h"

namespace tenon::runtime::cuda {
namespace {

size_t padded(size_t bytes) {
  return (bytes + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
}

size_t tensor_bytes(const tenon_model_tensor* tensors, int32_t count) {
  size_t bytes = 0;
  for (int32_t i = 0; i < count; ++i) {
    bytes += padded(tensors[i].bytes);
  }
  return bytes;
}

size_t inner_bytes() {
  return padded(static_cast<size_t>(tenon_model.arena_bytes + tenon_model.scratch_bytes));
}

struct Counts {
  size_t launches = 0;
  size_t arguments = 0;
};

Counts count_launches() {
  Counts counts;
  for (int32_t s = 0; s < tenon_model.step_count; ++s) {
    const tenon_cuda_step& step = tenon_cuda.steps[s];
    counts.launches += static_cast<size_t>(step.launch_count);
    for (int32_t l = step.first_launch; l < step.first_launch + step.launch_count; ++l) {
      counts.arguments += static_cast<size_t>(tenon_cuda.launches[l].argument_count);
    }
  }
  return counts;
}

// The context and its lists in one block.
tenon_model_ctx* make_context() {
  const Counts n = count_launches();
  const auto tensors =
      static_cast<size_t>(tenon_model.input_count) + static_cast<size_t>(tenon_model.output_count);
  const size_t bytes = sizeof(tenon_model_ctx) + n.launches * sizeof(Launch) +
                       n.arguments * (sizeof(Slot) + sizeof(DevicePointer) + sizeof(void*)) +
                       tensors * sizeof(DevicePointer);
  void* block = calloc(1, bytes);
  if (block == nullptr) {
    return nullptr;
  }
  auto* ctx = new (InPlace{block}) tenon_model_ctx;
  ctx->launches = reinterpret_cast<Launch*>(ctx + 1);
  ctx->slots = reinterpret_cast<Slot*>(ctx->launches + n.launches);
  ctx->arguments = reinterpret_cast<DevicePointer*>(ctx->slots + n.arguments);
  ctx->argument_pointers = reinterpret_cast<void**>(ctx->arguments + n.arguments);
  ctx->own = reinterpret_cast<DevicePointer*>(ctx->argument_pointers + n.arguments);
  return ctx;
}

void place_tensors(tenon_model_ctx& ctx) {
  DevicePointer at = ctx.memory + inner_bytes();
  for (int32_t i = 0; i < tenon_model.input_count; ++i) {
    ctx.own[i] = at;
    at += padded(tenon_model.inputs[i].bytes);
  }
  for (int32_t i = 0; i < tenon_model.output_count; ++i) {
    ctx.own[tenon_model.input_count + i] = at;
    at += padded(tenon_model.outputs[i].bytes);
  }
}

bool set_up_context(tenon_model_ctx& ctx, char* sentence) {
  const Driver& driver = *ctx.card->driver;
  const Current current(*ctx.card);
  if (current.status() != kSuccess) {
    return refuse(*ctx.card, current.status(), "it cannot be used", sentence);
  }
  if (!allocate(*ctx.card, workspace_bytes(), "a context", &ctx.memory, sentence)) {
    return false;
  }
  place_tensors(ctx);
  void* staging = nullptr;
  Status status =
      driver.MemHostAlloc(&staging, input_bytes() + output_bytes() + kDeviceAlignment, 0);
  if (status != kSuccess) {
    return refuse(*ctx.card, status, "memory for copies to and from it cannot be had", sentence);
  }
  ctx.staging = static_cast<char*>(staging);
  status = driver.StreamCreate(&ctx.stream, kStreamNonBlocking);
  if (status != kSuccess) {
    ctx.stream = nullptr;
    return refuse(*ctx.card, status, "a stream cannot be made", sentence);
  }
  return build_graph(ctx, sentence);
}

void release_context(tenon_model_ctx& ctx) {
  const Driver& driver = *ctx.card->driver;
  const Current current(*ctx.card);
  driver.CtxSynchronize();  // runs on streams of the caller may go on
  if (ctx.exec != nullptr) {
    driver.GraphExecDestroy(ctx.exec);
  }
  if (ctx.graph != nullptr) {
    driver.GraphDestroy(ctx.graph);
  }
  if (ctx.stream != nullptr) {
    driver.StreamDestroy(ctx.stream);
  }
  if (ctx.staging != nullptr) {
    driver.MemFreeHost(ctx.staging);
  }
  if (ctx.memory != 0) {
    driver.MemFree(ctx.memory);
  }
}

}  // namespace

size_t input_bytes() { return tensor_bytes(tenon_model.inputs, tenon_model.input_count); }
size_t output_bytes() { return tensor_bytes(tenon_model.outputs, tenon_model.output_count); }

}  // namespace tenon::runtime::cuda

namespace tenon::runtime {

// Never 0: even a parameter without bytes points somewhere.
size_t workspace_bytes() {
  return cuda::inner_bytes() + cuda::input_bytes() + cuda::output_bytes() + cuda::kDeviceAlignment;
}

void destroy_context(tenon_model_ctx* ctx) {
  if (ctx->card != nullptr) {
    if (!ctx->mark.in_child()) {
      cuda::release_context(*ctx);
    }
    cuda::leave_card(ctx->card);
  }
  ctx->mark.clear();
  free(ctx);
}

tenon_model_ctx* create_context(const tenon_model_options& options, char* sentence) {
  tenon_model_ctx* ctx = cuda::make_context();
  if (ctx == nullptr) {
    snprintf(sentence, kSentenceBytes, "there is no memory for a context");
    return nullptr;
  }
  ctx->mark.set();
  ctx->card = cuda::use_card(options, sentence);
  if (ctx->card == nullptr || !cuda::set_up_context(*ctx, sentence)) {
    destroy_context(ctx);
    return nullptr;
  }
  return ctx;
}

}  // namespace tenon::runtime
