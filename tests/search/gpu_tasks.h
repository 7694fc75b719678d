// SPDX-License-Identifier: Apache-2.0
// The tasks of tasks.h for GPUs, and larger ones that only GPUs tell apart.
#pragma once

#include "search/tasks.h"

namespace tenon::search {

std::vector<NamedTask> gpu_tasks(const std::string& target = "cuda simt");

}  // namespace tenon::search
