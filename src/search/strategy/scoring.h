// SPDX-License-Identifier: Apache-2.0
// What strategies share: looking at many programs on several threads, and remembering what was proposed. The number of
// threads changes nothing: each draw has a generator of its own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "search/strategy/strategy.h"
#include "support/function_ref.h"

namespace tenon::search {

using ProgramRef = std::shared_ptr<const space::Program>;
using Seen = std::unordered_set<uint64_t>;  // Program::hash

// A program that was looked at: the thread that made it encoded it for the cost model, and its state and bounds are
// gone, so that a population is small and what one program used serves the next.
struct Member {
  ProgramRef program;  // without state
  cost::Row row;       // empty: it could not be encoded, or the score is known
  std::optional<float> score;
};
Member look_at(const task::Task& t, const cost::CostModel& model, space::Program p);

// The program as a cost model is shown it.
cost::Subject subject_of(const task::Task& t, const space::Program& p);

// fn(i, rng) for i in 0..n-1, each with a generator seeded from `rng`; those that gave something, in order.
std::vector<Member> make_members(size_t n, Rng& rng, int threads,
                                 FunctionRef<std::optional<Member>(size_t, Rng&)> fn);

// Predicted worth of the members that have none, in one batch; their rows are gone after.
void score(const cost::CostModel& model, std::vector<Member>& members);

// Those that have a score and were not proposed join `best`, none twice, the better first, `most` at most. True: it changed.
bool keep_best(std::span<const Member> population, const Seen& proposed, size_t most,
               std::vector<Member>& best);

// A valid sample; nothing when draws fail too often.
std::optional<space::Program> sample_valid(const space::Space& space, Rng& rng);
std::vector<space::Program> sample_many(const space::Space& space, size_t n, Rng& rng, int threads);

}  // namespace tenon::search
