// SPDX-License-Identifier: Apache-2.0
// Tile sizes: the inner factors of a split, innermost last, as schedule::Split has them. Exact ones multiply to a
// divisor of the extent; the outermost part is what remains.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "space/domain.h"

namespace tenon::search {

inline constexpr int64_t kMaxInnermost = 64;

using Factors = std::vector<int64_t>;

std::vector<int64_t> divisors(int64_t n);  // ascending
bool is_exact(const Factors& f, int64_t extent);

// In how many ways `n` is a product of `levels` factors, their order counted.
double ways(int64_t n, size_t levels);

// The domains of factors for the extents that one sketch can meet, worked out once.
class FactorDomains {
 public:
  // Of an innermost factor: divisors up to kMaxInnermost, and with `inexact` all other sizes up to there.
  const space::Domain& innermost(int64_t extent, bool inexact) const;
  const space::Domain& all_divisors(int64_t extent) const;
  // Extents that are divisors of `extent`, and all up to kMaxInnermost.
  void add(int64_t extent);

 private:
  struct Row {
    space::Domain divisors, exact, any;
  };
  const Row& row(int64_t extent) const;
  void add_one(int64_t extent);

  std::unordered_map<int64_t, Row> rows_;
};

// Chances of the values of an innermost factor with `outer` factors outside it: every exact tuple is as likely as any
// other, and a tenth of the draws takes a size that does not divide.
std::vector<double> innermost_weights(const space::Domain& d, int64_t extent, size_t outer);
// The same of a factor that is not the innermost: `left` is what the inner ones leave.
std::vector<double> outer_weights(const space::Domain& d, int64_t left, size_t outer);

}  // namespace tenon::search
