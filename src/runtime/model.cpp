// SPDX-License-Identifier: Apache-2.0
// The walk over the steps of a model that runs on CPUs.
#include "runtime/model.h"

#include <string.h>

#include "runtime/context.h"
#include "runtime/interface.h"

namespace tenon::runtime {
namespace {

bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const auto x = reinterpret_cast<uintptr_t>(a);
  const auto y = reinterpret_cast<uintptr_t>(b);
  return x < y + b_bytes && y < x + a_bytes;
}

bool overlaps(const void* output, size_t bytes, const void* const* inputs,
              const tenon_model_tensor* tensors) {
  for (int32_t i = 0; i < tenon_model.input_count; ++i) {
    if (overlap(output, bytes, inputs[i], tensors[i].bytes)) {
      return true;
    }
  }
  return false;
}

// Bytes of one step along an axis, and of one without padding.
struct Step {
  size_t padded;
  size_t within;
};

Step step_of(const tenon_model_ctx& ctx, const tenon_model_tensor& t, int32_t axis) {
  size_t elements = 1;
  for (int32_t a = 0; a < t.rank; ++a) {
    elements *= static_cast<size_t>(t.shape[a]);
  }
  Step step{t.bytes / elements, t.bytes / elements};
  for (int32_t a = axis + 1; a < t.rank; ++a) {
    step.padded *= static_cast<size_t>(t.shape[a]);
    step.within *= static_cast<size_t>(extent_within(ctx, t, a));
  }
  return step;
}

// Copies the axes from `axis` on to memory with padding, which becomes 0. No extent is 0 where there is padding.
void pad(const tenon_model_ctx& ctx, const tenon_model_tensor& t, int32_t axis, char* to,
         const void* from) {
  const Step step = step_of(ctx, t, axis);
  const auto extent = static_cast<size_t>(extent_within(ctx, t, axis));
  const char* source = static_cast<const char*>(from);
  if (step.padded == step.within) {
    memcpy(to, source, extent * step.within);
  }
  for (size_t i = 0; step.padded != step.within && i < extent; ++i) {
    pad(ctx, t, axis + 1, to + i * step.padded, source + i * step.within);
  }
  memset(to + extent * step.padded, 0, (static_cast<size_t>(t.shape[axis]) - extent) * step.padded);
}

// Copies them back without padding.
void cut(const tenon_model_ctx& ctx, const tenon_model_tensor& t, int32_t axis, void* to,
         const void* from) {
  const Step step = step_of(ctx, t, axis);
  const auto extent = static_cast<size_t>(extent_within(ctx, t, axis));
  const char* source = static_cast<const char*>(from);
  if (step.padded == step.within) {
    memcpy(to, source, extent * step.within);
    return;
  }
  for (size_t i = 0; i < extent; ++i) {
    cut(ctx, t, axis + 1, static_cast<char*>(to) + i * step.within, source + i * step.padded);
  }
}

void take_inputs(tenon_model_ctx& ctx, const void* const* inputs) {
  for (int32_t i = 0; i < tenon_model.input_count; ++i) {
    const size_t bytes = ctx.placed->inputs[i].bytes;
    if (is_padded(ctx, ctx.placed->inputs[i])) {
      ctx.used[i] = ctx.staging[i];
      pad(ctx, ctx.placed->inputs[i], 0, ctx.staging[i], inputs[i]);
      continue;
    }
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
    const size_t bytes = ctx.placed->outputs[i].bytes;
    const bool in_place = bytes > 0 && is_aligned(outputs[i]) &&
                          !is_padded(ctx, ctx.placed->outputs[i]) &&
                          !overlaps(outputs[i], bytes, inputs, ctx.placed->inputs);
    ctx.used[at] = in_place ? outputs[i] : ctx.staging[at];
  }
}

void give_outputs(const tenon_model_ctx& ctx, void* const* outputs) {
  for (int32_t i = 0; i < tenon_model.output_count; ++i) {
    const void* from = ctx.used[tenon_model.input_count + i];
    const size_t bytes = ctx.placed->outputs[i].bytes;
    if (is_padded(ctx, ctx.placed->outputs[i])) {
      cut(ctx, ctx.placed->outputs[i], 0, outputs[i], from);
    } else if (bytes > 0 && from != outputs[i]) {
      memcpy(outputs[i], from, bytes);
    }
  }
}

void run_placed(tenon_model_ctx& ctx) {
  if (ctx.placed->flow != nullptr) {
    run_flow(ctx);
  } else {
    run_steps(ctx, 0, ctx.placed->step_count, ctx.params);
  }
}

constexpr const char* kAnswers[] = {
    "done",
    "nothing was run: the context, or the pointer to a tensor that has bytes, is NULL",
    "nothing was run: this context is running on another thread; create one context per thread",
    "nothing was run: fork() copies no threads; create the context after fork, in the child",
};

// The tensors of the variant whose parameters are filled in.
void run_all(tenon_model_ctx& ctx, const void* const* inputs, void* const* outputs) {
  take_inputs(ctx, inputs);
  take_outputs(ctx, inputs, outputs);
  for (size_t i = 0; i < ctx.slot_count; ++i) {
    *ctx.slots[i].param = ctx.used[ctx.slots[i].tensor];
  }
  run_placed(ctx);
  give_outputs(ctx, outputs);
}

// Copies the inputs to memory of the context if an output lies in one of them: parts that are still to run read them.
void keep_inputs(tenon_model_ctx& ctx, const void** inputs, void* const* outputs) {
  bool shared = false;
  for (int32_t i = 0; i < tenon_model.output_count; ++i) {
    const size_t bytes = ctx.now[tenon_model.input_count + i].bytes;
    shared = shared || (bytes > 0 && overlaps(outputs[i], bytes, inputs, ctx.now));
  }
  char* to = ctx.kept_inputs;
  for (int32_t i = 0; shared && i < tenon_model.input_count; ++i) {
    if (ctx.now[i].bytes > 0) {
      memcpy(to, inputs[i], ctx.now[i].bytes);
    }
    inputs[i] = to;
    to += (ctx.now[i].bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
}

// Where the memory of the items behind the first `items` begins.
const char* behind(const void* begin, size_t bytes, int64_t items, int64_t whole) {
  return static_cast<const char*>(begin) +
         bytes / static_cast<size_t>(whole) * static_cast<size_t>(items);
}

void run_parts(tenon_model_ctx& ctx, const void* const* inputs, void* const* outputs) {
  const int64_t whole = batch_of(ctx);
  const int32_t input_count = tenon_model.input_count;
  const void** in = ctx.part;
  memcpy(in, inputs, static_cast<size_t>(input_count) * sizeof *in);
  keep_inputs(ctx, in, outputs);
  auto** out = const_cast<void**>(ctx.part + input_count);
  for (int64_t done = 0, part = 0; done < whole; done += part) {
    for (int32_t i = 0; done > 0 && i < input_count; ++i) {
      in[i] = has_items(i) ? behind(in[i], ctx.now[i].bytes, part, whole) : in[i];
    }
    for (int32_t i = 0; i < tenon_model.output_count; ++i) {
      out[i] = const_cast<char*>(behind(outputs[i], ctx.now[input_count + i].bytes, done, whole));
    }
    part = next_part(whole - done);
    place_params(ctx, variant_of(ctx, part));
    run_all(ctx, in, out);
  }
}

}  // namespace

}  // namespace tenon::runtime

extern "C" {

int tenon_model_run(tenon_model_ctx* ctx, const void* const* inputs, void* const* outputs) {
  using namespace tenon::runtime;
  if (ctx == nullptr || has_null(inputs, ctx->now, tenon_model.input_count) ||
      has_null(outputs, ctx->now + tenon_model.input_count, tenon_model.output_count)) {
    return kNullPointer;
  }
  if (ctx->mark.in_child()) [[unlikely]] {
    return kForked;
  }
  if (ctx->busy.exchange(true)) [[unlikely]] {
    ctx->refused.fetch_add(1);
    return kBusy;
  }
  if (is_contrary(*ctx)) [[unlikely]] {
    ctx->busy.release(false);
    return kContrary;
  }
  const int64_t items = batch_of(*ctx);
  if (next_part(items) == items) {
    place_params(*ctx, variant_of(*ctx, items));
    run_all(*ctx, inputs, outputs);
  } else {
    run_parts(*ctx, inputs, outputs);
  }
  ctx->busy.release(false);
  return kDone;
}

const char* tenon_model_error(int code) {
  using namespace tenon::runtime;
  if (code == kRefusedShape) {
    return kRefusedShapeText;
  }
  if (code == kContrary) {
    return kContraryText;
  }
  if (code == kRefusedTarget) {
    return kRefusedTargetText;
  }
  return code >= kDone && code <= kForked ? kAnswers[code] : "run does not return this code";
}

int64_t tenon_model_refused(const tenon_model_ctx* ctx) {
  return ctx != nullptr ? ctx->refused.relaxed() : 0;
}

int32_t tenon_model_threads(const tenon_model_ctx* ctx) {
  return ctx != nullptr ? ctx->runtime->threads : 0;
}

void tenon_model_set_hook(tenon_model_ctx* ctx, tenon_model_hook hook, void* user) {
  if (ctx != nullptr) {
    ctx->hook = hook;
    ctx->hook_user = user;
  }
}

}  // extern "C"
