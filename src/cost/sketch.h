// SPDX-License-Identifier: Apache-2.0
// The loops and layouts that a trace leads to, without its expressions: what a State would say of
// extents, order and marks, in a hundredth of the time. Steps are believed: a trace that replay would
// refuse gives some sketch, or an Illegal where it names what is not there.
//
//   Sketch s = sketch_of(state);                 // of a dag, or behind a step `variant`
//   TENON_TRY(s.apply(step));                    // any other step
//   s.settle();                                  // loops of attached stages are as long as their host asks
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cost/axis_roles.h"
#include "schedule/trace.h"

namespace tenon::cost {

// Bits: what a stage is to the anchor.
enum StageFlag : uint8_t {
  kIsInput = 1,
  kIsConstant = 2,
  kIsAnchor = 4,
  kIsOutput = 8,
  kIsBefore = 16,  // the anchor needs it
  kIsAfter = 32,
  kIsMade = 64,  // by a step
  kReduces = 128,
};

inline constexpr int64_t kLongestLoop = int64_t{1} << 40;  // a wrong trace may multiply without end
inline int64_t times(int64_t a, int64_t b) {
  return std::min(kLongestLoop, a * std::min(b, kLongestLoop / a));
}
inline int64_t parts_of(int64_t n, int64_t size) {
  return (n + size - 1) / std::max<int64_t>(1, size);
}

struct SketchLoop {
  AxisFacts facts;     // extent as declared
  int64_t length = 1;  // once settled
  float waste = 0;     // log2 of iterations over needed ones, of the split that made it
  schedule::Mark mark = schedule::Mark::kNone;
  ir::ThreadTag tag = ir::ThreadTag::kNone;
  bool reduced = false;
  bool uneven = false;  // near-equal parts
  uint8_t fused = 0;    // of so many loops
};

struct SketchStage {
  uint8_t flags = 0;
  int64_t element_bytes = 4;
  std::vector<AxisFacts> dims;  // as stored
  std::vector<AxisFacts> reduced;
  std::vector<SketchLoop> loops;  // by schedule::LoopId
  std::vector<int32_t> leaves;    // outermost first
  struct Relation {
    schedule::RelationKind kind;
    int32_t one;
    std::vector<int32_t> many;
  };
  std::vector<Relation> relations;
  schedule::Place place = schedule::Place::kRoot;
  int32_t at_stage = -1, at_loop = -1;

  bool is_computed() const { return (flags & kIsInput) == 0 && place != schedule::Place::kInlined; }
  bool has(schedule::LoopRef l) const {
    return l.id >= 0 && static_cast<size_t>(l.id) < loops.size();
  }
  const SketchLoop& loop(int32_t l) const { return loops[static_cast<size_t>(l)]; }
  void reset_loops();
};

class Sketch {
 public:
  std::vector<SketchStage> stages;
  int32_t anchor = -1;

  bool has(schedule::StageRef s) const {
    return s.id >= 0 && static_cast<size_t>(s.id) < stages.size();
  }
  const SketchStage& stage(int32_t s) const { return stages[static_cast<size_t>(s)]; }
  Result<void> apply(const schedule::Step& step);
  void settle();
};

Sketch sketch_of(const schedule::State& s, const Roles& roles);

}  // namespace tenon::cost
