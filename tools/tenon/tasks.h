// SPDX-License-Identifier: Apache-2.0
// The distinct computations of a model or an artifact, each with its schedule.
#pragma once

#include <string>
#include <vector>

#include "tools/tenon/model_source.h"

namespace tenon::tools {

struct TaskText {
  std::string kernel, task, origin;
  std::string te, edges, trace;
  std::string algorithm;  // and its errors: see artifact::Kernel
  double error = 0, direct_error = 0;
  double flops = 0;
  int calls = 0;
  std::vector<std::string> nodes;  // of all calls
};

struct TaskList {
  std::string model;
  target::Target target;
  std::vector<TaskText> tasks;
};

TaskList load_tasks(const ModelOptions& options, const Console& console);

// By the kernel's name, the task's hash, or a node of the model; throws UserError with the nearest.
const TaskText& find_task(const TaskList& list, const std::string& name);

}  // namespace tenon::tools
