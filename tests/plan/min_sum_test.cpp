// SPDX-License-Identifier: Apache-2.0
#include "plan/min_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "support/rng.h"

namespace tenon::plan {
namespace {

double least(const MinSum& m, const std::vector<size_t>& extents, MinSum::Values& v,
             size_t at = 0) {
  if (at == extents.size()) return m.cost(v);
  double best = std::numeric_limits<double>::infinity();
  for (v[at] = 0; v[at] < extents[at]; ++v[at]) best = std::min(best, least(m, extents, v, at + 1));
  return best;
}

struct Problem {
  MinSum sum;
  std::vector<size_t> extents;
  MinSum::Values alone;  // the cheapest value of each variable by itself
};

// Whole numbers, so that sums do not depend on their order.
Problem random_problem(Rng& rng, size_t variables, double density) {
  Problem p;
  const auto costs = [&](size_t n) {
    std::vector<double> c(n);
    for (double& x : c) x = static_cast<double>(rng.between(0, 30));
    return c;
  };
  for (size_t i = 0; i < variables; ++i) {
    p.extents.push_back(static_cast<size_t>(rng.between(1, 4)));
    const std::vector<double> c = costs(p.extents.back());
    p.alone.push_back(static_cast<size_t>(std::min_element(c.begin(), c.end()) - c.begin()));
    p.sum.add(c);
  }
  for (size_t a = 0; a < variables; ++a) {
    for (size_t b = 0; b < variables; ++b) {
      if (a != b && rng.chance(density)) p.sum.pair(a, b, costs(p.extents[a] * p.extents[b]));
    }
  }
  return p;
}

TEST(MinSum, ReadmeExample) {
  MinSum m;
  const size_t a = m.add({10, 14}), b = m.add({20, 15});
  m.pair(a, b, {0, 3, 3, 0});
  const auto v = m.solve();
  EXPECT_EQ(v, (MinSum::Values{0, 1}));
  EXPECT_EQ(m.cost(v), 28);
}

TEST(MinSum, FindsTheCheapestOfAll) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const size_t n = static_cast<size_t>(rng.between(1, 7));
    const Problem p = random_problem(rng, n, rng.unit());
    MinSum::Values v(n, 0);
    EXPECT_EQ(p.sum.cost(p.sum.solve()), least(p.sum, p.extents, v));
  }
}

TEST(MinSum, LongChainsAndLadders) {
  MinSum m;
  constexpr size_t kLength = 400, kValues = 6;
  std::vector<double> pair(kValues * kValues, 7);
  for (size_t i = 0; i < kValues; ++i) pair[i * kValues + i] = 0;
  for (size_t i = 0; i < kLength; ++i) {
    std::vector<double> c(kValues, 1);
    c[i % kValues] = 0;
    m.add(c);
    if (i >= 1) m.pair(i - 1, i, pair);
    if (i >= 2) m.pair(i - 2, i, pair);
  }
  // A change costs more than any number of single steps that it saves nearby: all alike.
  const auto v = m.solve();
  EXPECT_EQ(v, MinSum::Values(kLength, v[0]));
}

TEST(MinSum, TablesStayWithinTheirBound) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Problem p = random_problem(rng, 6, 0.8);
    MinSum::Values v(6, 0);
    const auto bounded = p.sum.solve(4);
    ASSERT_EQ(bounded.size(), 6u);
    const double best = least(p.sum, p.extents, v);
    EXPECT_GE(p.sum.cost(bounded), best);
    EXPECT_LE(p.sum.cost(bounded), p.sum.cost(p.alone));
  }
}

// A chain whose neighbours like to be equal, and one variable beside all of them: each costs as much as it has neighbours.
TEST(MinSum, ManyVariablesTakeNoLongerThanTheirPairs) {
  constexpr size_t kVariables = 20'000;
  MinSum m;
  const size_t hub = m.add({0, 1});
  size_t last = hub;
  for (size_t i = 0; i < kVariables; ++i) {
    const size_t v = m.add({1, 0});
    m.pair(v, hub, {0, 2, 2, 0});
    if (i > 0) m.pair(last, v, {0, 1, 1, 0});
    last = v;
  }
  const MinSum::Values v = m.solve();
  EXPECT_EQ(m.cost(v), 1);  // all are 1, the hub pays for it
}

}  // namespace
}  // namespace tenon::plan
