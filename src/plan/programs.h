// SPDX-License-Identifier: Apache-2.0
// The program of every task of a network: the one that was given, if it may serve and is accurate
// enough, else the fastest that templates have among those that are.
#pragma once

#include "plan/network.h"

namespace tenon::plan {

// Of a network whose layouts are decided: fills in its tasks, and what its plan says of them.
void decide_programs(Network& n, const Options& options);

}  // namespace tenon::plan
