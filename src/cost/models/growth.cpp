// SPDX-License-Identifier: Apache-2.0
#include "cost/models/growth.h"

#include <algorithm>
#include <limits>
#include <map>

#include "support/check.h"

namespace tenon::cost {

namespace {

constexpr int kPatience = 20;      // rounds without a better fit
constexpr double kBetter = 0.995;  // of the best error so far
constexpr double kFitted = 2e-3;   // an error below the noise of any measurement

constexpr double kLeastScale = 0.1, kMostScale = 2;  // of a task's labels on top of a history
constexpr double kTrust = 4;   // samples that weigh as much as the belief in the history
constexpr double kDoubt = 16;  // samples of a task that weigh as much as a history that is right
constexpr int kSteps = 8;      // of Newton's method for one number

// One booster, and what it is trained on in the next round.
struct Grower {
  Grower(const How& h, const Lessons& l, std::span<const char> c)
      : how(h), lessons(l), counts(c.begin(), c.end()), booster(h.growing, &l.data, "") {}

  // Scores before the next tree.
  std::vector<double> look() {
    auto scores = scores_of(lessons.packs, booster.fitted(lessons.data));
    for (size_t p = 0; p < lessons.base.size(); ++p) scores[p] += lessons.base[p];
    gradients(how.loss, lessons.packs, scores, counts, next);
    return scores;
  }
  void step() { booster.grow(lessons.data, next.first, next.second); }

  const How& how;
  const Lessons& lessons;
  std::vector<char> counts;
  Booster booster;
  Gradients next;
};

// Remembers the least value and in which round it was.
class Least {
 public:
  explicit Least(double share) : share_(share) {}
  void see(double value, int round) {
    if (value >= least_ * share_) return;
    least_ = value;
    round_ = round;
  }
  int round() const { return round_; }

 private:
  double share_;
  double least_ = std::numeric_limits<double>::infinity();
  int round_ = 0;
};

double misfit(const Grower& g, std::span<const double> scores) {
  if (g.how.stop == Stop::kError) return g.next.error;
  return 1 - average_recall(g.lessons.packs, scores, g.counts);
}

// By task: least squares for scale * label = score, fast programs first as in Ansor's loss.
void scale_labels(std::span<const double> scores, Packs& packs) {
  std::map<uint32_t, std::pair<double, double>> sums;
  for (size_t p = 0; p < scores.size(); ++p) {
    const double y = packs.labels[p];
    auto& [scored, labelled] = sums[packs.tasks[p]];
    scored += y * y * scores[p];
    labelled += y * y * y;
  }
  for (size_t p = 0; p < scores.size(); ++p) {
    const auto& [scored, labelled] = sums[packs.tasks[p]];
    if (labelled == 0) continue;
    packs.labels[p] *= static_cast<float>(std::clamp(scored / labelled, kLeastScale, kMostScale));
  }
}

// The mean of its task for each program.
std::vector<double> means(std::span<const double> scores, const Packs& packs) {
  std::map<uint32_t, std::pair<double, double>> sums;
  for (size_t p = 0; p < scores.size(); ++p) {
    auto& [sum, n] = sums[packs.tasks[p]];
    sum += scores[p];
    ++n;
  }
  std::vector<double> out;
  for (const uint32_t task : packs.tasks) out.push_back(sums[task].first / sums[task].second);
  return out;
}

// The weight w for which mean + w * (score - mean) has the least loss, where kTrust more samples of
// the same kind say that it is 1. Newton's method, with the second derivatives of single programs.
double weight_of(std::span<const double> scores, std::span<const double> mean, Loss* loss,
                 const Lessons& lessons) {
  const std::vector<char> counts(scores.size(), 1);
  const auto n = static_cast<double>(scores.size());
  std::vector<double> at(scores.size());
  Derivatives d;
  double weight = 1, belief = 0;
  for (int step = 0; step < kSteps; ++step) {
    for (size_t p = 0; p < at.size(); ++p) at[p] = mean[p] + weight * (scores[p] - mean[p]);
    loss(lessons.packs, at, counts, d);
    double slope = 0, curvature = 0;
    for (size_t p = 0; p < at.size(); ++p) {
      const double far = scores[p] - mean[p];
      slope += d.first[p] * far;
      curvature += d.second[p] * far * far;
    }
    if (step == 0) belief = curvature * kTrust / n;
    if (curvature + belief <= 0) return 1;
    weight -= (slope + belief * (weight - 1)) / (curvature + belief);
    weight = std::clamp(weight, 0.0, 1.0);
  }
  return weight;
}

// Trees that tell tasks apart know as much of each as it has programs.
double programs_of_a_task(const Packs& packs) {
  const auto tasks = 1 + *std::max_element(packs.tasks.begin(), packs.tasks.end());
  return static_cast<double>(packs.tasks.size()) / static_cast<double>(tasks);
}

}  // namespace

void Programs::add(const Sample& s) {
  values.insert(values.end(), s.row.values.begin(), s.row.values.end());
  rows.push_back(s.row.rows());
  timing.push_back({{}, s.task, s.seconds});
}

Packs packs_of(const Programs& programs) {
  Packs packs{programs.rows, labels_of(programs.timing), {}};
  std::map<std::string_view, uint32_t> numbers;
  for (const Sample& s : programs.timing) {
    packs.tasks.push_back(
        numbers.emplace(s.task, static_cast<uint32_t>(numbers.size())).first->second);
  }
  return packs;
}

Footing stand_on(std::span<const double> history, Loss* loss, Lessons& lessons) {
  const size_t n = history.size();
  TENON_CHECK(n == lessons.packs.rows.size() && n > 0) << n << " scores";
  scale_labels(history, lessons.packs);
  const auto mean = means(history, lessons.packs);
  Footing footing;
  footing.history = weight_of(history, mean, loss, lessons);
  const double own = programs_of_a_task(lessons.packs);
  footing.run = own / (own + kDoubt * footing.history);
  lessons.base.clear();
  for (size_t p = 0; p < n; ++p) {
    const double offset = (1 - footing.history) * mean[p];
    lessons.base.push_back(offset + footing.history * history[p]);
    footing.offset += offset / static_cast<double>(n);
  }
  return footing;
}

Booster grow(const How& how, const Lessons& lessons, std::span<const char> counts) {
  Grower g(how, lessons, counts);
  Least least(how.stop == Stop::kError ? kBetter : 1);
  for (int round = 0; round < how.max_rounds && round - least.round() < kPatience; ++round) {
    const auto scores = g.look();
    if (how.stop == Stop::kError && g.next.error < kFitted) break;
    least.see(misfit(g, scores), round);
    g.step();
  }
  return std::move(g.booster);
}

}  // namespace tenon::cost
