// SPDX-License-Identifier: Apache-2.0
#include "cost/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

using Tasks = std::map<std::string_view, std::vector<Ranked>>;

Tasks by_task(std::span<const float> predicted, std::span<const Sample> measured) {
  TENON_CHECK(predicted.size() == measured.size())
      << predicted.size() << " predictions, " << measured.size() << " samples";
  Tasks tasks;
  for (size_t i = 0; i < measured.size(); ++i) {
    tasks[measured[i].task].push_back({predicted[i], measured[i].seconds});
  }
  return tasks;
}

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

bool faster(const Ranked& a, const Ranked& b) { return a.seconds < b.seconds; }
bool liked(const Ranked& a, const Ranked& b) { return a.predicted > b.predicted; }

double fastest(const std::vector<Ranked>& all, const std::vector<size_t>& of) {
  double least = std::numeric_limits<double>::infinity();
  for (const size_t i : of) least = std::min(least, all[i].seconds);
  return least;
}

}  // namespace

RankingQuality ranking_quality(std::span<const float> predicted, std::span<const Sample> measured,
                               int k) {
  TENON_CHECK(k >= 1) << "k " << k;
  RankingQuality q;
  q.k = k;
  q.samples = measured.size();
  double counted = 0;
  for (const auto& [task, all] : by_task(predicted, measured)) {
    const size_t n = std::min(all.size(), static_cast<size_t>(k));
    const auto truth = best(all, n, faster);
    if (all.size() < 2 || !std::isfinite(all[truth[0]].seconds)) continue;
    const auto guess = best(all, n, liked);
    double hits = 0;
    for (const size_t i : guess) {
      hits += static_cast<double>(std::count(truth.begin(), truth.end(), i));
    }
    q.pairwise_accuracy += pairwise_accuracy(all);
    q.recall_at_k += hits / static_cast<double>(n);
    q.top_k_score += all[truth[0]].seconds / fastest(all, guess);
    ++counted;
  }
  for (double* v : {&q.pairwise_accuracy, &q.recall_at_k, &q.top_k_score}) {
    *v = counted > 0 ? *v / counted : 0;
  }
  return q;
}

double top_k(std::span<const float> predicted, std::span<const Sample> measured, int k,
             const Occurrences& occurrences) {
  TENON_CHECK(k >= 1) << "k " << k;
  constexpr double kSlowest = 1e5;  // times the best
  double wanted = 0, got = 0;
  for (const auto& [task, all] : by_task(predicted, measured)) {
    const double truth = std::min_element(all.begin(), all.end(), faster)->seconds;
    if (!std::isfinite(truth)) continue;
    const auto guess = best(all, std::min(all.size(), static_cast<size_t>(k)), liked);
    const auto it = occurrences.find(std::string(task));
    const double weight = it == occurrences.end() ? 1 : it->second;
    wanted += weight * truth;
    got += weight * std::min(fastest(all, guess), kSlowest * truth);
  }
  return got > 0 ? wanted / got : 0;
}

}  // namespace tenon::cost
