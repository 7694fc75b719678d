// SPDX-License-Identifier: Apache-2.0
// Lock files: how a model is cut into tasks and stores its tensors, and the schedule of every task of it, as module
// artifact writes them.
#pragma once

#include <string>

#include "compile/compile.h"

namespace tenon::compile {

struct Lock {
  Schedules schedules;
  Refusals refused;                   // entries of tasks that cannot be read
  std::vector<std::string> nameless;  // the same where not even the task can be
  DepthwisePointwise pairs;
  Layouts layouts;
};
// A lock file, or a folder that holds one. Throws UserError for what is none; an entry that is damaged costs its task
// the schedule, and no other.
Lock read_lock(const std::string& path);
// Compiles as the lock file decides. Tells options.warn of what has lost its name.
void use_lock(Options& options, const std::string& path);

}  // namespace tenon::compile
