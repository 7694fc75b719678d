// SPDX-License-Identifier: Apache-2.0
// When a chain of simulated annealing takes a step that makes things worse. Gains are scores in standard deviations of
// all scores that were looked at, so that temperatures mean the same for every model.
//
//   acceptance(-1, 1.0) = 0.37   acceptance(-1, 0.1) = 0.00005   acceptance(0, t) = 1
#pragma once

#include <cstddef>

namespace tenon::search {

// Of step i of n: from 1 down to nearly 0, in equal steps.
double temperature(size_t i, size_t n);

// exp(min(gain / (t + 1e-5), 1)): as a chance where it is below 1, surely where it is not.
double acceptance(double gain, double t);

// The standard deviation of numbers that come one by one; 1 while it is 0.
class Spread {
 public:
  void add(double x);
  double deviation() const;

 private:
  double n_ = 0, mean_ = 0, squares_ = 0;
};

}  // namespace tenon::search
