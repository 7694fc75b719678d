// SPDX-License-Identifier: Apache-2.0
#include "runtime/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "runtime/cpu_check.h"
#include "runtime/cpus.h"
#include "runtime/interface.h"
#include "runtime/sentence.h"

namespace tenon::runtime {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

size_t align_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

size_t staging_bytes() {
  size_t bytes = 0;
  for (int32_t i = 0; i < tenon_model.input_count; ++i) {
    bytes += align_up(tenon_model.inputs[i].bytes, kAlignment);
  }
  for (int32_t i = 0; i < tenon_model.output_count; ++i) {
    bytes += align_up(tenon_model.outputs[i].bytes, kAlignment);
  }
  return bytes;
}

size_t param_count() {
  size_t count = 0;
  for (int32_t i = 0; i < tenon_model.step_count; ++i) {
    count += static_cast<size_t>(tenon_model.steps[i].count);
  }
  return count;
}

// The context and its lists in one block.
tenon_model_ctx* allocate() {
  const size_t params = param_count();
  const auto tensors =
      static_cast<size_t>(tenon_model.input_count) + static_cast<size_t>(tenon_model.output_count);
  const size_t bytes = sizeof(tenon_model_ctx) + params * (sizeof(Slot) + sizeof(void*)) +
                       tensors * 2 * sizeof(void*);
  void* block = calloc(1, bytes);
  if (block == nullptr) {
    return nullptr;
  }
  auto* ctx = new (InPlace{block}) tenon_model_ctx;
  ctx->slots = reinterpret_cast<Slot*>(ctx + 1);
  ctx->params = reinterpret_cast<void**>(ctx->slots + params);
  ctx->staging = reinterpret_cast<char**>(ctx->params + params);
  ctx->used = reinterpret_cast<void**>(ctx->staging + tensors);
  return ctx;
}

// Large workspaces lie on huge pages where the system has them: fewer faults in the first run and fewer
// misses of the TLB in all others.
bool map_workspace(tenon_model_ctx& ctx) {
  const size_t bytes = workspace_bytes();
  const bool huge = bytes >= kHugePage;
  const size_t mapped = huge ? bytes + kHugePage : bytes;
  void* mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    return false;
  }
  ctx.memory = {mapping, mapped};
  ctx.workspace = static_cast<char*>(mapping);
  if (huge) {
    const auto at = reinterpret_cast<uintptr_t>(mapping);
    ctx.workspace += align_up(at, kHugePage) - at;
    madvise(ctx.workspace, bytes, MADV_HUGEPAGE);
  }
  return true;
}

void place_staging(tenon_model_ctx& ctx) {
  char* at = ctx.workspace + tenon_model.arena_bytes + tenon_model.scratch_bytes;
  for (int32_t i = 0; i < tenon_model.input_count; ++i) {
    ctx.staging[i] = at;
    at += align_up(tenon_model.inputs[i].bytes, kAlignment);
  }
  for (int32_t i = 0; i < tenon_model.output_count; ++i) {
    ctx.staging[tenon_model.input_count + i] = at;
    at += align_up(tenon_model.outputs[i].bytes, kAlignment);
  }
}

// Pointers to weights and arena are the same in every run; the others are remembered as slots.
void place_params(tenon_model_ctx& ctx) {
  void** param = ctx.params;
  for (int32_t s = 0; s < tenon_model.step_count; ++s) {
    const tenon_model_step& step = tenon_model.steps[s];
    for (int64_t i = 0; i < step.count; ++i, ++param) {
      const tenon_model_param& p = step.params[i];
      if (p.place == kTenonArena) {
        *param = ctx.workspace + p.offset;
      } else if (p.place == kTenonWeights) {
        *param = const_cast<char*>(ctx.weights.data + p.offset);  // kernels only read it
      } else {
        const int32_t first = p.place == kTenonInput ? 0 : tenon_model.input_count;
        ctx.slots[ctx.slot_count++] = {param, first + p.index};
      }
    }
  }
}

bool start_runtime(tenon_model_ctx& ctx, const tenon_model_options& options, char* sentence) {
  if (options.runtime != nullptr) {
    ctx.runtime = options.runtime;
    if (ctx.runtime->parallel == nullptr || ctx.runtime->threads < 1) {
      snprintf(sentence, kSentenceBytes,
               "the runtime cannot be used: its `parallel` must be a function and its `threads` at "
               "least 1");
      return false;
    }
    return true;
  }
  if (options.threads < 0) {
    snprintf(sentence, kSentenceBytes,
             "%d threads cannot be started: give 0 (one per core) or more", options.threads);
    return false;
  }
  const int32_t threads = options.threads > 0 ? options.threads : default_threads();
  ctx.own_runtime = ctx.runtime = tenon_runtime_create(threads);
  if (ctx.runtime == nullptr) {
    snprintf(sentence, kSentenceBytes, "%d threads cannot be started", threads);
  }
  return ctx.runtime != nullptr;
}

bool set_up(tenon_model_ctx& ctx, const tenon_model_options& options, char* sentence) {
  if (options.workspace != nullptr) {
    if (!is_aligned(options.workspace)) {
      snprintf(sentence, kSentenceBytes, "the workspace is not aligned to 64 bytes");
      return false;
    }
    ctx.workspace = static_cast<char*>(options.workspace);
  } else if (!map_workspace(ctx)) {
    snprintf(sentence, kSentenceBytes, "there is no memory for a workspace of %zu bytes",
             workspace_bytes());
    return false;
  }
  // Threads before weights: they sum them up.
  if (!start_runtime(ctx, options, sentence) ||
      !open_weights(options, ctx.own_runtime, ctx.weights, sentence)) {
    return false;
  }
  ctx.mark.set();
  place_staging(ctx);
  place_params(ctx);
  return true;
}

}  // namespace

// Never 0: even a parameter without bytes points somewhere.
size_t workspace_bytes() {
  return static_cast<size_t>(tenon_model.arena_bytes + tenon_model.scratch_bytes) +
         staging_bytes() + kAlignment;
}

void destroy_context(tenon_model_ctx* ctx) {
  tenon_runtime_destroy(ctx->own_runtime);
  close_weights(ctx->weights);
  ctx->mark.clear();
  if (ctx->memory.mapping != nullptr) {
    munmap(ctx->memory.mapping, ctx->memory.bytes);
  }
  free(ctx);
}

tenon_model_ctx* create_context(const tenon_model_options& options, char* sentence) {
  if (!check_cpu(tenon_model.needs, sentence, kSentenceBytes)) {
    return nullptr;
  }
  tenon_model_ctx* ctx = allocate();
  if (ctx == nullptr) {
    snprintf(sentence, kSentenceBytes, "there is no memory for a context");
    return nullptr;
  }
  if (!set_up(*ctx, options, sentence)) {
    destroy_context(ctx);
    return nullptr;
  }
  return ctx;
}

}  // namespace tenon::runtime
