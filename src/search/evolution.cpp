// SPDX-License-Identifier: Apache-2.0
// Zheng et al., "Ansor" (OSDI 2020), section 5: a population of whole programs, improved by mutation and crossover
// under the cost model; the best that were never measured are proposed, and a few at random.
#include <algorithm>
#include <cmath>

#include "search/scoring.h"
#include "search/strategies.h"
#include "support/parallel.h"

namespace tenon::search {
namespace {

struct Scored {
  Candidate candidate;
  float score;
};

// Better first; equal scores by hash, so that the order never depends on where a candidate stood.
bool better(const Scored& a, const Scored& b) {
  return a.score != b.score ? a.score > b.score : a.candidate.hash < b.candidate.hash;
}

class Evolution : public Strategy {
 public:
  Evolution(const Space& space, const StrategyOptions& options)
      : space_(space), options_(options), first_(space.first()) {}

  std::vector<Candidate> propose(size_t n, const cost::CostModel& model, Rng& rng) override {
    std::vector<Candidate> population = first_population(rng);
    const std::vector<Candidate> random = population;
    population.insert(population.begin(), first_.begin(), first_.end());
    std::vector<Scored> best;
    for (int g = 0; !population.empty(); ++g) {
      const auto scores = score(population, model, options_.threads);
      keep_best(population, scores, 2 * n, best);
      if (g == options_.generations) break;
      population = next_generation(population, scores, rng);
    }
    return pick(n, best, random, rng);
  }

  void tell(std::span<const Tried> measured) override {
    for (const Tried& t : measured) {
      proposed_.insert(t.candidate.hash);
      if (std::isfinite(t.seconds)) measured_.push_back({t.candidate, t.seconds});
    }
    std::sort(measured_.begin(), measured_.end(), [](const Tried& a, const Tried& b) {
      return a.seconds != b.seconds ? a.seconds < b.seconds : a.candidate.hash < b.candidate.hash;
    });
    const auto most =
        static_cast<size_t>(options_.measured_share * static_cast<double>(options_.population));
    if (measured_.size() > most) {
      measured_.erase(measured_.begin() + static_cast<std::ptrdiff_t>(most), measured_.end());
    }
  }

 private:
  std::vector<Candidate> first_population(Rng& rng) const {
    std::vector<Candidate> p =
        sample_many(space_, options_.population - measured_.size(), rng, options_.threads);
    for (const Tried& t : measured_) p.push_back(t.candidate);
    return p;
  }

  void keep_best(const std::vector<Candidate>& population,
                 const std::vector<std::optional<float>>& scores, size_t most,
                 std::vector<Scored>& best) const {
    Seen seen = proposed_;
    for (const Scored& s : best) seen.insert(s.candidate.hash);
    for (size_t i = 0; i < population.size(); ++i) {
      if (!scores[i] || !seen.insert(population[i].hash).second) continue;
      best.push_back({population[i], *scores[i]});
    }
    std::sort(best.begin(), best.end(), better);
    if (best.size() > most) {
      best.erase(best.begin() + static_cast<std::ptrdiff_t>(most), best.end());
    }
  }

  // Parents are drawn in proportion to their scores, all alike when none is above zero.
  std::vector<Candidate> next_generation(const std::vector<Candidate>& population,
                                         const std::vector<std::optional<float>>& scores,
                                         Rng& rng) const {
    std::vector<double> sums;
    double total = 0;
    for (const auto& s : scores) {
      total += s && *s > 0 ? static_cast<double>(*s) : 0;
      sums.push_back(total);
    }
    const auto parent = [&](Rng& own) -> const Candidate& {
      if (total <= 0) return own.pick(population);
      const auto at = std::upper_bound(sums.begin(), sums.end(), own.unit() * total);
      return population[std::min(static_cast<size_t>(at - sums.begin()), population.size() - 1)];
    };
    std::vector<uint64_t> seeds(options_.population);
    for (uint64_t& s : seeds) s = rng.next();
    std::vector<std::optional<Candidate>> children(seeds.size());
    for_each_parallel(seeds.size(), options_.threads, [&](size_t i) {
      Rng own(seeds[i]);
      children[i] = child(parent, own);
    });
    std::vector<Candidate> out;
    for (auto& c : children) {
      if (c) out.push_back(std::move(*c));
    }
    return out;
  }

  // A refused change is tried again from other parents a few times.
  template <class Parent>
  std::optional<Candidate> child(const Parent& parent, Rng& rng) const {
    constexpr int kTries = 5;
    for (int t = 0; t < kTries; ++t) {
      const double draw = rng.unit();
      if (draw >= options_.mutation + options_.crossover) return parent(rng);
      const Candidate& a = parent(rng);
      auto c = draw < options_.mutation ? space_.mutate(a, rng) : space_.cross(a, parent(rng), rng);
      if (c) return std::move(c.value());
    }
    return std::nullopt;
  }

  std::vector<Candidate> pick(size_t n, const std::vector<Scored>& best,
                              const std::vector<Candidate>& random, Rng& rng) {
    const auto at_random = static_cast<size_t>(options_.random_share * static_cast<double>(n));
    std::vector<Candidate> out;
    const auto take = [&](const Candidate& c) {
      if (out.size() < n && proposed_.insert(c.hash).second) out.push_back(c);
    };
    for (const Candidate& c : first_) take(c);
    for (const Scored& s : best) {
      if (out.size() + at_random >= n) break;
      take(s.candidate);
    }
    for (size_t t = 0; t < 4 * at_random && !random.empty(); ++t) take(rng.pick(random));
    for (const Scored& s : best) take(s.candidate);
    return out;
  }

  const Space& space_;
  StrategyOptions options_;
  std::vector<Candidate> first_;
  std::vector<Tried> measured_;  // fastest first
  Seen proposed_;
};

class Random : public Strategy {
 public:
  Random(const Space& space, const StrategyOptions& options)
      : space_(space), options_(options), first_(space.first()) {}

  std::vector<Candidate> propose(size_t n, const cost::CostModel&, Rng& rng) override {
    constexpr int kBatches = 5;  // without anything new: the space is exhausted
    std::vector<Candidate> out;
    for (const Candidate& c : first_) {
      if (out.size() < n && proposed_.insert(c.hash).second) out.push_back(c);
    }
    for (int b = 0; b < kBatches && out.size() < n; ++b) {
      for (Candidate& c : sample_many(space_, n, rng, options_.threads)) {
        if (out.size() < n && proposed_.insert(c.hash).second) out.push_back(std::move(c));
      }
    }
    return out;
  }

  void tell(std::span<const Tried> measured) override {
    for (const Tried& t : measured) proposed_.insert(t.candidate.hash);
  }

 private:
  const Space& space_;
  StrategyOptions options_;
  std::vector<Candidate> first_;
  Seen proposed_;
};

}  // namespace

std::unique_ptr<Strategy> make_evolution(const Space& space, const StrategyOptions& options) {
  return std::make_unique<Evolution>(space, options);
}

std::unique_ptr<Strategy> make_random(const Space& space, const StrategyOptions& options) {
  return std::make_unique<Random>(space, options);
}

}  // namespace tenon::search
