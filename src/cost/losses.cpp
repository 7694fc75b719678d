// SPDX-License-Identifier: Apache-2.0
#include "cost/losses.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "support/check.h"

namespace tenon::cost {

namespace {

constexpr size_t kPartners = 32;    // of a program in the rank loss, half of them on either side
constexpr double kPairsWeight = 2;  // of all pairs of a program: as if it had two, as in XGBoost
constexpr size_t kRecallAt = 64;
constexpr double kLeastChance = 1e-10;  // TLP's, under its logarithm

void clear(size_t n, Derivatives& out) {
  out.first.assign(n, 0);
  out.second.assign(n, 0);
  out.error = 0;
}

// The programs of each task that count, in the order of measurement.
std::vector<std::vector<size_t>> by_task(const Packs& packs, std::span<const char> counts) {
  std::vector<std::vector<size_t>> out;
  for (size_t p = 0; p < packs.tasks.size(); ++p) {
    if (out.size() <= packs.tasks[p]) out.resize(packs.tasks[p] + 1);
    if (counts[p] != 0) out[packs.tasks[p]].push_back(p);
  }
  return out;
}

// log(1 + exp(z)) without overflow.
double softplus(double z) { return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))); }

// The weighted squares of both regressions; the error is their root mean.
void regression(const Packs& packs, std::span<const double> scores, std::span<const char> counts,
                bool by_label, Derivatives& out) {
  clear(scores.size(), out);
  double sum = 0, weight = 0;
  for (size_t p = 0; p < scores.size(); ++p) {
    if (counts[p] == 0) continue;
    const double w = by_label ? packs.labels[p] : 1, residual = scores[p] - packs.labels[p];
    out.first[p] = residual * w;
    out.second[p] = w;
    sum += w * residual * residual;
    weight += w;
  }
  out.error = weight > 0 ? std::sqrt(sum / weight) : 0;
}

// How far apart in their task the programs of a pair stand. All distances if there are few; else
// spread over the whole list, the same in every round, so that the loss stays one function.
std::vector<size_t> distances(size_t programs) {
  const size_t most = programs / 2, wanted = kPartners / 2;
  std::vector<size_t> out;
  for (size_t i = 1; i <= std::min(most, wanted); ++i) {
    out.push_back(most <= wanted ? i : 1 + (i * 2654435761U) % most);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

struct PairSum {
  double loss = 0, weight = 0;
};

void add_pair(const Packs& packs, std::span<const double> scores, size_t i, size_t j, double weight,
              Derivatives& out, PairSum& sum) {
  if (packs.labels[i] == packs.labels[j]) return;
  const auto [better, worse] =
      packs.labels[i] > packs.labels[j] ? std::pair(i, j) : std::pair(j, i);
  const double z = scores[worse] - scores[better];
  const double wrong = 1 / (1 + std::exp(-z));
  out.first[worse] += weight * wrong;
  out.first[better] -= weight * wrong;
  for (const size_t p : {worse, better}) out.second[p] += weight * wrong * (1 - wrong);
  sum.loss += weight * softplus(z);
  sum.weight += weight;
}

void rank_task(const Packs& packs, std::span<const double> scores,
               const std::vector<size_t>& programs, Derivatives& out, PairSum& sum) {
  const size_t n = programs.size();
  const auto apart = distances(n);
  if (apart.empty()) return;
  // Opposite ones of an even list meet once, all others from both sides.
  const double weight = kPairsWeight / static_cast<double>(std::min(2 * apart.size(), n - 1));
  for (const size_t d : apart) {
    const size_t from = 2 * d == n ? d : n;
    for (size_t i = 0; i < from; ++i) {
      add_pair(packs, scores, programs[i], programs[(i + d) % n], weight, out, sum);
    }
  }
}

// In the order of their scores: 2^y - 1 and 1 / log2(1 + rank) of each program of a task.
struct Ranked {
  std::vector<size_t> programs;
  std::vector<double> gains, discounts;
};

// Gains are divided by the best that the sum of gain * discount can be.
Ranked ranked(const Packs& packs, std::span<const double> scores,
              const std::vector<size_t>& programs) {
  Ranked out{programs, {}, {}};
  std::sort(out.programs.begin(), out.programs.end(), [&](size_t a, size_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  for (const size_t p : out.programs) {
    out.gains.push_back(std::exp2(std::max(double{packs.labels[p]}, 0.0)) - 1);
    out.discounts.push_back(1 / std::log2(static_cast<double>(out.gains.size() + 1)));
  }
  std::vector<double> best = out.gains;
  std::sort(best.rbegin(), best.rend());
  double most = 0;
  for (size_t i = 0; i < best.size(); ++i) most += best[i] * out.discounts[i];
  for (double& g : out.gains) g /= std::max(most, kLeastChance);
  return out;
}

void lambda_rank_task(std::span<const double> scores, const Ranked& r, Derivatives& out) {
  for (size_t i = 0; i < r.programs.size(); ++i) {
    for (size_t j = 0; j < r.programs.size(); ++j) {
      if (r.gains[i] <= r.gains[j]) continue;
      const size_t better = r.programs[i], worse = r.programs[j];
      const double swap =
          std::abs(r.discounts[i] - r.discounts[j]) * (r.gains[i] - r.gains[j]) / std::log(2.0);
      const double right = 1 / (1 + std::exp(scores[worse] - scores[better]));
      out.error -= swap * std::log(std::max(right, kLeastChance));
      if (right < kLeastChance) continue;
      out.first[better] -= swap * (1 - right);
      out.first[worse] += swap * (1 - right);
      for (const size_t p : {better, worse}) out.second[p] += swap * right * (1 - right);
    }
  }
}

double recall_of(const Packs& packs, std::span<const double> scores,
                 const std::vector<size_t>& programs) {
  const auto ordered = [&](auto value) {
    std::vector<size_t> order(programs);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return value(a) != value(b) ? value(a) > value(b) : a < b;
    });
    return order;
  };
  const auto truth = ordered([&](size_t p) { return packs.labels[p]; });
  std::vector<size_t> rank(packs.labels.size());
  for (size_t r = 0; r < truth.size(); ++r) rank[truth[r]] = r;
  const auto guess = ordered([&](size_t p) { return scores[p]; });
  const size_t n = std::min(kRecallAt, programs.size());
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    const auto found = std::count_if(guess.begin(), guess.begin() + static_cast<std::ptrdiff_t>(i),
                                     [&](size_t p) { return rank[p] <= i; });
    sum += static_cast<double>(found) / static_cast<double>(i + 1);
  }
  return sum / static_cast<double>(n);
}

}  // namespace

bool ran(const Sample& s) { return std::isfinite(s.seconds) && s.seconds > 0; }

std::vector<float> labels_of(std::span<const Sample> samples) {
  std::unordered_map<std::string_view, double> best;
  for (const Sample& s : samples) {
    if (!ran(s)) continue;
    const auto [it, fresh] = best.emplace(s.task, s.seconds);
    if (!fresh) it->second = std::min(it->second, s.seconds);
  }
  std::vector<float> out;
  for (const Sample& s : samples) {
    out.push_back(ran(s) ? static_cast<float>(best.at(s.task) / s.seconds) : 0.0F);
  }
  return out;
}

void ansor_loss(const Packs& packs, std::span<const double> scores, std::span<const char> counts,
                Derivatives& out) {
  regression(packs, scores, counts, true, out);
}

void squared_loss(const Packs& packs, std::span<const double> scores, std::span<const char> counts,
                  Derivatives& out) {
  regression(packs, scores, counts, false, out);
}

void rank_loss(const Packs& packs, std::span<const double> scores, std::span<const char> counts,
               Derivatives& out) {
  clear(scores.size(), out);
  PairSum sum;
  for (const auto& programs : by_task(packs, counts)) {
    rank_task(packs, scores, programs, out, sum);
  }
  out.error = sum.weight > 0 ? sum.loss / sum.weight : 0;
}

void lambda_rank_loss(const Packs& packs, std::span<const double> scores,
                      std::span<const char> counts, Derivatives& out) {
  clear(scores.size(), out);
  for (const auto& programs : by_task(packs, counts)) {
    lambda_rank_task(scores, ranked(packs, scores, programs), out);
  }
}

void value_loss(const Packs& packs, std::span<const double> scores, std::span<const char> counts,
                Derivatives& out) {
  clear(scores.size(), out);
  const auto n = std::count_if(counts.begin(), counts.end(), [](char c) { return c != 0; });
  for (size_t p = 0; p < scores.size(); ++p) {
    if (counts[p] == 0) continue;
    const double y = std::max(packs.labels[p], kLeastWorth);
    const double residual = scores[p] - std::log(y), weight = y / static_cast<double>(n);
    out.first[p] = residual == 0 ? 0 : std::copysign(weight, residual);
    out.error += weight * std::abs(residual);
  }
}

std::vector<double> scores_of(const Packs& packs, std::span<const float> predicted) {
  std::vector<double> out;
  size_t row = 0;
  for (const size_t rows : packs.rows) {
    double score = 0;
    for (size_t r = 0; r < rows; ++r) score += predicted[row++];
    out.push_back(score);
  }
  TENON_CHECK(row == predicted.size()) << row << " rows, " << predicted.size() << " predictions";
  return out;
}

void gradients(Loss* loss, const Packs& packs, std::span<const double> scores,
               std::span<const char> counts, Gradients& out) {
  Derivatives d;
  loss(packs, scores, counts, d);
  out.first.clear();
  out.second.clear();
  for (size_t p = 0; p < packs.rows.size(); ++p) {
    const auto rows = static_cast<double>(packs.rows[p]);
    out.first.insert(out.first.end(), packs.rows[p], static_cast<float>(d.first[p]));
    out.second.insert(out.second.end(), packs.rows[p], static_cast<float>(d.second[p] * rows));
  }
  out.error = d.error;
}

double average_recall(const Packs& packs, std::span<const double> scores,
                      std::span<const char> counts) {
  double sum = 0, tasks = 0;
  for (const auto& programs : by_task(packs, counts)) {
    if (programs.empty()) continue;
    sum += recall_of(packs, scores, programs);
    ++tasks;
  }
  return tasks > 0 ? sum / tasks : 0;
}

}  // namespace tenon::cost
