// SPDX-License-Identifier: Apache-2.0
// What may be tried for a task. A space draws whole programs, changes one decision of a program, and joins two.
// Rows of one table: "sketch" (Ansor's rules and annotation), "loops" (the same without its layouts of operands),
// "template" (the knobs of the core's templates), "joint" (sketch and template).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/bounds.h"
#include "support/rng.h"
#include "task/task.h"

namespace tenon::search {

// A complete program of a space: `trace`, replayed on the task's dag, gives `state`, which keeps the task's edges. (The
// steps that store them stand first, but for templates, which have theirs.)
struct Candidate {
  schedule::Trace trace;
  schedule::State state;
  int32_t sketch =
      -1;  // which structure of the space it fills in; -1: not known (read from a record)
  uint64_t hash = 0;                               // of the trace
  std::shared_ptr<const schedule::Bounds> bounds;  // of the state, where they are known already
};

class Space {
 public:
  virtual ~Space() = default;
  virtual std::string_view name() const = 0;
  virtual size_t sketches() const = 0;
  // To be tried before any other: what is known to be good without a search.
  virtual std::vector<Candidate> first() const { return {}; }
  // Illegal: this draw led nowhere; draw again.
  virtual Result<Candidate> sample(Rng& rng) const = 0;
  // These two look at trace, sketch and hash only.
  virtual Result<Candidate> mutate(const Candidate& c, Rng& rng) const = 0;
  virtual Result<Candidate> cross(const Candidate& a, const Candidate& b, Rng& rng) const = 0;
  // A program from a record; refused if it does not replay for this task or is none of this space's.
  virtual Result<Candidate> adopt(const schedule::Trace& trace) const = 0;
};

struct SpaceRow {
  std::string_view name;
  std::string_view what;
  std::unique_ptr<Space> (*make)(const task::Task& t);  // null: nothing to try for this task
};
std::span<const SpaceRow> spaces();
std::unique_ptr<Space> make_space(const std::string& name,
                                  const task::Task& t);  // throws UserError

}  // namespace tenon::search
