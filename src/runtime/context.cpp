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

int64_t variant_count() {
  int64_t count = 1;
  for (int32_t d = 0; d < tenon_model.dim_count; ++d) {
    count *= tenon_model.compiled[d].count;
  }
  return count;
}

size_t all_inputs_bytes() {
  size_t bytes = 0;
  for (int32_t i = 0; i < tenon_model.input_count; ++i) {
    bytes += align_up(tenon_model.inputs[i].bytes, kAlignment);
  }
  return bytes;
}

// The last variant is the largest in each dimension; what is padded may be larger than the caller's tensors.
size_t staged_bytes(int32_t tensor) {
  const tenon_model_variant last =
      tenon_model.variants != nullptr ? tenon_model.variants[variant_count() - 1] : sole_variant();
  const bool is_input = tensor < tenon_model.input_count;
  const int32_t i = is_input ? tensor : tensor - tenon_model.input_count;
  const size_t given = is_input ? tenon_model.inputs[i].bytes : tenon_model.outputs[i].bytes;
  const size_t padded = is_input ? last.inputs[i].bytes : last.outputs[i].bytes;
  return align_up(given > padded ? given : padded, kAlignment);
}

size_t staging_bytes() {
  size_t bytes = 0;
  for (int32_t i = 0; i < tenon_model.input_count + tenon_model.output_count; ++i) {
    bytes += staged_bytes(i);
  }
  return bytes;
}

// The most of any variant.
size_t param_count() {
  size_t most = 0;
  for (int64_t v = 0; v < variant_count(); ++v) {
    const tenon_model_variant variant =
        tenon_model.variants != nullptr ? tenon_model.variants[v] : sole_variant();
    const auto count = static_cast<size_t>(step_params(variant) + kFlowParams * variant.flow_count);
    most = count > most ? count : most;
  }
  return most;
}

size_t extent_count() {
  size_t count = 0;
  for (int32_t i = 0; i < tenon_model.input_count; ++i) {
    count += static_cast<size_t>(tenon_model.inputs[i].rank);
  }
  for (int32_t i = 0; i < tenon_model.output_count; ++i) {
    count += static_cast<size_t>(tenon_model.outputs[i].rank);
  }
  return count;
}

// Hands out parts of one block; without one, only their sum is of interest.
struct Parts {
  char* block;
  size_t bytes = 0;
  template <class T>
  T* take(size_t count) {
    T* part = block != nullptr ? reinterpret_cast<T*>(block + bytes) : nullptr;
    bytes += align_up(count * sizeof(T), 8);
    return part;
  }
};

size_t lay_out(tenon_model_ctx& ctx, Parts parts) {
  const size_t params = param_count();
  const auto tensors =
      static_cast<size_t>(tenon_model.input_count) + static_cast<size_t>(tenon_model.output_count);
  parts.take<tenon_model_ctx>(1);
  ctx.slots = parts.take<Slot>(params);
  ctx.params = parts.take<void*>(params);
  ctx.staging = parts.take<char*>(tensors);
  ctx.used = parts.take<void*>(tensors);
  ctx.part = parts.take<const void*>(tensors);
  ctx.sizes = parts.take<int64_t>(static_cast<size_t>(tenon_model.dim_count));
  ctx.stated = parts.take<int64_t>(static_cast<size_t>(tenon_model.sum_count));
  ctx.now = parts.take<tenon_model_tensor>(tensors);
  ctx.extents = parts.take<int64_t>(extent_count());
  ctx.given = parts.take<tenon_model_tensor>(static_cast<size_t>(tenon_model.output_count));
  ctx.given_rows = parts.take<int64_t>(extent_count());
  return parts.bytes;
}

// The context and its lists in one block.
tenon_model_ctx* allocate() {
  tenon_model_ctx sizes_only;
  void* block = calloc(1, lay_out(sizes_only, {nullptr}));
  if (block == nullptr) {
    return nullptr;
  }
  auto* ctx = new (InPlace{block}) tenon_model_ctx;
  lay_out(*ctx, {static_cast<char*>(block)});
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
  for (int32_t i = 0; i < tenon_model.input_count + tenon_model.output_count; ++i) {
    ctx.staging[i] = at;
    at += staged_bytes(i);
  }
  ctx.kept_inputs = at;
  ctx.size_places = at + (tenon_model.batch >= 0 ? all_inputs_bytes() : 0);
}

// Where a parameter is that no run changes; null: it is the caller's.
void* fixed_param(const tenon_model_ctx& ctx, const tenon_model_param& p) {
  switch (p.place) {
    case kTenonArena:
      return ctx.workspace + p.offset;
    case kTenonWeights:
      return const_cast<char*>(ctx.weights.data + p.offset);  // kernels only read it
    case kTenonNumbers:
      return const_cast<int64_t*>(tenon_model.numbers + p.offset / int64_t{sizeof(int64_t)});
    case kTenonSize:
      return ctx.size_places + static_cast<size_t>(p.index) * kAlignment;
    default:
      return nullptr;
  }
}

void set_largest(tenon_model_ctx& ctx) {
  for (int32_t d = 0; d < tenon_model.dim_count; ++d) {
    ctx.sizes[d] = tenon_model.dims[d].values[tenon_model.dims[d].count - 1];
  }
  for (int64_t i = 0; i < tenon_model.sum_count; ++i) {
    ctx.stated[i] = -1;
  }
  ctx.sole = sole_variant();
  set_tensors(ctx);
  place_params(ctx, variant_of(ctx, next_part(batch_of(ctx))));
}

// Null with a sentence if they cannot be started. 0: one per core.
const tenon_runtime* start_threads(int32_t threads, char* sentence) {
  if (threads < 0) {
    snprintf(sentence, kSentenceBytes,
             "%d threads cannot be started: give 0 (one per core) or more", threads);
    return nullptr;
  }
  const int32_t number = threads > 0 ? threads : default_threads();
  const tenon_runtime* runtime = tenon_runtime_create(number);
  if (runtime == nullptr) {
    snprintf(sentence, kSentenceBytes, "%d threads cannot be started", number);
  }
  return runtime;
}

// False with a sentence if the caller's threads cannot run a loop.
bool is_usable(const tenon_runtime& runtime, char* sentence) {
  if (runtime.parallel == nullptr) {
    snprintf(sentence, kSentenceBytes,
             "the runtime that was given cannot be used, for its `parallel` is NULL: give the "
             "function that runs a loop, or no runtime for threads of the context's own");
    return false;
  }
  if (runtime.threads < 1) {
    snprintf(sentence, kSentenceBytes,
             "the runtime that was given cannot be used, for its `threads` is %d: give 1 or more",
             runtime.threads);
    return false;
  }
  return true;
}

bool start_runtime(tenon_model_ctx& ctx, const tenon_model_options& options, char* sentence) {
  if (options.runtime != nullptr) {
    ctx.runtime = options.runtime;
    return is_usable(*ctx.runtime, sentence);
  }
  ctx.own_runtime = ctx.runtime = start_threads(options.threads, sentence);
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
  set_largest(ctx);
  return true;
}

}  // namespace

int64_t step_params(const tenon_model_variant& variant) {
  int64_t count = 0;
  for (int64_t i = 0; i < variant.step_count; ++i) {
    count += variant.steps[i].count;
  }
  return count;
}

namespace {

void place_param(tenon_model_ctx& ctx, void** param, const tenon_model_param& p) {
  *param = fixed_param(ctx, p);
  if (p.place == kTenonInput || p.place == kTenonOutput) {
    const int32_t first = p.place == kTenonInput ? 0 : tenon_model.input_count;
    ctx.slots[ctx.slot_count++] = {param, first + p.index};
  }
}

}  // namespace

// Pointers to weights and arena are the same in every run; the others are remembered as slots.
void place_params(tenon_model_ctx& ctx, const tenon_model_variant& variant) {
  if (ctx.placed == &variant) {
    return;
  }
  ctx.placed = &variant;
  ctx.slot_count = 0;
  void** param = ctx.params;
  for (int64_t s = 0; s < variant.step_count; ++s) {
    const tenon_model_step& step = variant.steps[s];
    for (int64_t i = 0; i < step.count; ++i) {
      place_param(ctx, param++, step.params[i]);
    }
  }
  for (int64_t f = 0; f < variant.flow_count; ++f) {
    const tenon_model_flow& op = variant.flow[f];
    place_param(ctx, param++, op.to);
    place_param(ctx, param++, op.from);
    place_param(ctx, param++, op.at);
  }
}

// Never 0: even a parameter without bytes points somewhere.
size_t workspace_bytes() {
  return static_cast<size_t>(tenon_model.arena_bytes + tenon_model.scratch_bytes) +
         staging_bytes() + (tenon_model.batch >= 0 ? all_inputs_bytes() : 0) +
         (static_cast<size_t>(tenon_model.dim_count) + 1) * kAlignment;
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

extern "C" {

const tenon_runtime* tenon_model_runtime_create(int32_t threads, const char** why) {
  using namespace tenon::runtime;
  char sentence[kSentenceBytes] = "";
  const tenon_runtime* runtime = start_threads(threads, sentence);
  if (runtime == nullptr) {
    tell_why(sentence, why);
  }
  return runtime;
}

void tenon_model_runtime_destroy(const tenon_runtime* runtime) { tenon_runtime_destroy(runtime); }

}  // extern "C"
