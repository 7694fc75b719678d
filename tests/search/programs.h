// SPDX-License-Identifier: Apache-2.0
// Whether a program of a space is what it claims to be.
#pragma once

#include <string>

#include "space/space.h"

namespace tenon::search {

// Replays, keeps the edges, has the bounds that it says, and computes what the task's definition does. Empty, or what is
// wrong.
std::string fault_of(const task::Task& t, const space::Program& p);

}  // namespace tenon::search
