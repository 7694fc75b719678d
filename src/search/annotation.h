// SPDX-License-Identifier: Apache-2.0
// From a sketch to a program: tile sizes, where untiled stages are computed, what runs in parallel, how much is
// unrolled, what runs in vectors, and how operands are stored (Zheng et al., "Ansor", section 4.2; marks and layouts as
// our code generator wants them).
//
// All that may be chosen stands in Decisions; the rest follows from them. A decision that is missing is drawn.
//
//   Decisions d;                                   // all open
//   auto c = annotate(structure, d, rng);          // a random program; d says which
//   d.unroll.clear();
//   auto e = annotate(structure, d, rng);          // the same one, unrolled in another way
#pragma once

#include <map>

#include "search/factors.h"
#include "search/sketch.h"
#include "search/space.h"

namespace tenon::search {

struct Location {
  enum class Kind : uint8_t { kRoot, kInlined, kAt };
  Kind kind = Kind::kRoot;
  schedule::StageId stage = -1;
  schedule::LoopId loop = -1;
};

struct Decisions {
  std::vector<Factors> factors;  // by Sketch::open; empty: missing
  std::map<schedule::StageId, Location> location;
  std::map<schedule::StageId, int64_t> parallel;  // number of outer loops, 0: serial
  std::map<schedule::StageId, int64_t> unroll;    // limit of copies
  std::map<schedule::StageId, int64_t> lanes;     // the innermost loop is cut into so many
  std::map<schedule::StageId, bool> pack;  // an operand is copied into the order of the loops first
};

// A sketch and the state after the steps that no decision touches.
struct Structure {
  Sketch sketch;
  schedule::State fixed;
  size_t fixed_steps;
  bool operands_in_loop_order = true;  // false: they stay as they lie, and none is copied
};
Structure make_structure(Sketch s, const task::Task& t);

// Fills what is missing in `d`. Illegal: the program does not fit.
Result<Candidate> annotate(const Structure& s, Decisions& d, Rng& rng);

// The decisions of a trace that annotate() made from this sketch; nothing if it did not. Some may be missing: those
// that left no step.
std::optional<Decisions> read_decisions(const Sketch& s, const schedule::Trace& trace);

// The extent of an open split: declared, or the tile of the split it lies in.
int64_t open_extent(const Sketch& s, size_t open, const std::vector<Factors>& factors);

inline constexpr int64_t kUnrollLimits[] = {0, 16, 64, 512};

}  // namespace tenon::search
