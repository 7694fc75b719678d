// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace tenon::runtime::cuda {
namespace {

DevicePointer address_of(const tenon_model_ctx& ctx, const tenon_cuda_step& step,
                         const tenon_model_param* param) {
  if (param == nullptr) {
    return ctx.memory + static_cast<uint64_t>(tenon_model.arena_bytes + step.scratch_offset);
  }
  const auto offset = static_cast<uint64_t>(param->offset);
  switch (param->place) {
    case kTenonArena:
      return ctx.memory + offset;
    case kTenonWeights:
      return ctx.card->weights + offset;
    default:
      return ctx.own[param->index + (param->place == kTenonInput ? 0 : tenon_model.input_count)];
  }
}

// Fills in what a launch is called with; `argument` is where its arguments begin.
void place_launch(tenon_model_ctx& ctx, int32_t step, int32_t of_table, size_t argument) {
  const tenon_cuda_launch& from = tenon_cuda.launches[of_table];
  Launch& launch = ctx.launches[ctx.launch_count];
  launch.params = {};
  launch.params.function = ctx.card->functions[of_table];
  memcpy(launch.params.grid, from.grid, sizeof from.grid);
  memcpy(launch.params.block, from.block, sizeof from.block);
  launch.params.shared_bytes = from.shared_bytes;
  launch.params.arguments = ctx.argument_pointers + argument;
  for (int32_t i = 0; i < from.argument_count; ++i) {
    DevicePointer* at = ctx.arguments + argument + i;
    const tenon_model_param* param = from.arguments[i] == kTenonScratch
                                         ? nullptr
                                         : &tenon_model.steps[step].params[from.arguments[i]];
    *at = address_of(ctx, tenon_cuda.steps[step], param);
    ctx.argument_pointers[argument + static_cast<size_t>(i)] = at;
    if (param != nullptr && (param->place == kTenonInput || param->place == kTenonOutput)) {
      const int32_t first = param->place == kTenonInput ? 0 : tenon_model.input_count;
      ctx.slots[ctx.slot_count++] = {at, first + param->index,
                                     static_cast<int32_t>(ctx.launch_count)};
    }
  }
  ++ctx.launch_count;
}

// Drivers before 12.3 know no edges of other kinds: there a kernel that could begin early waits. So
// does one that has several in front of it.
Status add_node(tenon_model_ctx& ctx, Launch& launch, const GraphNode* after, size_t count,
                bool early) {
  const Driver& driver = *ctx.card->driver;
  early = early && count == 1 && driver.GraphAddDependencies != nullptr;
  Status status = driver.GraphAddKernelNode(&launch.node, ctx.graph, early ? nullptr : after,
                                            early ? 0 : count, &launch.params);
  for (size_t i = 0; early && i < count && status == kSuccess; ++i) {
    status = driver.GraphAddDependencies(ctx.graph, &after[i], &launch.node, &kProgrammaticEdge, 1);
  }
  return status;
}

// `done` has room for a node per step; last[s] is the number of the last launch of step s.
Status add_step(tenon_model_ctx& ctx, int32_t s, size_t first, const size_t* last,
                GraphNode* done) {
  const tenon_cuda_step& step = tenon_cuda.steps[s];
  auto count = static_cast<size_t>(step.after_count);
  for (size_t i = 0; i < count; ++i) {
    done[i] = ctx.launches[last[step.after[i]]].node;
  }
  for (int32_t l = 0; l < step.launch_count; ++l) {
    const tenon_cuda_launch& from = tenon_cuda.launches[step.first_launch + l];
    Launch& launch = ctx.launches[first + static_cast<size_t>(l)];
    const Status status = add_node(ctx, launch, done, count, from.early != 0);
    if (status != kSuccess) {
      return status;
    }
    done[0] = launch.node;
    count = 1;
  }
  return kSuccess;
}

void place_launches(tenon_model_ctx& ctx) {
  size_t argument = 0;
  for (int32_t s = 0; s < tenon_model.step_count; ++s) {
    const tenon_cuda_step& step = tenon_cuda.steps[s];
    for (int32_t l = step.first_launch; l < step.first_launch + step.launch_count; ++l) {
      place_launch(ctx, s, l, argument);
      argument += static_cast<size_t>(tenon_cuda.launches[l].argument_count);
    }
  }
}

// `done` has room for a node per step, and `last` for a number per step.
Status add_all(tenon_model_ctx& ctx, GraphNode* done, size_t* last) {
  size_t first = 0;
  for (int32_t s = 0; s < tenon_model.step_count; ++s) {
    const Status status = add_step(ctx, s, first, last, done);
    if (status != kSuccess) {
      return status;
    }
    first += static_cast<size_t>(tenon_cuda.steps[s].launch_count);
    last[s] = first - 1;
  }
  return kSuccess;
}

Status add_all_steps(tenon_model_ctx& ctx) {
  const size_t each = sizeof(GraphNode) + sizeof(size_t);
  void* block = calloc(static_cast<size_t>(tenon_model.step_count) + 1, each);
  if (block == nullptr) {
    return kOutOfMemory;
  }
  auto* done = static_cast<GraphNode*>(block);
  const Status status =
      add_all(ctx, done, reinterpret_cast<size_t*>(done + tenon_model.step_count + 1));
  free(block);
  return status;
}

}  // namespace

bool build_graph(tenon_model_ctx& ctx, char* sentence) {
  const Driver& driver = *ctx.card->driver;
  place_launches(ctx);
  Status status = driver.GraphCreate(&ctx.graph, 0);
  if (status == kSuccess) {
    status = add_all_steps(ctx);
  }
  if (status == kSuccess) {
    status = driver.GraphInstantiate(&ctx.exec, ctx.graph, 0);
  }
  if (status != kSuccess) {
    return refuse(*ctx.card, status, "the graph of the model cannot be made", sentence);
  }
  if (driver.GraphUpload != nullptr) {
    driver.GraphUpload(ctx.exec, ctx.stream);  // only makes the first run shorter
  }
  return true;
}

Status bind(tenon_model_ctx& ctx, const DevicePointer* inputs, const DevicePointer* outputs) {
  for (size_t i = 0; i < ctx.slot_count; ++i) {
    const Slot& slot = ctx.slots[i];
    const int32_t output = slot.tensor - tenon_model.input_count;
    const DevicePointer wanted = output < 0 ? inputs[slot.tensor] : outputs[output];
    if (*slot.argument != wanted) {
      *slot.argument = wanted;
      ctx.launches[slot.launch].stale = true;
    }
  }
  Status status = kSuccess;
  for (size_t i = 0; i < ctx.slot_count && status == kSuccess; ++i) {
    Launch& launch = ctx.launches[ctx.slots[i].launch];
    if (launch.stale) {
      status =
          ctx.card->driver->GraphExecKernelNodeSetParams(ctx.exec, launch.node, &launch.params);
      launch.stale = status != kSuccess;
    }
  }
  return status;
}

Status launch_step(const tenon_model_ctx& ctx, int32_t step, size_t first_launch) {
  Status status = kSuccess;
  for (int32_t l = 0; l < tenon_cuda.steps[step].launch_count && status == kSuccess; ++l) {
    const KernelNodeParams& p = ctx.launches[first_launch + static_cast<size_t>(l)].params;
    status = ctx.card->driver->LaunchKernel(p.function, p.grid[0], p.grid[1], p.grid[2], p.block[0],
                                            p.block[1], p.block[2], p.shared_bytes, ctx.stream,
                                            p.arguments, nullptr);
  }
  return status;
}

}  // namespace tenon::runtime::cuda
