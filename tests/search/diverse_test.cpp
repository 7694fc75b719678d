// SPDX-License-Identifier: Apache-2.0
// Greedy selection against all subsets.
#include "search/strategy/diverse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "support/rng.h"

namespace tenon::search {
namespace {

using space::Choices;
using space::HoleKind;

// One hole for each value given.
Choices choices(const std::vector<int64_t>& values) {
  Choices out;
  for (size_t i = 0; i < values.size(); ++i) {
    out.push_back({{HoleKind::kFactor, 0, static_cast<int32_t>(i)}, values[i]});
  }
  return out;
}

std::vector<Rated> rated(const std::vector<float>& scores, const std::vector<Choices>& all) {
  std::vector<Rated> out;
  for (size_t i = 0; i < all.size(); ++i) out.push_back({scores[i], &all[i]});
  return out;
}

TEST(Diverse, WorkedValues) {
  const std::vector<Choices> all = {choices({8, 4}), choices({8, 4}), choices({8, 2}),
                                    choices({1, 1})};
  // Mean 2.5, squares 1.25 on average: the deviation is the square root of it.
  const auto r = rated({4, 3, 2, 1}, all);
  const double unit = 1 / std::sqrt(1.25);
  EXPECT_NEAR(diverse_value(r, std::vector<size_t>{0}, 0.5), 3 * unit + 2 * 0.5, 1e-12);
  EXPECT_NEAR(diverse_value(r, std::vector<size_t>{0, 1}, 0.5), 5 * unit + 2 * 0.5, 1e-12)
      << "the same pairs again";
  EXPECT_NEAR(diverse_value(r, std::vector<size_t>{0, 2, 3}, 0.5), 4 * unit + 5 * 0.5, 1e-12);
  EXPECT_EQ(pick_diverse(r, 4, 0), (std::vector<size_t>{0, 1, 2, 3})) << "scores alone";
  EXPECT_EQ(pick_diverse(r, 3, 10), (std::vector<size_t>{0, 3, 2})) << "coverage alone";
  // 1 gains 2 units, 2 gains 1 unit and a pair, 3 two pairs: at 0.95 of a unit two pairs are not enough.
  EXPECT_EQ(pick_diverse(r, 2, 0.95 * unit), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(pick_diverse(r, 2, 1.05 * unit), (std::vector<size_t>{0, 3}));
}

TEST(Diverse, FewOrEqualCandidates) {
  EXPECT_TRUE(pick_diverse({}, 3, 1).empty());
  const std::vector<Choices> all = {choices({1}), choices({1}), choices({2})};
  EXPECT_EQ(pick_diverse(rated({5, 5, 5}, all), 9, 1), (std::vector<size_t>{0, 2, 1}));
}

struct Made {
  std::vector<float> scores;
  std::vector<Choices> all;
};

Made made(Rng& rng) {
  Made m;
  for (int i = 0; i < 10; ++i) {
    m.scores.push_back(static_cast<float>(rng.unit()));
    std::vector<int64_t> values;
    for (int h = 0; h < 4; ++h) values.push_back(rng.between(1, 5));
    m.all.push_back(choices(values));
  }
  return m;
}

double best_value(const std::vector<Rated>& r, size_t n, double alpha) {
  double best = 0;
  for (unsigned set = 0; set < (1U << r.size()); ++set) {
    if (static_cast<size_t>(std::popcount(set)) != n) continue;
    std::vector<size_t> chosen;
    for (size_t i = 0; i < r.size(); ++i) {
      if ((set >> i & 1U) != 0) chosen.push_back(i);
    }
    best = std::max(best, diverse_value(r, chosen, alpha));
  }
  return best;
}

TEST(Diverse, GreedyIsNearTheBestOfAllSubsets) {
  Rng rng(1);
  double worst = 1;
  for (int round = 0; round < 40; ++round) {
    const Made m = made(rng);
    const auto r = rated(m.scores, m.all);
    for (const double alpha : {0.0, 0.1, 0.5, 2.0}) {
      for (const size_t n : {1U, 3U, 5U}) {
        const double best = best_value(r, n, alpha);
        const double greedy = diverse_value(r, pick_diverse(r, n, alpha), alpha);
        EXPECT_LE(greedy, best + 1e-9);
        EXPECT_GE(greedy, (1 - std::exp(-1)) * best);
        if (alpha == 0 || n == 1) EXPECT_NEAR(greedy, best, 1e-9);
        worst = std::min(worst, greedy / best);
      }
    }
  }
  EXPECT_GT(worst, 0.9) << "far better than promised on sets like these";
}

TEST(Diverse, GainsShrinkAndAreNeverNegative) {
  Rng rng(2);
  for (int round = 0; round < 40; ++round) {
    const Made m = made(rng);
    const auto r = rated(m.scores, m.all);
    const auto order = pick_diverse(r, r.size(), 0.3);
    double before = 0, last = 1e9;
    for (size_t n = 1; n <= order.size(); ++n) {
      const double value = diverse_value(r, std::span(order).first(n), 0.3);
      EXPECT_GE(value, before);
      EXPECT_LE(value - before, last + 1e-9) << "greedy gains of a submodular function";
      last = value - before;
      before = value;
    }
    // What another adds to a set it adds to every part of it at least.
    const auto with = [&](std::vector<size_t> chosen, size_t i) {
      const double value = diverse_value(r, chosen, 0.3);
      chosen.push_back(i);
      return diverse_value(r, chosen, 0.3) - value;
    };
    EXPECT_GE(with({order[0]}, order[9]), with({order[0], order[1], order[2]}, order[9]) - 1e-9);
  }
}

}  // namespace
}  // namespace tenon::search
