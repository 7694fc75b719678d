// SPDX-License-Identifier: Apache-2.0
// The cheapest choice of one value for each of many variables, where single values and pairs of them cost something.
// Exact by eliminating one variable after the other (dynamic programming: chains and trees take no time, joins a table
// over what meets there); a variable whose elimination would need too large a table is settled beforehand by sweeps.
//
//   a: 2 values (10, 14)   b: 2 values (20, 15)   pair (a, b): 0 if equal, else 3
//   => a = 0, b = 1: 28
#pragma once

#include <cstddef>
#include <vector>

namespace tenon::plan {

class MinSum {
 public:
  using Values = std::vector<size_t>;  // by variable

  // `costs`: of each of its values, at least one. Returns the variable.
  size_t add(std::vector<double> costs);
  // costs[i * values of b + j]: of a = i together with b = j. Pairs may be given more than once: their costs add.
  void pair(size_t a, size_t b, const std::vector<double>& costs);

  double cost(const Values& v) const;
  // `most`: entries of the largest table.
  Values solve(size_t most = size_t{1} << 20) const;

 private:
  friend class Elimination;

  struct Pair {
    size_t a, b;
    std::vector<double> costs;
  };
  // The best by changing one variable at a time, from the cheapest single values on.
  Values sweep() const;

  std::vector<std::vector<double>> single_;
  std::vector<Pair> pairs_;
};

}  // namespace tenon::plan
