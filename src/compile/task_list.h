// SPDX-License-Identifier: Apache-2.0
// The distinct computations of a decided network or of an artifact, each with its schedule, as
// text.
//
//   TaskList list = list_tasks(network, target);
//   find_task(list, "conv_3").trace;
#pragma once

#include <string>
#include <vector>

#include "artifact/model.h"
#include "plan/network.h"
#include "target/target.h"

namespace tenon::compile {

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

// Nothing is lowered.
TaskList list_tasks(const plan::Network& network, const target::Target& target);
// Reads the manifest of an artifact and the lock file beside it. Throws UserError.
TaskList list_tasks(const artifact::Model& model);
// The same of one that this machine need not be able to load.
TaskList list_tasks(const artifact::ManifestFile& file);

// `name` is a kernel, a task's hash, or a node of the model. Throws UserError with the nearest.
const TaskText& find_task(const TaskList& list, const std::string& name);

}  // namespace tenon::compile
