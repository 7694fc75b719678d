// SPDX-License-Identifier: Apache-2.0
// A batch that teaches more than its best program alone: high scores, and many different values of many holes. Chen et
// al., "Learning to Optimize Tensor Programs" (2018), section 3.3:
//
//   L(S) = sum of scores in S + alpha * number of distinct (hole, value) pairs in S
//
// Scores count from the worst of the candidates on, in standard deviations of them, so that alpha means the same for
// every model. L is submodular and grows with S, so that greedy choice reaches 1 - 1/e of the best at least.
#pragma once

#include <span>
#include <vector>

#include "space/choice.h"

namespace tenon::search {

struct Rated {
  float score;
  const space::Choices* choices;
};

// Indices of `n` of them, or of all, in the order in which the greedy choice takes them; the first of equals.
std::vector<size_t> pick_diverse(std::span<const Rated> all, size_t n, double alpha);

// L of some of them.
double diverse_value(std::span<const Rated> all, std::span<const size_t> chosen, double alpha);

}  // namespace tenon::search
