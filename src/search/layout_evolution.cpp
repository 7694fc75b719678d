// SPDX-License-Identifier: Apache-2.0
// Layouts bred from those that were best: winners of small tournaments, one factor moved to a neighbouring size, or
// each factor from one of two parents.
#include <algorithm>
#include <cmath>

#include "search/layout_proposers.h"

namespace tenon::search {
namespace {

constexpr int kTries = 64;
constexpr int kTournament = 5;
constexpr double kRandomShare = 0.1;
constexpr double kCrossShare = 0.25;
constexpr double kFarShare = 0.2;  // of the mutations: any size

class LayoutEvolution : public LayoutProposer {
 public:
  explicit LayoutEvolution(const LayoutSpace& space) : space_(space), seen_(space) {}

  std::optional<Point> propose(Rng& rng) override {
    if (auto p = seen_.next_seed()) return p;
    for (int i = 0; i < kTries && !rewarded_.empty(); ++i) {
      Point p = breed(rng);
      if (seen_.take(p)) return p;
    }
    return seen_.draw_new(rng);
  }

  void reward(const Point& p, double seconds) override {
    seen_.take(p);
    if (std::isfinite(seconds)) rewarded_.push_back({p, seconds});
  }

 private:
  struct Rewarded {
    Point point;
    double seconds;
  };

  Point breed(Rng& rng) const {
    const double draw = rng.unit();
    if (draw < kRandomShare) return seen_.draw(rng);
    if (draw < kRandomShare + kCrossShare) return cross(winner(rng), winner(rng), rng);
    return mutate(winner(rng), rng);
  }

  const Point& winner(Rng& rng) const {
    const Rewarded* best = &rng.pick(rewarded_);
    for (int i = 1; i < kTournament; ++i) {
      const Rewarded& other = rng.pick(rewarded_);
      if (other.seconds < best->seconds) best = &other;
    }
    return best->point;
  }

  static Point cross(const Point& a, const Point& b, Rng& rng) {
    Point p = a;
    for (size_t f = 0; f < p.size(); ++f) {
      if (rng.chance(0.5)) p[f] = b[f];
    }
    return p;
  }

  Point mutate(Point p, Rng& rng) const {
    if (!rng.chance(kFarShare)) return neighbour(space_, std::move(p), rng);
    const auto f = static_cast<size_t>(rng.between(0, static_cast<int64_t>(p.size()) - 1));
    p[f] = rng.pick(space_.factors()[f].choices);
    return p;
  }

  const LayoutSpace& space_;
  SeenLayouts seen_;
  std::vector<Rewarded> rewarded_;
};

}  // namespace

std::unique_ptr<LayoutProposer> make_layout_evolution(const LayoutSpace& space,
                                                      const LayoutProposerOptions&) {
  return std::make_unique<LayoutEvolution>(space);
}

}  // namespace tenon::search
