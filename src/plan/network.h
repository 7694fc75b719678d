// SPDX-License-Identifier: Apache-2.0
// Decides about a model: its graph is optimised and cut into tasks, tensors get layouts, tasks get
// programs. Nothing is lowered, no weight is packed and no code is generated.
//
//   Network n = decide(std::move(imported.graph), "resnet50", options);
//   for (const NetworkTask& t : n.tasks) ..      // 31 tasks of 56 steps, each with a trace
//   compile::build(n, options);
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/cut.h"
#include "graph/define.h"
#include "graph/passes.h"
#include "plan/layout_choice.h"
#include "plan/plan.h"
#include "support/check.h"
#include "task/serve.h"

namespace tenon::plan {

// A program that somebody knows to be good, or takes for good, without being asked for this model.
struct KnownProgram {
  schedule::Trace trace;
  From from = From::kTable;
};

struct Options {
  target::Target target;
  bool optimize = true;  // false: the graph as it stands
  bool fuse = true;      // false: a kernel per node
  // False: every kernel by its definition, plain loops: a reference that runs fast enough.
  bool schedule = true;
  // What is decided already, by a lock file or by a search. A program is used where it may serve its
  // task (task::serve) and is accurate enough; templates give the others.
  NetworkPlan plan;
  // Good programs for a task that `plan` says nothing about, the best first: the first that may serve it and is accurate
  // enough is used; if none is, templates give one. Asked by several threads.
  std::function<std::vector<KnownProgram>(const task::Task&)> known;
  LayoutTimes layout_times;  // measured: layouts are chosen among these instead
  bool row_major = false;    // every tensor between tasks as the model has it: to compare with
  templates::Accuracy accuracy = templates::Accuracy::kDefault;  // see accuracy.h
  bool lean =
      false;  // no algorithm that inflates weights, not even where a program with one is given
  // A task for which `plan` has no program that can be used is an error: MissingSchedule.
  bool frozen = false;
  int threads = 0;  // 0: one per core
  // What happens, for progress displays: phase, done, total.
  std::function<void(const std::string& phase, size_t done, size_t total)> progress;
  // A sentence for each program that was given but is not used, with the name of its task.
  std::function<void(const std::string&)> warn;
  graph::Evaluator evaluate;  // for folding constants; empty: the interpreter
  std::shared_ptr<graph::JoinedConstants> joined = nullptr;  // those of other sizes of the model
};

// --frozen needed a schedule that is not there.
class MissingSchedule : public UserError {
 public:
  using UserError::UserError;
};

struct NetworkTask {
  task::Task task;
  schedule::Trace trace;
  std::optional<task::Program> program = {};  // where finding the trace has made it already
};

struct Network {
  graph::Graph graph;        // as optimised; in pieces, if the model has branches or loops
  graph::Segments segments;  // what runs of these pieces; empty: the graph is the model
  graph::Partition partition;
  LayoutPlan layouts;              // its calls are the steps of the network
  std::vector<NetworkTask> tasks;  // each once, in the order of their first steps
  std::vector<int32_t> task_of;    // by step
  NetworkPlan plan;                // its tasks are in the same order

  // The name of a step where something can be decided about it; empty: a conversion.
  std::string call_of(size_t step) const;
};

Network decide(graph::Graph g, const std::string& name, const Options& options);

}  // namespace tenon::plan
