// SPDX-License-Identifier: Apache-2.0
// Branches and loops of a model, and the steps between them.
#include <string.h>

#include "runtime/context.h"

namespace tenon::runtime {
namespace {

int64_t number_at(const void* p) {
  int64_t n = 0;
  memcpy(&n, p, sizeof n);
  return n;
}

void set_number(void* p, int64_t n) { memcpy(p, &n, sizeof n); }

// Where an element begins that is counted from the front, or from the end if `many` is how many there are.
char* element(void* begin, int64_t at, int64_t many, int64_t bytes) {
  return static_cast<char*>(begin) + (many > 0 ? many - 1 - at : at) * bytes;
}

void move_bytes(void* to, const void* from, int64_t bytes) {
  if (bytes > 0) {
    memcpy(to, from, static_cast<size_t>(bytes));
  }
}

// An output has as many rows as the loop had turns.
void set_rows(const tenon_model_ctx& ctx, int32_t output, int64_t rows, int64_t most) {
  tenon_model_tensor& t = ctx.given[output];
  const size_t row_bytes =
      ctx.now[tenon_model.input_count + output].bytes / static_cast<size_t>(most);
  const int64_t there = rows < most ? rows : most;
  const_cast<int64_t*>(t.shape)[0] = there;
  t.bytes = row_bytes * static_cast<size_t>(there);
}

}  // namespace

void run_steps(const tenon_model_ctx& ctx, int64_t first, int64_t count, void** params) {
  void* scratch = ctx.workspace + tenon_model.arena_bytes;
  for (int64_t s = first; s < first + count; ++s) {
    const tenon_model_step& step = ctx.placed->steps[s];
    if (ctx.hook != nullptr) {
      ctx.hook(ctx.hook_user, static_cast<int32_t>(s), 0);
    }
    step.kernel(params, scratch, ctx.runtime);
    if (ctx.hook != nullptr) {
      ctx.hook(ctx.hook_user, static_cast<int32_t>(s), 1);
    }
    params += step.count;
  }
}

void run_flow(tenon_model_ctx& ctx) {
  void** places = ctx.params + step_params(*ctx.placed);
  for (int64_t i = 0; i < ctx.placed->flow_count;) {
    const tenon_model_flow& op = ctx.placed->flow[i];
    void* to = places[i * kFlowParams];
    void* from = places[i * kFlowParams + 1];
    void* at = places[i * kFlowParams + 2];
    bool goes = false;
    switch (op.kind) {
      case kTenonRun:
        run_steps(ctx, op.number, op.count, ctx.params + op.first_param);
        break;
      case kTenonCopy:
        move_bytes(to, from, op.count);
        break;
      case kTenonSet:
        set_number(to, op.number);
        break;
      case kTenonAdd:
        set_number(to, number_at(to) + op.number);
        break;
      case kTenonClear:
        memset(to, 0, static_cast<size_t>(op.count));
        break;
      case kTenonTake:
        move_bytes(to, element(from, number_at(at), op.number, op.count), op.count);
        break;
      case kTenonPut:
        move_bytes(element(to, number_at(at), op.number, op.count), from, op.count);
        break;
      case kTenonUnless:
        goes = *static_cast<const char*>(from) == 0;
        break;
      case kTenonReached:
        goes = number_at(at) >= number_at(from);
        break;
      case kTenonJump:
        goes = true;
        break;
      default:  // kTenonCount
        set_rows(ctx, op.to.index, number_at(at), op.count);
        break;
    }
    i = goes ? op.target : i + 1;
  }
}

}  // namespace tenon::runtime
