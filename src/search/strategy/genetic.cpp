// SPDX-License-Identifier: Apache-2.0
// AutoTVM's genetic baseline: no cost model, generations of measured programs. Parents are drawn in proportion to their
// throughput, a child has the first choices of one and the others of the other, and each of its holes may change.
#include <algorithm>
#include <cmath>

#include "search/strategy/fresh.h"

namespace tenon::search {
namespace {

using space::Choice;
using space::Choices;
using space::Program;

constexpr size_t kGeneration = 100;
constexpr size_t kElites = 3;  // of all generations: parents of the next one too
constexpr double kMutation = 0.1;
constexpr int kTries = 64;  // until a child is new

// The choices of a child where they are legal, but for holes that change.
class Mutating : public space::Decider {
 public:
  Mutating(const Choices& wishes, Rng& rng) : blindly_(rng), follow_(wishes, blindly_), rng_(rng) {}
  int64_t decide(const space::Hole& hole) override {
    return rng_.chance(kMutation) ? hole.domain.draw(rng_) : follow_.decide(hole);
  }

 private:
  space::Blindly blindly_;
  space::Follow follow_;
  Rng& rng_;
};

// One cut: what `a` decided before it, what `b` decided about everything else.
Choices joined(const Choices& a, const Choices& b, Rng& rng) {
  Choices out(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(rng.between(0, std::ssize(a))));
  const auto cut = static_cast<std::ptrdiff_t>(out.size());
  for (const Choice& c : b) {
    const bool there = std::any_of(out.begin(), out.begin() + cut,
                                   [&](const Choice& x) { return x.hole == c.hole; });
    if (!there) out.push_back(c);
  }
  return out;
}

class Genetic : public Strategy {
 public:
  explicit Genetic(const space::Space& space) : space_(space), fresh_(space) {}

  std::vector<Program> propose(size_t n, Rng& rng) override {
    return one_by_one(n, [&] { return propose_one(rng); });
  }

  void begin_with(std::vector<Program> programs) override {
    fresh_.begin_with(std::move(programs));
  }

  void tell(std::span<const Tried> measured) override {
    for (const Tried& t : measured) {
      fresh_.take(t.program);
      // What the space does not know cannot be changed.
      if (t.program.choices.empty()) continue;
      const double worth = std::isfinite(t.seconds) && t.seconds > 0 ? 1 / t.seconds : 0;
      generation_.push_back({t.program.choices, worth});
      if (generation_.size() == kGeneration) end_generation();
    }
  }

 private:
  struct Individual {
    Choices choices;
    double worth;  // throughput
  };

  std::optional<Program> propose_one(Rng& rng) {
    if (auto p = fresh_.next_seed()) return p;
    for (int i = 0; i < kTries && !parents_.empty(); ++i) {
      auto p = child(rng);
      if (p && fresh_.take(*p)) return std::move(p.value());
    }
    return fresh_.draw(rng);
  }

  Result<Program> child(Rng& rng) const {
    const Choices& a = parent(rng);
    const Choices wishes = joined(a, parent(rng), rng);
    Mutating decider(wishes, rng);
    return space_.write(decider);
  }

  const Choices& parent(Rng& rng) const {
    const double total = sums_.back();
    if (total <= 0) return rng.pick(parents_).choices;
    const auto at = std::upper_bound(sums_.begin(), sums_.end(), rng.unit() * total);
    return parents_[std::min(static_cast<size_t>(at - sums_.begin()), parents_.size() - 1)].choices;
  }

  void end_generation() {
    parents_ = std::move(generation_);
    generation_.clear();
    parents_.insert(parents_.end(), elites_.begin(), elites_.end());
    elites_ = parents_;
    std::sort(elites_.begin(), elites_.end(),
              [](const Individual& a, const Individual& b) { return a.worth > b.worth; });
    elites_.erase(elites_.begin() + static_cast<std::ptrdiff_t>(kElites), elites_.end());
    sums_.clear();
    double total = 0;
    for (const Individual& p : parents_) sums_.push_back(total += p.worth);
  }

  const space::Space& space_;
  FreshPrograms fresh_;
  std::vector<Individual> generation_;  // measured since the last one was whole
  std::vector<Individual> parents_, elites_;
  std::vector<double> sums_;  // of the parents' worth
};

}  // namespace

std::unique_ptr<Strategy> make_genetic(const space::Space& space, const cost::CostModel*,
                                       const StrategyOptions&) {
  return std::make_unique<Genetic>(space);
}

}  // namespace tenon::search
