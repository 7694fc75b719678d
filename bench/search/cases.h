// SPDX-License-Identifier: Apache-2.0
// The tasks that the search is judged by: a product of matrices of 1024 and four layers of ResNet-18.
#pragma once

#include <string>

#include "task/task.h"

namespace tenon::search {

// A case by name, or a tensor expression by the name of its file (*.te). `plain`: edges are row-major, otherwise as the
// template that fits would have them inside a network. Throws UserError.
task::Task make_case(const std::string& name, const target::Target& target, bool plain);

}  // namespace tenon::search
