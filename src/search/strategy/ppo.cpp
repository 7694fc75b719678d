// SPDX-License-Identifier: Apache-2.0
// Layouts proposed by an agent that learns from rewards (Xu et al., "ALT", section 5.2): one action between 0 and 1 for
// each factor, by a policy of its kind, all of them judged by one critic. The networks are in a plug-in (layout_agent.h);
// here is what the agent sees, what its actions mean, and what it is paid.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "search/layout/layout_skeleton.h"
#include "search/strategy/fresh.h"
#include "search/strategy/layout_agent.h"
#include "search/strategy/mutation.h"
#include "support/check.h"
#include "support/plug_in.h"

namespace tenon::search {
namespace {

using space::Program;

constexpr size_t kMaxFactors = 8;
constexpr size_t kStateSize = kLayoutContextSize + 3 * kMaxFactors + 1;
constexpr int kEpisodes = 16;  // at most, for one proposal

double log2_of(int64_t n) { return std::log2(static_cast<double>(std::max<int64_t>(n, 1))); }

const tenon_layout_agent_functions& load_plug_in(const std::string& file) {
  const std::string hint =
      "install libtorch-dev and build the target tenon-torch, or take the strategy evolution";
  const Interface found = plug_in_interface(file, TENON_LAYOUT_AGENT_SYMBOL);
  if (found.functions == nullptr) {
    throw UserError("the strategy ppo needs the plug-in tenon-torch: " + found.why, hint);
  }
  const auto* functions = static_cast<const tenon_layout_agent_functions*>(found.functions);
  if (functions->version != TENON_LAYOUT_AGENT_VERSION)
    throw UserError("the layout agent of tenon-torch is for another version of tenon", hint);
  return *functions;
}

class PpoLearner : public Learner {
 public:
  explicit PpoLearner(const LearnerOptions& options) : api_(load_plug_in(options.plug_in)) {
    agent_ = api_.create(kStateSize, kTileKinds, options.seed);
    if (agent_ == nullptr) throw UserError("the plug-in tenon-torch cannot make an agent");
    if (!options.learned.empty() && api_.load(agent_, options.learned.c_str()) != 0) {
      api_.destroy(agent_);
      throw UserError("cannot read a layout agent from " + options.learned,
                      "it is written by another version of tenon, or is no agent");
    }
  }
  ~PpoLearner() override { api_.destroy(agent_); }
  PpoLearner(const PpoLearner&) = delete;
  PpoLearner& operator=(const PpoLearner&) = delete;

  void save(const std::string& file) const override {
    if (api_.save(agent_, file.c_str()) != 0)
      throw UserError("cannot write the layout agent to " + file);
  }

  double act(TileKind kind, const std::vector<double>& state) {
    const double a = api_.act(agent_, static_cast<uint32_t>(kind), state.data());
    TENON_CHECK(a >= 0 && a <= 1) << "the plug-in tenon-torch failed";
    return a;
  }
  int64_t end_episode() { return api_.end(agent_); }
  void reward(int64_t episode, double r) { api_.reward(agent_, episode, r); }

 private:
  const tenon_layout_agent_functions& api_;
  tenon_layout_agent* agent_ = nullptr;
};

// R(D^a): the exponent, not the size, is what the action says, so that small tiles are as easy to hit as large ones.
int64_t meaning(const LayoutFactor& f, double a) {
  if (f.kind == TileKind::kHalo) {
    const auto n = static_cast<double>(f.choices.size());
    return f.choices[std::min(f.choices.size() - 1, static_cast<size_t>(a * n))];
  }
  const double wanted = a * log2_of(f.extent);
  return *std::min_element(f.choices.begin(), f.choices.end(), [&](int64_t x, int64_t y) {
    return std::abs(log2_of(x) - wanted) < std::abs(log2_of(y) - wanted);
  });
}

// An episode of the agent: one action for each hole.
class Acting : public space::Decider {
 public:
  Acting(const LayoutSpace& layouts, PpoLearner& learner, double best)
      : layouts_(layouts), learner_(learner), best_(best) {}

  int64_t decide(const space::Hole& hole) override {
    const auto f = static_cast<size_t>(hole.id.number);
    while (chosen_.size() < f) {  // factors of one size are not asked for
      chosen_.push_back(layouts_.factors()[chosen_.size()].choices.front());
    }
    const LayoutFactor& factor = layouts_.factors()[f];
    chosen_.push_back(meaning(factor, learner_.act(factor.kind, state())));
    return chosen_.back();
  }

 private:
  // The operator and the machine; all extents; the sizes chosen so far as shares of them; which factor is next; the best
  // reward.
  std::vector<double> state() const {
    std::vector<double> state = layouts_.context();
    state.resize(kStateSize, 0);
    const size_t extents = kLayoutContextSize;
    const size_t shares = extents + kMaxFactors;
    const size_t next = shares + kMaxFactors;
    for (size_t f = 0; f < std::min(kMaxFactors, layouts_.factors().size()); ++f) {
      const int64_t extent = layouts_.factors()[f].extent;
      state[extents + f] = log2_of(extent) / 8;
      state[shares + f] =
          f < chosen_.size() ? log2_of(chosen_[f]) / std::max(1.0, log2_of(extent)) : -1;
    }
    state[next + std::min(chosen_.size(), kMaxFactors - 1)] = 1;
    state.back() = std::max(best_, -1.0);
    return state;
  }

  const LayoutSpace& layouts_;
  PpoLearner& learner_;
  double best_;
  LayoutSpace::Point chosen_;
};

class Ppo : public Strategy {
 public:
  Ppo(const space::Space& space, const LayoutSpace& layouts, std::shared_ptr<PpoLearner> learner)
      : space_(space), layouts_(layouts), fresh_(space), learner_(std::move(learner)) {}

  std::vector<Program> propose(size_t n, Rng& rng) override {
    return one_by_one(n, [&] { return propose_one(rng); });
  }

  // The first one told is what others are compared with: that of the default layout.
  void tell(std::span<const Tried> measured) override {
    for (const Tried& t : measured) {
      fresh_.take(t.program);
      if (base_s_ == 0 && std::isfinite(t.seconds)) base_s_ = t.seconds;
      const double r = worth(t.seconds);
      best_ = std::max(best_, r);
      known_[t.program.hash] = r;
      for (const int64_t episode : episodes_[t.program.hash]) learner_->reward(episode, r);
      episodes_.erase(t.program.hash);
    }
  }

 private:
  std::optional<Program> propose_one(Rng& rng) {
    if (auto p = fresh_.next_seed()) return p;
    std::optional<Program> last;
    for (int i = 0; i < kEpisodes; ++i) {
      Acting acting(layouts_, *learner_, best_);
      auto p = space_.write(acting);
      const int64_t episode = learner_->end_episode();
      if (!p) {
        learner_->reward(episode, -1);  // what is refused is bad
        continue;
      }
      if (fresh_.take(*p)) {
        episodes_[p->hash].push_back(episode);
        return std::move(p.value());
      }
      repay(p->hash, episode);
      last = std::move(p.value());
    }
    // The agent is sure of what is known: something close to it.
    for (int i = 0; i < kEpisodes && last; ++i) {
      auto p = neighbour(space_, *last, rng);
      if (!p) continue;
      if (fresh_.take(*p)) return std::move(p.value());
      last = std::move(p.value());
    }
    return fresh_.draw(rng);
  }

  // Relative to the default layout, so that operators of all sizes teach the same agent.
  double worth(double seconds) const {
    if (!std::isfinite(seconds) || base_s_ == 0) return -1;
    return std::max(-1.0, (base_s_ - seconds) / base_s_);
  }

  // What is known already is learned from without being measured again.
  void repay(uint64_t hash, int64_t episode) {
    const auto it = known_.find(hash);
    if (it != known_.end()) {
      learner_->reward(episode, it->second);
    } else {
      episodes_[hash].push_back(episode);  // proposed, not yet measured
    }
  }

  const space::Space& space_;
  const LayoutSpace& layouts_;
  FreshPrograms fresh_;
  std::shared_ptr<PpoLearner> learner_;
  std::map<uint64_t, std::vector<int64_t>> episodes_;  // by program: not rewarded yet
  std::map<uint64_t, double> known_;                   // rewards, by program
  double base_s_ = 0;
  double best_ = 0;
};

}  // namespace

std::shared_ptr<Learner> make_ppo_learner(const LearnerOptions& options) {
  return std::make_shared<PpoLearner>(options);
}

std::unique_ptr<Strategy> make_ppo(const space::Space& space, const cost::CostModel*,
                                   const StrategyOptions& options) {
  if (options.layouts == nullptr) {
    throw UserError("the strategy ppo is for layouts only", "take evolution or random for loops");
  }
  auto learner = options.learner != nullptr ? options.learner : make_ppo_learner({});
  auto agent = std::dynamic_pointer_cast<PpoLearner>(std::move(learner));
  TENON_CHECK(agent != nullptr) << "a learner of another row";
  return std::make_unique<Ppo>(space, *options.layouts, std::move(agent));
}

}  // namespace tenon::search
