// SPDX-License-Identifier: Apache-2.0
// Schedules and lowers the kernels of a plan, each distinct one once, on several threads.
#pragma once

#include <vector>

#include "compile/compile.h"
#include "compile/layouts.h"

namespace tenon::compile {

struct Scheduled {
  artifact::Kernel kernel;
  std::map<std::string, layout::Layout> edges;  // of every tensor, constants too
};

struct KernelSet {
  std::vector<Scheduled> kernels;
  std::vector<int32_t> of_call;  // per call of the plan
};

KernelSet make_kernels(const LayoutPlan& plan, const Options& options);

}  // namespace tenon::compile
