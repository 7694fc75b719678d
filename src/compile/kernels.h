// SPDX-License-Identifier: Apache-2.0
// Lowers the programs of a network, each task's once, on several threads.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "artifact/program.h"
#include "plan/network.h"
#include "schedule/algorithms/algorithms.h"

namespace tenon::compile {

// How a kernel wants a tensor: a constant may be turned into something else before it is laid out.
struct Stored {
  layout::Layout layout;
  std::shared_ptr<const schedule::WeightTransform> transform;
};

// In a word or two: constants of one tensor that are packed alike have the same bytes.
std::string how_packed(const Stored& stored);

struct Lowered {
  artifact::Kernel kernel;
  std::map<std::string, Stored> edges;  // of every tensor, constants too
};

// The one that was made when the trace was found, or made now.
task::Program program_of(const plan::NetworkTask& t);

// One for each task.
std::vector<Lowered> lower_tasks(const plan::Network& network, const plan::Options& options);

}  // namespace tenon::compile
