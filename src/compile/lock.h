// SPDX-License-Identifier: Apache-2.0
// Lock files: the schedule of every task of a model, as module artifact writes them.
#pragma once

#include <string>

#include "compile/compile.h"

namespace tenon::compile {

// A lock file, or a folder that holds one. Throws UserError.
Schedules read_lock(const std::string& path);

}  // namespace tenon::compile
