// SPDX-License-Identifier: Apache-2.0
#include "search/strategy/drafts.h"

#include "cost/draft.h"
#include "search/strategy/scoring.h"

namespace tenon::search {
namespace {

std::optional<double> judged(const space::Program& p) {
  if (p.bounds == nullptr) return std::nullopt;
  return cost::draft_seconds(p.state, *p.bounds);
}

}  // namespace

std::optional<space::Program> sample_drafted(const space::Space& space, size_t i, Rng& rng) {
  std::optional<space::Program> best = sample_valid(space, rng);
  if (!best || i % kUnjudged == 0) return best;
  std::optional<double> best_s = judged(*best);
  for (int d = 1; d < kDrafted && best_s; ++d) {
    std::optional<space::Program> other = sample_valid(space, rng);
    if (!other) continue;
    const std::optional<double> s = judged(*other);
    if (s && *s >= *best_s) continue;
    best = std::move(other);
    best_s = s;
  }
  return best;
}

}  // namespace tenon::search
