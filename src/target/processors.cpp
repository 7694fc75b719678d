// SPDX-License-Identifier: Apache-2.0
// Rates of known processors, as `tenon doctor --calibrate` measured them. A further processor is one row here.
#include "target/target.h"

namespace tenon::target {
namespace {

struct Row {
  const char* machine;  // how its name begins: maker, family and model
  Rates rates;
};

constexpr Row kRows[] = {
    // EPYC of the fourth generation, two cores of a virtual machine.
    {"AuthenticAMD 25/17/", {3.5, 1.0, 0.36, 8}},
    // EPYC of the fifth generation, two cores of a virtual machine. Its units are as wide as those of a Xeon, but its
    // second-level cache moves as much in a cycle as they take. Two cores read 1.2 or 2.7 times what one reads: the host
    // gives them one last-level cache or two. Twice fits networks at one and at two threads; four cores in all reach what
    // eight of the fourth generation do.
    {"AuthenticAMD 26/2/", {5.3, 1.03, 1.0, 4}},
    // Xeon of the fifth generation, 16 cores of a virtual machine.
    {"GenuineIntel 6/207/", {11.8, 1.68, 0.57, 16}},
};

// A later Xeon whose true model its virtual machine hides, measured with two cores; what further cores add is the fifth
// generation's.
constexpr Rates kUnitsOf64Bytes{15.0, 1.96, 0.57, 16};

}  // namespace

std::optional<Rates> known_rates(const std::string& machine) {
  for (const Row& row : kRows) {
    if (machine.starts_with(row.machine)) return row.rates;
  }
  return std::nullopt;
}

Rates guessed_rates(int datapath_bytes) { return datapath_bytes >= 64 ? kUnitsOf64Bytes : Rates{}; }

}  // namespace tenon::target
