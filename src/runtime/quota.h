// SPDX-License-Identifier: Apache-2.0
// How much processor time the control groups of this process grant.
#pragma once

namespace tenon::runtime {

// In whole CPUs, at least 1; 0: there is no limit. Each group on the way to the root may set one, in version 1 and 2 of
// control groups, and the tightest holds.
//   cpu.max "250000 100000" above a group with "400000 100000"   =>   2
// Rounded down: a parallel loop waits for its slowest thread, and beyond the quota that one stands still for
// the rest of a period. All files are looked for below the folder `root`; "" is the machine's own.
int granted_cpus(const char* root);

}  // namespace tenon::runtime
