// SPDX-License-Identifier: Apache-2.0
// What strategies share: predicting many candidates, and remembering what was proposed.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "cost/model.h"
#include "search/space.h"

namespace tenon::search {

// Predicted worth of each; nothing where features cannot be extracted. On several threads, the same for any number.
std::vector<std::optional<float>> score(const std::vector<Candidate>& candidates,
                                        const cost::CostModel& model, int threads);

// `n` valid samples, or fewer when draws fail too often. Each draw has a generator of its own, so that the
// number of threads changes nothing.
std::vector<Candidate> sample_many(const Space& space, size_t n, Rng& rng, int threads);

using Seen = std::unordered_set<uint64_t>;  // Candidate::hash

}  // namespace tenon::search
