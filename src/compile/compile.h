// SPDX-License-Identifier: Apache-2.0
// From a model graph to a program: optimise, cut into tasks, decide how tensors are stored, schedule and lower
// every task, re-lay the weights, place every tensor in memory.
//
//   artifact::Program p = compile::compile(std::move(imported.graph), "resnet50", options);
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "artifact/program.h"
#include "compile/layout_choice.h"
#include "graph/graph.h"
#include "target/target.h"
#include "templates/template.h"

namespace tenon::compile {

struct Schedule {
  std::string trace;            // as text
  std::string origin = "lock";  // who found it: becomes Kernel::origin
};
// By Kernel::task, as a lock file holds them.
using Schedules = std::map<std::string, Schedule>;
// By Kernel::task: why what a file has for the task could not become a Schedule.
using Refusals = std::map<std::string, std::string>;

// Names of calls (graph::Call), pointwise convolutions that are computed with the depthwise one in front of them:
// graph::PartitionOptions::pairs.
using DepthwisePointwise = std::set<std::string>;

struct Options {
  target::Target target;
  bool optimize = true;  // false: the graph as it stands
  bool fuse = true;      // false: a kernel per node
  bool schedule =
      true;  // false: every kernel by its definition, plain loops: a reference that runs fast enough
  // Used where they have the task and may serve it (task::serve); templates otherwise.
  Schedules schedules;
  Refusals refused;          // what lacks in them: told if the model has the task
  DepthwisePointwise pairs;  // decided before, as a lock file holds them; "*": all that can
  Layouts layouts;           // likewise
  LayoutTimes layout_times;  // measured: layouts are chosen among these instead
  bool row_major = false;    // every tensor between tasks as the model has it: to compare with
  templates::Accuracy accuracy = templates::Accuracy::kDefault;  // see accuracy.h
  // A task that `schedules` does not have, or has a schedule for that cannot be used, is an error: MissingSchedule.
  bool frozen = false;
  int threads = 0;  // for compiling; 0: one per core
  // What happens, for progress displays: phase, done, total.
  std::function<void(const std::string& phase, size_t done, size_t total)> progress;
  // A sentence for each schedule that was given but is not used, with the name of its task.
  std::function<void(const std::string&)> warn;
};

// --frozen needed a schedule that is not there.
class MissingSchedule : public UserError {
 public:
  using UserError::UserError;
};

artifact::Program compile(graph::Graph g, const std::string& name, const Options& options);

// A C identifier out of any text: "model-7.onnx" -> "model_7_onnx".
std::string identifier(const std::string& text);

}  // namespace tenon::compile
