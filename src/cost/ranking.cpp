// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "cost/model.h"
#include "support/check.h"

namespace tenon::cost {

namespace {

struct Ranked {
  float predicted;
  double seconds;
};

double pairwise_accuracy(const std::vector<Ranked>& all) {
  double right = 0, pairs = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = i + 1; j < all.size(); ++j) {
      if (all[i].seconds == all[j].seconds) continue;
      const auto& [fast, slow] =
          all[i].seconds < all[j].seconds ? std::pair(all[i], all[j]) : std::pair(all[j], all[i]);
      right += fast.predicted > slow.predicted ? 1 : fast.predicted == slow.predicted ? 0.5 : 0;
      ++pairs;
    }
  }
  return pairs > 0 ? right / pairs : 1;
}

// The best k, ties in the order of measurement.
template <class Better>
std::vector<size_t> best(const std::vector<Ranked>& all, size_t k, Better better) {
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (better(all[a], all[b])) return true;
    return !better(all[b], all[a]) && a < b;
  });
  order.resize(k);
  return order;
}

}  // namespace

RankingQuality ranking_quality(std::span<const float> predicted, std::span<const Sample> measured,
                               int k) {
  TENON_CHECK(predicted.size() == measured.size() && k >= 1)
      << predicted.size() << " predictions, " << measured.size() << " samples, k " << k;
  std::map<std::string_view, std::vector<Ranked>> tasks;
  for (size_t i = 0; i < measured.size(); ++i) {
    tasks[measured[i].task].push_back({predicted[i], measured[i].seconds});
  }
  RankingQuality q;
  q.k = k;
  q.samples = measured.size();
  double counted = 0;
  for (const auto& [task, all] : tasks) {
    const size_t n = std::min(all.size(), static_cast<size_t>(k));
    const auto truth =
        best(all, n, [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
    if (all.size() < 2 || !std::isfinite(all[truth[0]].seconds)) continue;
    const auto guess =
        best(all, n, [](const auto& a, const auto& b) { return a.predicted > b.predicted; });
    double hits = 0, fastest = std::numeric_limits<double>::infinity();
    for (const size_t i : guess) {
      hits += static_cast<double>(std::count(truth.begin(), truth.end(), i));
      fastest = std::min(fastest, all[i].seconds);
    }
    q.pairwise_accuracy += pairwise_accuracy(all);
    q.recall_at_k += hits / static_cast<double>(n);
    q.top_k_score += all[truth[0]].seconds / fastest;
    ++counted;
  }
  for (double* v : {&q.pairwise_accuracy, &q.recall_at_k, &q.top_k_score}) {
    *v = counted > 0 ? *v / counted : 0;
  }
  return q;
}

}  // namespace tenon::cost
