// SPDX-License-Identifier: Apache-2.0
// Chen et al., "Learning to Optimize Tensor Programs" (2018): parallel simulated annealing under the cost model. Each
// chain changes one choice at a time, and goes on from where it stood when the model has learned more. Of the best
// programs that they came by a diverse batch is proposed, and a few at random. docs/tuning/search.md lists what differs.
#include "search/strategy/annealing.h"

#include <algorithm>
#include <cmath>

#include "search/strategy/diverse.h"
#include "search/strategy/drafts.h"
#include "search/strategy/fresh.h"
#include "search/strategy/mutation.h"
#include "search/strategy/tournament.h"

namespace tenon::search {

double temperature(size_t i, size_t n) {
  return 1 - static_cast<double>(i) / static_cast<double>(n + 1);
}

double acceptance(double gain, double t) { return std::exp(std::min(gain / (t + 1e-5), 1.0)); }

void Spread::add(double x) {
  n_ += 1;
  const double before = x - mean_;
  mean_ += before / n_;
  squares_ += before * (x - mean_);
}

double Spread::deviation() const { return squares_ > 0 ? std::sqrt(squares_ / n_) : 1; }

namespace {

using space::Program;

constexpr size_t kChains = 128;
constexpr size_t kSteps = 500;      // of each chain, at most, for one batch
constexpr size_t kUnchanged = 50;   // steps after which nothing better is expected
constexpr size_t kKept = 4;         // times as many as are proposed: what the batch is chosen from
constexpr double kDiversity = 0.1;  // worth of a new value of a hole, in standard deviations
constexpr double kRandomShare = 0.05;

class Annealing : public Strategy {
 public:
  Annealing(const space::Space& space, const cost::CostModel& model, const StrategyOptions& options)
      : space_(space), model_(model), options_(options), first_(space.first()), fresh_(space) {}

  std::vector<Program> propose(size_t n, Rng& rng) override {
    begin_chains(rng);
    // What a model says that has learned nothing leads nowhere: the chains stay, and where they begin is tried.
    return pick(n, model_.trained() ? anneal(n, rng) : programs_of(chains_), rng);
  }

  void set_population(size_t n) override { options_.population = n; }

  // Chains begin there too.
  void begin_with(std::vector<Program> programs) override {
    first_.insert(first_.end(), programs.begin(), programs.end());
    fresh_.begin_with(std::move(programs));
  }

  void tell(std::span<const Tried> measured) override {
    for (const Tried& t : measured) fresh_.take(t.program);
  }

 private:
  Member looked_at(Program p) const { return look_at(space_.task(), model_, std::move(p)); }

  static std::vector<ProgramRef> programs_of(const std::vector<Member>& members) {
    std::vector<ProgramRef> out;
    for (const Member& m : members) out.push_back(m.program);
    return out;
  }

  void begin_chains(Rng& rng) {
    if (!chains_.empty()) return;
    const size_t most = std::min(kChains, std::max<size_t>(options_.population, 1));
    for (size_t i = 0; i < first_.size() && i < most; ++i) chains_.push_back(looked_at(first_[i]));
    auto drawn = make_members(most - chains_.size(), rng, options_.threads,
                              [&](size_t i, Rng& own) -> std::optional<Member> {
                                auto p = options_.draft ? sample_drafted(space_, i, own)
                                                        : sample_valid(space_, own);
                                return p ? std::optional(looked_at(std::move(*p))) : std::nullopt;
                              });
    std::move(drawn.begin(), drawn.end(), std::back_inserter(chains_));
  }

  // The diverse batch first, then the others that were kept.
  std::vector<ProgramRef> anneal(size_t n, Rng& rng) {
    const std::vector<Member> best = walk(kKept * n, rng);
    std::vector<Rated> rated;
    for (const Member& m : best) rated.push_back({*m.score, &m.program->choices});
    std::vector<ProgramRef> out;
    for (const size_t i : pick_diverse(rated, rated.size(), kDiversity)) {
      out.push_back(best[i].program);
    }
    return out;
  }

  // The best `most` that were never proposed.
  std::vector<Member> walk(size_t most, Rng& rng) {
    std::vector<Member> best;
    Spread spread;
    rescore(chains_, spread);
    keep_best(chains_, fresh_.seen(), most, best);
    const size_t n = steps();
    for (size_t i = 0, unchanged = 0; i < n && unchanged < kUnchanged; ++i) {
      unchanged = step(temperature(i, n), most, spread, best, rng) ? 0 : unchanged + 1;
    }
    return best;
  }

  // As many programs are looked at as evolution would look at.
  size_t steps() const {
    const size_t budget = options_.population * static_cast<size_t>(options_.generations + 1);
    return std::clamp<size_t>(budget / std::max<size_t>(chains_.size(), 1), 1, kSteps);
  }

  // One move of every chain; one that is refused stays. True: the best ones changed.
  bool step(double t, size_t most, Spread& spread, std::vector<Member>& best, Rng& rng) {
    std::vector<Member> next =
        make_members(chains_.size(), rng, options_.threads, [&](size_t i, Rng& own) {
          auto p = jumped(space_, *chains_[i].program, own);
          return std::optional(p ? looked_at(std::move(p.value())) : chains_[i]);
        });
    rescore(next, spread);
    const bool changed = keep_best(next, fresh_.seen(), most, best);
    for (size_t i = 0; i < chains_.size(); ++i) {
      if (rng.unit() < chance(chains_[i], next[i], t, spread)) chains_[i] = std::move(next[i]);
    }
    return changed;
  }

  static double chance(const Member& from, const Member& to, double t, const Spread& spread) {
    if (!to.score || !from.score) return to.score ? 1 : 0;
    const double gain = static_cast<double>(*to.score) - static_cast<double>(*from.score);
    return acceptance(gain / spread.deviation(), t);
  }

  // Rows stay with their members: the model will know more next time.
  void rescore(std::vector<Member>& members, Spread& spread) const {
    std::vector<cost::Row> rows;
    std::vector<size_t> which;
    for (size_t i = 0; i < members.size(); ++i) {
      members[i].score.reset();
      if (members[i].row.rows() == 0) continue;
      rows.push_back(std::move(members[i].row));
      which.push_back(i);
    }
    const std::vector<float> scores = model_.score(rows);
    for (size_t i = 0; i < which.size(); ++i) {
      members[which[i]].row = std::move(rows[i]);
      members[which[i]].score = scores[i];
      spread.add(static_cast<double>(scores[i]));
    }
  }

  // Seeds, then those that are wanted, and a few at random.
  std::vector<Program> pick(size_t n, const std::vector<ProgramRef>& wanted, Rng& rng) {
    std::vector<Program> out = one_by_one(n, [&] { return fresh_.next_seed(); });
    const auto at_random = static_cast<size_t>(std::ceil(kRandomShare * static_cast<double>(n)));
    for (const ProgramRef& p : wanted) {
      if (out.size() + at_random >= n) break;
      if (!fresh_.take(*p)) continue;
      auto whole = whole_again(space_, *p);
      if (whole) out.push_back(std::move(whole.value()));
    }
    auto random = one_by_one(n - out.size(), [&] { return fresh_.draw(rng); });
    std::move(random.begin(), random.end(), std::back_inserter(out));
    return out;
  }

  const space::Space& space_;
  const cost::CostModel& model_;
  StrategyOptions options_;
  std::vector<Program> first_;
  FreshPrograms fresh_;
  std::vector<Member> chains_;  // with rows
};

}  // namespace

std::unique_ptr<Strategy> make_annealing(const space::Space& space, const cost::CostModel* model,
                                         const StrategyOptions& options) {
  if (model == nullptr) return make_tournament(space);
  return std::make_unique<Annealing>(space, *model, options);
}

}  // namespace tenon::search
