// SPDX-License-Identifier: Apache-2.0
// The sizes of a context: which variant serves them, and what tensors look like then.
#include <string.h>

#include "runtime/context.h"
#include "runtime/interface.h"
#include "runtime/sentence.h"
#include "runtime/shapes.h"

namespace tenon::runtime {
namespace {

// The place of a size among the compiled ones.
int64_t index_of(const tenon_model_compiled& compiled, int64_t size) {
  int64_t i = 0;
  while (i + 1 < compiled.count && compiled.values[i] < size) {
    ++i;
  }
  return i;
}

// A tensor of a part, as it is without padding and when `whole` items are put together of parts of `part` items.
void set_tensor(const tenon_model_ctx& ctx, tenon_model_tensor& now,
                const tenon_model_tensor& of_part, int64_t*& extents, bool has_items, int64_t whole,
                int64_t part) {
  now = of_part;
  now.shape = extents;
  for (int32_t a = 0; a < of_part.rank; ++a) {
    const int64_t extent = extent_within(ctx, of_part, a);
    if (extent != of_part.shape[a]) {
      now.bytes = now.bytes / static_cast<size_t>(of_part.shape[a]) * static_cast<size_t>(extent);
    }
    *extents++ = extent;
  }
  if (has_items && whole != part) {
    const_cast<int64_t*>(now.shape)[0] = of_part.shape[0] / part * whole;
    now.bytes = now.bytes / static_cast<size_t>(part) * static_cast<size_t>(whole);
  }
}

}  // namespace

tenon_model_variant sole_variant() {
  return {tenon_model.inputs,     tenon_model.outputs, tenon_model.steps,
          tenon_model.step_count, tenon_model.flow,    tenon_model.flow_count};
}

int64_t batch_of(const tenon_model_ctx& ctx) {
  return tenon_model.batch >= 0 ? ctx.sizes[tenon_model.batch] : 1;
}

int64_t next_part(int64_t left) {
  if (tenon_model.batch < 0) {
    return 1;
  }
  const tenon_model_compiled& compiled = tenon_model.compiled[tenon_model.batch];
  int64_t i = compiled.count - 1;
  while (i > 0 && compiled.values[i] > left) {
    --i;
  }
  return compiled.values[i];
}

const tenon_model_variant& variant_of(const tenon_model_ctx& ctx, int64_t batch) {
  if (tenon_model.variants == nullptr) {
    return ctx.sole;
  }
  int64_t at = 0;
  for (int32_t d = 0; d < tenon_model.dim_count; ++d) {
    const tenon_model_compiled& compiled = tenon_model.compiled[d];
    at = at * compiled.count + index_of(compiled, d == tenon_model.batch ? batch : ctx.sizes[d]);
  }
  return tenon_model.variants[at];
}

void set_tensors(tenon_model_ctx& ctx) {
  const int64_t whole = batch_of(ctx);
  const int64_t part = next_part(whole);
  const tenon_model_variant& variant = variant_of(ctx, part);
  int64_t* extents = ctx.extents;
  for (int32_t i = 0; i < tenon_model.input_count; ++i) {
    set_tensor(ctx, ctx.now[i], variant.inputs[i], extents, has_items(i), whole, part);
  }
  for (int32_t i = 0; i < tenon_model.output_count; ++i) {
    set_tensor(ctx, ctx.now[tenon_model.input_count + i], variant.outputs[i], extents,
               tenon_model.batch >= 0, whole, part);
  }
  for (int32_t d = 0; d < tenon_model.dim_count; ++d) {
    memcpy(ctx.size_places + static_cast<size_t>(d) * kAlignment, &ctx.sizes[d],
           sizeof ctx.sizes[d]);
  }
  int64_t* rows = ctx.given_rows;
  for (int32_t i = 0; i < tenon_model.output_count; ++i) {
    const tenon_model_tensor& now = ctx.now[tenon_model.input_count + i];
    set_tensor(ctx, ctx.given[i], now, rows, false, 1, 1);
  }
}

int64_t extent_within(const tenon_model_ctx& ctx, const tenon_model_tensor& t, int32_t axis) {
  const int32_t dim = t.dims != nullptr ? t.dims[axis] : -1;
  return dim >= 0 && tenon_model.compiled[dim].padded != 0 ? ctx.sizes[dim] : t.shape[axis];
}

bool is_padded(const tenon_model_ctx& ctx, const tenon_model_tensor& t) {
  for (int32_t a = 0; a < t.rank; ++a) {
    if (extent_within(ctx, t, a) != t.shape[a]) {
      return true;
    }
  }
  return false;
}

bool is_contrary(const tenon_model_ctx& ctx) {
  for (int64_t i = 0; i < tenon_model.sum_count; ++i) {
    if (ctx.stated[i] >= 0 && ctx.stated[i] != size_of(tenon_model.sums[i], ctx.sizes)) {
      return true;
    }
  }
  return false;
}

bool has_items(int32_t input) {
  const tenon_model_tensor& t = tenon_model.inputs[input];
  return tenon_model.batch >= 0 && t.dims != nullptr && t.rank > 0 &&
         t.dims[0] == tenon_model.batch;
}

}  // namespace tenon::runtime

extern "C" {

int tenon_model_set_shape(tenon_model_ctx* ctx, int32_t input, const int64_t* shape, int32_t rank,
                          const char** why) {
  using namespace tenon::runtime;
  if (ctx == nullptr || (shape == nullptr && rank > 0)) {
    return kNullPointer;
  }
  if (ctx->mark.in_child()) [[unlikely]] {
    return kForked;
  }
  if (ctx->busy.exchange(true)) [[unlikely]] {
    return kBusy;
  }
  char sentence[kSentenceBytes];
  const bool fits = read_sizes(input, shape, rank, ctx->sizes, sentence);
  if (fits) {
    for (int64_t i = 0; i < tenon_model.sum_count; ++i) {
      const tenon_model_sum& sum = tenon_model.sums[i];
      if (sum.input == input) {
        ctx->stated[i] = shape[sum.axis];
      }
    }
    set_tensors(*ctx);
  }
  ctx->busy.release(false);
  return fits ? kDone : refuse_shape(sentence, why);
}

const tenon_model_tensor* tenon_model_input_now(const tenon_model_ctx* ctx, int32_t i) {
  return ctx != nullptr && i >= 0 && i < tenon_model.input_count ? &ctx->now[i] : nullptr;
}

const tenon_model_tensor* tenon_model_output_now(const tenon_model_ctx* ctx, int32_t i) {
  return ctx != nullptr && i >= 0 && i < tenon_model.output_count
             ? &ctx->now[tenon_model.input_count + i]
             : nullptr;
}

const tenon_model_tensor* tenon_model_output_given(const tenon_model_ctx* ctx, int32_t i) {
  return ctx != nullptr && i >= 0 && i < tenon_model.output_count ? &ctx->given[i] : nullptr;
}

}  // extern "C"
