// SPDX-License-Identifier: Apache-2.0
// A strategy as docs/adding/strategy.md has it: one choice at a time from the best so far.
#include <limits>

#include "search/strategy/fresh.h"
#include "search/strategy/mutation.h"

namespace tenon::search {
namespace {

class Walk : public Strategy {
 public:
  explicit Walk(const space::Space& s) : space_(s), fresh_(s) {}

  std::vector<space::Program> propose(size_t n, Rng& rng) override {
    return one_by_one(n, [&] { return step(rng); });
  }

  void tell(std::span<const Tried> measured) override {
    for (const Tried& t : measured) {
      fresh_.take(t.program);
      if (t.seconds >= best_s_ || t.program.choices.empty()) continue;
      best_ = t.program;
      best_s_ = t.seconds;
    }
  }

 private:
  std::optional<space::Program> step(Rng& rng) {
    if (auto p = fresh_.next_seed()) return p;
    for (int i = 0; i < 20 && best_; ++i) {
      auto p = neighbour(space_, *best_, rng);
      if (p && fresh_.take(*p)) return std::move(p.value());
    }
    return fresh_.draw(rng);
  }

  const space::Space& space_;
  FreshPrograms fresh_;
  std::optional<space::Program> best_;
  double best_s_ = std::numeric_limits<double>::infinity();
};

}  // namespace

std::unique_ptr<Strategy> make_walk(const space::Space& space, const cost::CostModel*,
                                    const StrategyOptions&) {
  return std::make_unique<Walk>(space);
}

}  // namespace tenon::search
