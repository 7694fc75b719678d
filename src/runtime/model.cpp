// SPDX-License-Identifier: Apache-2.0
// Contexts of a compiled model: memory, weights, threads, and the walk over the steps.
//
// The workspace of a context:   arena | scratch of the running kernel | staging of inputs and outputs
#include "runtime/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/cpu_check.h"
#include "runtime/cpus.h"
#include "runtime/sentence.h"
#include "runtime/weights.h"

namespace tenon::runtime {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;

size_t align_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % kAlignment == 0; }

// A parameter that changes from run to run.
struct Slot {
  void** param;
  int32_t tensor;  // inputs, then outputs
};

struct Memory {
  void* mapping = nullptr;
  size_t bytes = 0;
};

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

// Never 0: even a parameter without bytes points somewhere.
size_t workspace_bytes() {
  return static_cast<size_t>(tenon_model.arena_bytes + tenon_model.scratch_bytes) +
         staging_bytes() + kAlignment;
}

size_t param_count() {
  size_t count = 0;
  for (int32_t i = 0; i < tenon_model.step_count; ++i) {
    count += static_cast<size_t>(tenon_model.steps[i].count);
  }
  return count;
}

}  // namespace

char* next_sentence() {
  static char sentences[kSentences][kSentenceBytes];
  static Atomic<uint32_t> next{0};
  return sentences[next.fetch_add(1) % kSentences];
}

}  // namespace tenon::runtime

using tenon::runtime::Memory;
using tenon::runtime::Slot;
using tenon::runtime::Weights;

struct tenon_model_ctx {
  char* workspace = nullptr;
  Memory memory;  // of the workspace, unless it is the caller's
  Weights weights;
  const tenon_runtime* runtime = nullptr;
  const tenon_runtime* own_runtime = nullptr;
  tenon_model_hook hook = nullptr;
  void* hook_user = nullptr;
  size_t slot_count = 0;
  Slot* slots = nullptr;     // in the order of steps
  void** params = nullptr;   // of all steps, one after the other
  char** staging = nullptr;  // per input, then per output
  void** used = nullptr;     // the same: what kernels get in this run
};

namespace tenon::runtime {
namespace {

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
  if (!open_weights(options, ctx.weights, sentence) || !start_runtime(ctx, options, sentence)) {
    return false;
  }
  place_staging(ctx);
  place_params(ctx);
  return true;
}

void destroy_context(tenon_model_ctx* ctx) {
  tenon_runtime_destroy(ctx->own_runtime);
  close_weights(ctx->weights);
  if (ctx->memory.mapping != nullptr) {
    munmap(ctx->memory.mapping, ctx->memory.bytes);
  }
  free(ctx);
}

bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const auto x = reinterpret_cast<uintptr_t>(a);
  const auto y = reinterpret_cast<uintptr_t>(b);
  return x < y + b_bytes && y < x + a_bytes;
}

bool overlaps_input(const void* output, size_t bytes, const void* const* inputs) {
  for (int32_t i = 0; i < tenon_model.input_count; ++i) {
    if (overlap(output, bytes, inputs[i], tenon_model.inputs[i].bytes)) {
      return true;
    }
  }
  return false;
}

bool has_null(const void* const* pointers, const tenon_model_tensor* tensors, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    if (tensors[i].bytes > 0 && (pointers == nullptr || pointers[i] == nullptr)) {
      return true;
    }
  }
  return false;
}

void take_inputs(tenon_model_ctx& ctx, const void* const* inputs) {
  for (int32_t i = 0; i < tenon_model.input_count; ++i) {
    const size_t bytes = tenon_model.inputs[i].bytes;
    if (bytes > 0 && is_aligned(inputs[i])) {
      ctx.used[i] = const_cast<void*>(inputs[i]);  // kernels only read it
      continue;
    }
    ctx.used[i] = ctx.staging[i];
    if (bytes > 0) {
      memcpy(ctx.staging[i], inputs[i], bytes);
    }
  }
}

void take_outputs(tenon_model_ctx& ctx, const void* const* inputs, void* const* outputs) {
  for (int32_t i = 0; i < tenon_model.output_count; ++i) {
    const int32_t at = tenon_model.input_count + i;
    const size_t bytes = tenon_model.outputs[i].bytes;
    const bool in_place =
        bytes > 0 && is_aligned(outputs[i]) && !overlaps_input(outputs[i], bytes, inputs);
    ctx.used[at] = in_place ? outputs[i] : ctx.staging[at];
  }
}

void give_outputs(const tenon_model_ctx& ctx, void* const* outputs) {
  for (int32_t i = 0; i < tenon_model.output_count; ++i) {
    const void* from = ctx.used[tenon_model.input_count + i];
    const size_t bytes = tenon_model.outputs[i].bytes;
    if (bytes > 0 && from != outputs[i]) {
      memcpy(outputs[i], from, bytes);
    }
  }
}

void run_steps(const tenon_model_ctx& ctx) {
  void** params = ctx.params;
  void* scratch = ctx.workspace + tenon_model.arena_bytes;
  for (int32_t s = 0; s < tenon_model.step_count; ++s) {
    const tenon_model_step& step = tenon_model.steps[s];
    if (ctx.hook != nullptr) {
      ctx.hook(ctx.hook_user, s, 0);
    }
    step.kernel(params, scratch, ctx.runtime);
    if (ctx.hook != nullptr) {
      ctx.hook(ctx.hook_user, s, 1);
    }
    params += step.count;
  }
}

}  // namespace
}  // namespace tenon::runtime

extern "C" {

tenon_model_ctx* tenon_model_create_with(const tenon_model_options* options, const char** why) {
  using namespace tenon::runtime;
  char sentence[kSentenceBytes] = "there is no memory for a context";
  const tenon_model_options defaults{};
  tenon_model_ctx* ctx = nullptr;
  if (check_cpu(tenon_model.needs, sentence, sizeof sentence)) {
    ctx = allocate();
    if (ctx != nullptr && set_up(*ctx, options != nullptr ? *options : defaults, sentence)) {
      return ctx;
    }
  }
  if (ctx != nullptr) {
    destroy_context(ctx);
  }
  if (why != nullptr) {
    char* kept = next_sentence();
    memcpy(kept, sentence, sizeof sentence);
    *why = kept;
  }
  return nullptr;
}

tenon_model_ctx* tenon_model_create(int32_t threads, const char** why) {
  tenon_model_options options{};
  options.threads = threads;
  return tenon_model_create_with(&options, why);
}

void tenon_model_destroy(tenon_model_ctx* ctx) {
  if (ctx != nullptr) {
    tenon::runtime::destroy_context(ctx);
  }
}

int tenon_model_run(tenon_model_ctx* ctx, const void* const* inputs, void* const* outputs) {
  using namespace tenon::runtime;
  if (has_null(inputs, tenon_model.inputs, tenon_model.input_count) ||
      has_null(outputs, tenon_model.outputs, tenon_model.output_count)) {
    return 1;
  }
  take_inputs(*ctx, inputs);
  take_outputs(*ctx, inputs, outputs);
  for (size_t i = 0; i < ctx->slot_count; ++i) {
    *ctx->slots[i].param = ctx->used[ctx->slots[i].tensor];
  }
  run_steps(*ctx);
  give_outputs(*ctx, outputs);
  return 0;
}

int32_t tenon_model_input_count(void) { return tenon_model.input_count; }
int32_t tenon_model_output_count(void) { return tenon_model.output_count; }

const tenon_model_tensor* tenon_model_input(int32_t i) {
  return i >= 0 && i < tenon_model.input_count ? &tenon_model.inputs[i] : nullptr;
}

const tenon_model_tensor* tenon_model_output(int32_t i) {
  return i >= 0 && i < tenon_model.output_count ? &tenon_model.outputs[i] : nullptr;
}

size_t tenon_model_workspace_bytes(void) { return tenon::runtime::workspace_bytes(); }

int32_t tenon_model_threads(const tenon_model_ctx* ctx) { return ctx->runtime->threads; }

void tenon_model_set_hook(tenon_model_ctx* ctx, tenon_model_hook hook, void* user) {
  ctx->hook = hook;
  ctx->hook_user = user;
}

int32_t tenon_model_step_count(void) { return tenon_model.step_count; }

const char* tenon_model_step_name(int32_t step) {
  return step >= 0 && step < tenon_model.step_count ? tenon_model.steps[step].name : nullptr;
}

const char* tenon_model_manifest(void) { return tenon_model.manifest; }

}  // extern "C"
