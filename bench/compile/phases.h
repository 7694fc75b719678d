// SPDX-License-Identifier: Apache-2.0
// How long each phase of a compilation takes, and how that grows with the model.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tenon::bench {

struct Phase {
  std::string name;  // "import", "optimize.fold_scales", "partition", .., "write"
  double seconds = 0;
};

// In the order in which they run. Throws UserError where the model is refused.
std::vector<Phase> time_phases(const std::string& model);

// e of the curve c * nodes^e that fits best: 1 for what is linear. Less than two points: NaN.
double fitted_exponent(const std::vector<std::pair<double, double>>& nodes_and_seconds);

}  // namespace tenon::bench
