// SPDX-License-Identifier: Apache-2.0
// Lock files: how a model is cut into tasks and stores its tensors, and the schedule of every task of it, as module
// artifact writes them.
#pragma once

#include <string>

#include "compile/compile.h"

namespace tenon::compile {

struct Lock {
  Schedules schedules;
  Pairs pairs;
  Layouts layouts;
};
// A lock file, or a folder that holds one. Throws UserError.
Lock read_lock(const std::string& path);
// Compiles as the lock file decides.
void use_lock(Options& options, const std::string& path);

}  // namespace tenon::compile
