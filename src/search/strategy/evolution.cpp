// SPDX-License-Identifier: Apache-2.0
// Zheng et al., "Ansor" (OSDI 2020), section 5: a population of whole programs, improved by mutation and crossover
// under the cost model; the best that were never measured are proposed, and a few at random.
#include <algorithm>
#include <cmath>

#include "search/strategy/drafts.h"
#include "search/strategy/fresh.h"
#include "search/strategy/mutation.h"
#include "search/strategy/tournament.h"

namespace tenon::search {
namespace {

using space::Program;

constexpr size_t kKept = 4;  // times as many as are proposed: some are alike

class Evolution : public Strategy {
 public:
  Evolution(const space::Space& space, const cost::CostModel& model, const StrategyOptions& options)
      : space_(space), model_(model), options_(options) {
    for (Program& p : space.first()) first_.push_back(looked_at(std::move(p)));
  }

  std::vector<Program> propose(size_t n, Rng& rng) override {
    std::vector<Member> population = first_population(rng);
    std::vector<ProgramRef> random;
    for (const Member& m : population) random.push_back(m.program);
    population.insert(population.begin(), first_.begin(), first_.end());
    std::vector<Member> best;
    for (int g = 0; !population.empty(); ++g) {
      score(model_, population);
      keep_best(population, proposed_, kKept * n, best);
      if (g == options_.generations) break;
      population = next_generation(population, rng);
    }
    return pick(n, best, random, rng);
  }

  void set_population(size_t n) override { options_.population = n; }

  void begin_with(std::vector<Program> programs) override {
    for (Program& p : programs) first_.push_back(looked_at(std::move(p)));
  }

  void tell(std::span<const Tried> measured) override {
    for (const Tried& t : measured) {
      proposed_.insert(t.program.hash);
      // What the space does not know cannot be changed.
      if (std::isfinite(t.seconds) && !t.program.choices.empty())
        measured_.push_back({looked_at(t.program), t.seconds});
    }
    std::sort(measured_.begin(), measured_.end(), [](const Measured& a, const Measured& b) {
      return a.seconds != b.seconds ? a.seconds < b.seconds
                                    : a.member.program->hash < b.member.program->hash;
    });
    const auto most =
        static_cast<size_t>(options_.measured_share * static_cast<double>(options_.population));
    if (measured_.size() > most) {
      measured_.erase(measured_.begin() + static_cast<std::ptrdiff_t>(most), measured_.end());
    }
  }

 private:
  struct Measured {
    Member member;
    double seconds;
  };

  Member looked_at(Program p) const { return look_at(space_.task(), model_, std::move(p)); }

  std::vector<Member> first_population(Rng& rng) const {
    const size_t known = std::min(measured_.size(), options_.population / 2);
    std::vector<Member> p =
        make_members(options_.population - known, rng, options_.threads, [&](size_t i, Rng& own) {
          auto c = options_.draft ? sample_drafted(space_, i, own) : sample_valid(space_, own);
          return c ? std::optional(looked_at(std::move(*c))) : std::nullopt;
        });
    for (size_t i = 0; i < known; ++i) p.push_back(measured_[i].member);
    return p;
  }

  // Parents are drawn in proportion to their scores, all alike when none is above zero.
  std::vector<Member> next_generation(const std::vector<Member>& population, Rng& rng) const {
    std::vector<double> sums;
    double total = 0;
    for (const Member& m : population) {
      total += m.score && *m.score > 0 ? static_cast<double>(*m.score) : 0;
      sums.push_back(total);
    }
    const auto parent = [&](Rng& own) -> const Member& {
      if (total <= 0) return own.pick(population);
      const auto at = std::upper_bound(sums.begin(), sums.end(), own.unit() * total);
      return population[std::min(static_cast<size_t>(at - sums.begin()), population.size() - 1)];
    };
    return make_members(options_.population, rng, options_.threads,
                        [&](size_t, Rng& own) { return child(parent, own); });
  }

  // A refused change is tried again from other parents a few times.
  template <class Parent>
  std::optional<Member> child(const Parent& parent, Rng& rng) const {
    constexpr int kTries = 5;
    for (int t = 0; t < kTries; ++t) {
      const double draw = rng.unit();
      if (draw >= options_.mutation + options_.crossover) return parent(rng);
      const Program& a = *parent(rng).program;
      auto c = draw < options_.mutation ? mutated(space_, a, rng)
                                        : crossed(space_, a, *parent(rng).program, rng);
      if (c) return looked_at(std::move(c.value()));
    }
    return std::nullopt;
  }

  std::vector<Program> pick(size_t n, const std::vector<Member>& best,
                            const std::vector<ProgramRef>& random, Rng& rng) {
    const auto at_random =
        static_cast<size_t>(std::ceil(options_.random_share * static_cast<double>(n)));
    std::vector<Program> out;
    const auto take = [&](const Program& p) {
      if (out.size() >= n || !proposed_.insert(p.hash).second) return;
      auto whole = whole_again(space_, p);
      if (whole) out.push_back(std::move(whole.value()));
    };
    for (const Member& m : first_) take(*m.program);
    // Of those that the model cannot tell apart one is enough to learn from.
    std::unordered_set<float> scores;
    for (const Member& m : best) {
      if (out.size() + at_random >= n) break;
      if (scores.insert(*m.score).second) take(*m.program);
    }
    for (size_t t = 0; t < 4 * at_random && !random.empty(); ++t) take(*rng.pick(random));
    for (const Member& m : best) take(*m.program);
    return out;
  }

  const space::Space& space_;
  const cost::CostModel& model_;
  StrategyOptions options_;
  std::vector<Member> first_;
  std::vector<Measured> measured_;  // fastest first
  Seen proposed_;
};

}  // namespace

std::unique_ptr<Strategy> make_evolution(const space::Space& space, const cost::CostModel* model,
                                         const StrategyOptions& options) {
  if (model == nullptr) return make_tournament(space);
  return std::make_unique<Evolution>(space, *model, options);
}

}  // namespace tenon::search
