// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/diverse.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace tenon::search {
namespace {

// From the worst on, in standard deviations; all 0 where they are equal.
std::vector<double> normalised(std::span<const Rated> all) {
  double sum = 0, squares = 0, least = all.empty() ? 0 : static_cast<double>(all[0].score);
  for (const Rated& r : all) {
    const auto s = static_cast<double>(r.score);
    sum += s;
    squares += s * s;
    least = std::min(least, s);
  }
  const auto n = static_cast<double>(std::max<size_t>(all.size(), 1));
  const double deviation = std::sqrt(std::max(0.0, squares / n - (sum / n) * (sum / n)));
  std::vector<double> out;
  for (const Rated& r : all) {
    out.push_back(deviation > 0 ? (static_cast<double>(r.score) - least) / deviation : 0);
  }
  return out;
}

// The set S while it grows.
class Batch {
 public:
  Batch(std::span<const Rated> all, double alpha) : scores_(normalised(all)), alpha_(alpha) {
    std::map<std::pair<space::HoleId, int64_t>, size_t> numbers;
    for (const Rated& r : all) {
      std::vector<size_t>& pairs = pairs_.emplace_back();
      for (const space::Choice& c : *r.choices) {
        pairs.push_back(numbers.emplace(std::pair(c.hole, c.value), numbers.size()).first->second);
      }
    }
    covered_.resize(numbers.size(), false);
  }

  double gain(size_t i) const {
    const auto fresh = std::count_if(pairs_[i].begin(), pairs_[i].end(),
                                     [&](size_t pair) { return !covered_[pair]; });
    return scores_[i] + alpha_ * static_cast<double>(fresh);
  }
  void add(size_t i) {
    for (const size_t pair : pairs_[i]) covered_[pair] = true;
  }

 private:
  std::vector<double> scores_;
  double alpha_;
  std::vector<std::vector<size_t>> pairs_;  // by candidate
  std::vector<bool> covered_;
};

}  // namespace

std::vector<size_t> pick_diverse(std::span<const Rated> all, size_t n, double alpha) {
  Batch batch(all, alpha);
  std::vector<size_t> left(all.size()), out;
  for (size_t i = 0; i < left.size(); ++i) left[i] = i;
  while (out.size() < n && !left.empty()) {
    size_t best = 0;
    double best_gain = batch.gain(left[0]);
    for (size_t i = 1; i < left.size(); ++i) {
      const double gain = batch.gain(left[i]);
      if (gain <= best_gain) continue;
      best = i;
      best_gain = gain;
    }
    batch.add(left[best]);
    out.push_back(left[best]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(best));
  }
  return out;
}

double diverse_value(std::span<const Rated> all, std::span<const size_t> chosen, double alpha) {
  Batch batch(all, alpha);
  double value = 0;
  for (const size_t i : chosen) {
    value += batch.gain(i);
    batch.add(i);
  }
  return value;
}

}  // namespace tenon::search
