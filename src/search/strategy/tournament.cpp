// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/tournament.h"

#include <cmath>

#include "search/strategy/fresh.h"
#include "search/strategy/mutation.h"

namespace tenon::search {
namespace {

using space::Choices;
using space::Program;

constexpr int kTries = 64;
constexpr int kTournament = 5;
constexpr double kRandomShare = 0.1;
constexpr double kCrossShare = 0.25;
constexpr double kFarShare = 0.2;  // of the mutations: any other value

class Tournament : public Strategy {
 public:
  explicit Tournament(const space::Space& space) : space_(space), fresh_(space) {}

  std::vector<Program> propose(size_t n, Rng& rng) override {
    return one_by_one(n, [&] { return propose_one(rng); });
  }

  void tell(std::span<const Tried> measured) override {
    for (const Tried& t : measured) {
      fresh_.take(t.program);
      if (std::isfinite(t.seconds)) measured_.push_back(t);
    }
  }

  void begin_with(std::vector<Program> programs) override {
    fresh_.begin_with(std::move(programs));
  }

 private:
  std::optional<Program> propose_one(Rng& rng) {
    if (auto p = fresh_.next_seed()) return p;
    for (int i = 0; i < kTries && !measured_.empty(); ++i) {
      auto p = breed(rng);
      if (p && fresh_.take(*p)) return std::move(p.value());
    }
    return fresh_.draw(rng);
  }

  Result<Program> breed(Rng& rng) const {
    const double draw = rng.unit();
    if (draw < kRandomShare) return space_.sample(rng);
    if (draw < kRandomShare + kCrossShare) return cross(winner(rng), winner(rng), rng);
    return rng.chance(kFarShare) ? jumped(space_, winner(rng), rng)
                                 : neighbour(space_, winner(rng), rng);
  }

  const Program& winner(Rng& rng) const {
    const Tried* best = &rng.pick(measured_);
    for (int i = 1; i < kTournament; ++i) {
      const Tried& other = rng.pick(measured_);
      if (other.seconds < best->seconds) best = &other;
    }
    return best->program;
  }

  Result<Program> cross(const Program& a, const Program& b, Rng& rng) const {
    Choices wishes = a.choices;
    for (space::Choice& c : wishes) {
      if (!rng.chance(0.5)) continue;
      for (const space::Choice& other : b.choices) {
        if (other.hole == c.hole) c.value = other.value;
      }
    }
    space::ByRule rule;
    space::Follow follow(wishes, rule);
    return space_.write(follow);
  }

  const space::Space& space_;
  FreshPrograms fresh_;
  std::vector<Tried> measured_;
};

}  // namespace

std::unique_ptr<Strategy> make_tournament(const space::Space& space) {
  return std::make_unique<Tournament>(space);
}

}  // namespace tenon::search
