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
constexpr size_t kFolds = 5;
constexpr size_t kHeldOut = 256;  // programs that tell enough: no more folds than it takes

Packs packs_of(const Programs& programs) {
  Packs packs{programs.rows, labels_of(programs.timing), {}};
  std::map<std::string_view, uint32_t> numbers;
  for (const Sample& s : programs.timing) {
    packs.tasks.push_back(
        numbers.emplace(s.task, static_cast<uint32_t>(numbers.size())).first->second);
  }
  return packs;
}

// One booster, and what it is trained on in the next round.
struct Grower {
  Grower(const How& h, const Lessons& l, std::span<const char> c, const std::string& trees)
      : how(h), lessons(l), counts(c.begin(), c.end()), booster(h.growing, &l.data, trees) {}

  // Scores before the next tree.
  std::vector<double> look() {
    const auto predicted = booster.fitted(lessons.data);
    gradients(how.loss, lessons.packs, predicted, counts, next);
    return scores_of(lessons.packs, predicted);
  }
  void step() { booster.grow(lessons.data, next.first, next.second); }

  const How& how;
  const Lessons& lessons;
  std::vector<char> counts;
  Booster booster;
  Gradients next;
};

// Remembers the least value and how many rounds ago it was.
class Least {
 public:
  explicit Least(double share) : share_(share) {}
  void see(double value, int round) {
    if (value < least_ * share_) {
      least_ = value;
      round_ = round;
    }
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

}  // namespace

void Programs::add(const Sample& s) {
  values.insert(values.end(), s.row.values.begin(), s.row.values.end());
  rows.push_back(s.row.rows());
  timing.push_back({{}, s.task, s.seconds});
}

Lessons::Lessons(const Programs& programs, uint32_t width)
    : data(programs.values, width), packs(packs_of(programs)) {}

Booster grow_until_fitted(const How& how, const Lessons& lessons, std::span<const char> counts,
                          const std::string& trees) {
  Grower g(how, lessons, counts, trees);
  Least least(how.stop == Stop::kError ? kBetter : 1);
  for (int round = 0; round < how.max_rounds && round - least.round() < kPatience; ++round) {
    const auto scores = g.look();
    if (how.stop == Stop::kError && g.next.error < kFitted) break;
    least.see(misfit(g, scores), round);
    g.step();
  }
  return std::move(g.booster);
}

Booster grow(const How& how, const Lessons& lessons, std::span<const char> counts,
             const std::string& trees, int rounds) {
  Grower g(how, lessons, counts, trees);
  for (int round = 0; round < rounds; ++round) {
    g.look();
    g.step();
  }
  return std::move(g.booster);
}

int rounds_by_holding_out(const How& how, const Lessons& lessons, const std::string& trees) {
  const size_t n = lessons.packs.rows.size();
  const size_t folds = std::clamp<size_t>(kHeldOut * kFolds / std::max<size_t>(n, 1), 1, kFolds);
  std::vector<Grower> growers;
  std::vector<char> held_out(n, 0);
  for (size_t f = 0; f < folds; ++f) {
    auto counts = lessons.all();
    for (size_t p = f; p < n; p += kFolds) {
      counts[p] = 0;
      held_out[p] = 1;
    }
    growers.emplace_back(how, lessons, counts, trees);
  }
  Least least(1);
  Derivatives d;
  std::vector<double> unseen(n);  // of each program by the booster that was not shown it
  for (int round = 0; round < how.max_rounds && round - least.round() < kPatience; ++round) {
    for (size_t f = 0; f < folds; ++f) {
      const auto scores = growers[f].look();
      for (size_t p = f; p < n; p += kFolds) unseen[p] = scores[p];
      growers[f].step();
    }
    how.loss(lessons.packs, unseen, held_out, d);
    least.see(d.error, round);
  }
  return least.round();
}

}  // namespace tenon::cost
