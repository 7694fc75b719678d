// SPDX-License-Identifier: Apache-2.0
// Which processes are there.
#pragma once

#include <sys/types.h>

#include <vector>

namespace tenon::testing {

std::vector<pid_t> children_of(pid_t parent);  // those not yet waited for too
bool runs(pid_t pid);                          // and is no zombie
// True once none of them runs; false after `seconds`.
bool gone_within(const std::vector<pid_t>& pids, double seconds);

}  // namespace tenon::testing
