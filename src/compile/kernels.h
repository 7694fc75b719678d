// SPDX-License-Identifier: Apache-2.0
// Schedules and lowers the kernels of a plan, each distinct one once, on several threads.
#pragma once

#include <vector>

#include "compile/compile.h"
#include "compile/layouts.h"
#include "schedule/algorithms/algorithms.h"

namespace tenon::compile {

// How a kernel wants a tensor: a constant may be turned into something else before it is laid out.
struct Stored {
  layout::Layout layout;
  std::shared_ptr<const schedule::WeightTransform> transform;
};

struct Scheduled {
  artifact::Kernel kernel;
  std::map<std::string, Stored> edges;  // of every tensor, constants too
};

struct KernelSet {
  std::vector<Scheduled> kernels;
  std::vector<int32_t> of_call;  // per call of the plan
  double error = 0;              // of all calls together, at most
};

KernelSet make_kernels(const LayoutPlan& plan, const Options& options);

}  // namespace tenon::compile
