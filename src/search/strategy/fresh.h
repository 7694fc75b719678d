// SPDX-License-Identifier: Apache-2.0
// Programs that were not seen before: drawn while that is quick, then in the order of their choices, so that a small
// space is gone through to its end.
#pragma once

#include <optional>

#include "search/strategy/scoring.h"

namespace tenon::search {

class FreshPrograms {
 public:
  explicit FreshPrograms(const space::Space& space) : space_(space), seeds_(space.first()) {}

  // True if the program was not seen; it is from now on.
  bool take(const space::Program& p) { return seen_.insert(p.hash).second; }
  const Seen& seen() const { return seen_; }
  // As Strategy::begin_with.
  void begin_with(std::vector<space::Program> programs);
  std::optional<space::Program> next_seed();
  std::optional<space::Program> draw(Rng& rng);
  // The next in the order of their choices. Nothing: there is no other, or thousands in a row were refused.
  std::optional<space::Program> next_in_order();

 private:
  // The next complete choices in their order; false: those were the last.
  bool count_up();

  const space::Space& space_;
  std::vector<space::Program> seeds_;
  size_t next_seed_ = 0;
  Seen seen_;
  space::Partial at_;     // all complete choices before it were looked at
  bool started_ = false;  // at_ is set
  bool ended_ = false;
};

// Up to n programs, until `next` has no more.
std::vector<space::Program> one_by_one(size_t n, FunctionRef<std::optional<space::Program>()> next);

// With its state again, which members of populations have lost.
Result<space::Program> whole_again(const space::Space& space, const space::Program& p);

}  // namespace tenon::search
