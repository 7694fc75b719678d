// SPDX-License-Identifier: Apache-2.0
// The plainest baseline: all programs in the order of their choices, the first value of every hole first.
#include "search/strategy/fresh.h"

namespace tenon::search {
namespace {

class Grid : public Strategy {
 public:
  explicit Grid(const space::Space& space) : fresh_(space) {}

  std::vector<space::Program> propose(size_t n, Rng&) override {
    return one_by_one(n, [&] { return fresh_.next_in_order(); });
  }
  void tell(std::span<const Tried> measured) override {
    for (const Tried& t : measured) fresh_.take(t.program);
  }

 private:
  FreshPrograms fresh_;
};

}  // namespace

std::unique_ptr<Strategy> make_grid(const space::Space& space, const cost::CostModel*,
                                    const StrategyOptions&) {
  return std::make_unique<Grid>(space);
}

}  // namespace tenon::search
