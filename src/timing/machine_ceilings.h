// SPDX-License-Identifier: Apache-2.0
// What the machine can do at most: multiply-adds, and bytes by the level of memory where that much
// data lies.
//
//   MachineCeilings c = measure_ceilings(2);
//   c.least_s(flops, bytes) / measured_s;   // the share of the possible speed
#pragma once

#include <vector>

namespace tenon::timing {

struct MachineCeilings {
  double flops_per_s = 0;
  struct Level {
    double bytes = 0;  // data up to this size
    double bytes_per_s = 0;
  };
  std::vector<Level> levels;  // from small to large; the last holds for everything above

  // The time that neither arithmetic nor memory could undercut.
  double least_s(double flops, double bytes) const;
};

// Takes about a second. Throws UserError if so many threads cannot be started.
MachineCeilings measure_ceilings(int threads);

}  // namespace tenon::timing
