// SPDX-License-Identifier: Apache-2.0
// The baseline: blind draws.
#include "search/strategy/fresh.h"

namespace tenon::search {
namespace {

using space::Program;

class Random : public Strategy {
 public:
  Random(const space::Space& space, const StrategyOptions& options)
      : space_(space), options_(options), fresh_(space) {}

  std::vector<Program> propose(size_t n, Rng& rng) override {
    constexpr int kBatches = 5;
    std::vector<Program> out = one_by_one(n, [&] { return fresh_.next_seed(); });
    for (int b = 0; b < kBatches && out.size() < n; ++b) {
      for (Program& p : sample_many(space_, n, rng, options_.threads)) {
        if (out.size() < n && fresh_.take(p)) out.push_back(std::move(p));
      }
    }
    while (out.size() < n) {  // the space is nearly exhausted
      auto p = fresh_.draw(rng);
      if (!p) break;
      out.push_back(std::move(*p));
    }
    return out;
  }

  void tell(std::span<const Tried> measured) override {
    for (const Tried& t : measured) fresh_.take(t.program);
  }

  void begin_with(std::vector<Program> programs) override {
    fresh_.begin_with(std::move(programs));
  }

 private:
  const space::Space& space_;
  StrategyOptions options_;
  FreshPrograms fresh_;
};

}  // namespace

std::unique_ptr<Strategy> make_random(const space::Space& space, const cost::CostModel*,
                                      const StrategyOptions& options) {
  return std::make_unique<Random>(space, options);
}

}  // namespace tenon::search
