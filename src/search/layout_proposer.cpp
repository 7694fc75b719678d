// SPDX-License-Identifier: Apache-2.0
#include "search/layout_proposer.h"

#include <algorithm>

#include "search/layout_proposers.h"
#include "support/check.h"
#include "task/task.h"

namespace tenon::search {
namespace {

constexpr int kTries = 64;

constexpr LayoutProposerRow kProposers[] = {
    {"evolution", "neighbours and crossings of the layouts that were best", make_layout_evolution,
     nullptr},
    {"random", "layouts drawn from the space, the baseline", make_layout_random, nullptr},
    {"ppo", "an agent that learns from rewards; needs the plug-in tenon-torch", make_layout_ppo,
     make_layout_ppo_learner},
};

// The next combination of choices; false: that was the last.
bool count_up(LayoutSpace::Point& p, const LayoutSpace& space) {
  for (size_t f = p.size(); f-- > 0;) {
    const auto& choices = space.factors()[f].choices;
    const auto next = std::upper_bound(choices.begin(), choices.end(), p[f]);
    p[f] = next == choices.end() ? choices.front() : *next;
    if (next != choices.end()) return true;
  }
  return false;
}

class RandomLayouts : public LayoutProposer {
 public:
  explicit RandomLayouts(const LayoutSpace& space) : seen_(space) {}

  std::optional<Point> propose(Rng& rng) override {
    if (auto p = seen_.next_seed()) return p;
    return seen_.draw_new(rng);
  }
  void reward(const Point& p, double) override { seen_.take(p); }

 private:
  SeenLayouts seen_;
};

}  // namespace

std::span<const LayoutProposerRow> layout_proposers() { return kProposers; }

namespace {

const LayoutProposerRow& row_of(const std::string& name) {
  std::string known;
  for (const LayoutProposerRow& r : kProposers) {
    if (r.name == name) return r;
    known += (known.empty() ? "" : ", ") + std::string(r.name);
  }
  throw UserError("there is no layout proposer '" + name + "'", "there are: " + known);
}

}  // namespace

std::unique_ptr<LayoutProposer> make_layout_proposer(const std::string& name,
                                                     const LayoutSpace& space,
                                                     const LayoutProposerOptions& options) {
  return row_of(name).make(space, options);
}

std::shared_ptr<LayoutLearner> make_layout_learner(const std::string& name,
                                                   const LayoutProposerOptions& options) {
  const LayoutProposerRow& r = row_of(name);
  return r.make_learner == nullptr ? nullptr : r.make_learner(options);
}

std::unique_ptr<LayoutProposer> make_layout_random(const LayoutSpace& space,
                                                   const LayoutProposerOptions&) {
  return std::make_unique<RandomLayouts>(space);
}

LayoutSpace::Point neighbour(const LayoutSpace& space, LayoutSpace::Point p, Rng& rng) {
  const auto f = static_cast<size_t>(rng.between(0, static_cast<int64_t>(p.size()) - 1));
  const auto& choices = space.factors()[f].choices;
  const auto at = std::lower_bound(choices.begin(), choices.end(), p[f]) - choices.begin();
  const int64_t next = std::clamp<int64_t>(at + (rng.chance(0.5) ? 1 : -1), 0,
                                           static_cast<int64_t>(choices.size()) - 1);
  p[f] = choices[static_cast<size_t>(next)];
  return p;
}

// ---- what was seen ------------------------------------------------------------------------------

SeenLayouts::SeenLayouts(const LayoutSpace& space) : space_(space) {
  for (const LayoutFactor& f : space.factors()) left_.push_back(f.choices.front());
}

std::string SeenLayouts::key(const Point& p) const {
  const auto edges = space_.edges(p);
  return edges ? "edges\n" + task::edges_text(*edges) : "";
}

bool SeenLayouts::take(const Point& p) {
  const std::string k = key(p);
  return !k.empty() && seen_.insert(k).second;
}

std::optional<SeenLayouts::Point> SeenLayouts::next_seed() {
  while (next_seed_ < space_.seeds().size()) {
    const Point& p = space_.seeds()[next_seed_++];
    if (take(p)) return p;
  }
  return std::nullopt;
}

SeenLayouts::Point SeenLayouts::draw(Rng& rng) const {
  Point p;
  for (const LayoutFactor& f : space_.factors()) p.push_back(rng.pick(f.choices));
  return p;
}

std::optional<SeenLayouts::Point> SeenLayouts::draw_new(Rng& rng) {
  for (int i = 0; i < kTries; ++i) {
    Point p = draw(rng);
    if (take(p)) return p;
  }
  return first_left();
}

std::optional<SeenLayouts::Point> SeenLayouts::first_left() {
  while (!left_.empty()) {
    const Point p = left_;
    if (!count_up(left_, space_)) left_.clear();
    if (take(p)) return p;
  }
  return std::nullopt;
}

}  // namespace tenon::search
