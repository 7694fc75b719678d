// SPDX-License-Identifier: Apache-2.0
// A Stage is one tensor with the loops that compute it. Loops form a history: axes are split and fused
// into parts; `leaves` lists the parts that remain, outermost first.
//
//   axis i of 64:  split(i, [16])  =>  i.0 (4 iterations) encloses i.1 (16)
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "layout/layout.h"
#include "schedule/algorithms/algorithms.h"
#include "schedule/fields.h"
#include "te/dag.h"

namespace tenon::schedule {

using StageId = int32_t;
using LoopId = int32_t;

enum class LoopKind : uint8_t { kSpatial, kReduce };
enum class Mark : uint8_t { kNone, kParallel, kVectorize, kUnroll, kThread, kTensorize };

struct Loop {
  int64_t extent = 1;  // declared; compute_at makes the real one smaller (bounds.h)
  LoopKind kind = LoopKind::kSpatial;
  Mark mark = Mark::kNone;
  ir::ThreadTag tag = ir::ThreadTag::kNone;
  LoopId parent =
      -1;  // of a split part: the loop it came from; of a fused loop: the first of its parts
  int32_t part = -1;  // of a split part: its place, outermost 0; -1: an axis or a fused loop
  bool leaf = true;
};

enum class RelationKind : uint8_t {
  kSplit,  // parent = sum of part_j * stride_j, stride_j = product of the extents inside
  kParts,  // parent = outer*q + min(outer, rem) + inner: near-equal parts, the first rem one longer
  kFuse,   // part_j = child / stride_j mod extent_j
};

struct Relation {
  RelationKind kind;
  LoopId one;                    // the split loop, or the fused result
  std::vector<LoopId> many;      // its parts, outermost first, or the loops that were fused
  std::vector<int64_t> factors;  // kSplit: declared extents of many[1..]; kParts: {number of parts}
};

enum class Place : uint8_t { kRoot, kInlined, kAt };

struct PrefetchNote {
  StageId tensor;
  LoopId loop;
  int64_t distance;
};

struct Stage {
  StageId id = -1;
  std::string name;
  te::OpRef op;  // axes are storage dimensions, reads are storage accesses; null for an input
  ir::Buffer buffer;
  layout::Layout layout;  // logical tensor -> buffer
  ir::Expr holds;  // over op's axes: true where the layout stores an element; may be undefined
  bool zero_padding = false;  // where `holds` is false the buffer must hold zero
  bool constant = false;      // an input known at compile time
  // Of a constant: what its buffer holds instead of the tensor, of which `layout` is the layout then; may be null.
  std::shared_ptr<const WeightTransform> transform;
  double error_factor = 1;  // of rounding errors, by `variant`
  bool output = false;
  StageId stored_in = -1;  // store_at: the input whose buffer holds this one
  ir::Scope scope = ir::Scope::kGlobal;
  Place place = Place::kRoot;
  StageId at_stage = -1;  // place == kAt
  LoopId at_loop = -1;
  std::vector<Loop> loops;  // by LoopId
  std::vector<LoopId> leaves;
  std::vector<Relation> relations;
  LoopId init_at = -1;       // decompose_init; -1: right before the outermost reduction loop
  int64_t unroll_limit = 0;  // pragma_unroll
  LoopId pipelined = -1;     // pipeline; -1: none
  int64_t align_dim = -1, align_factor = 0, align_offset = 0;  // storage_align
  std::vector<PrefetchNote> prefetches;

  bool is_input() const { return op == nullptr; }
  bool has_loop(LoopId l) const { return l >= 0 && static_cast<size_t>(l) < loops.size(); }
  const Loop& loop(LoopId l) const { return loops[static_cast<size_t>(l)]; }
  Loop& loop(LoopId l) { return loops[static_cast<size_t>(l)]; }
  // Place of a leaf in `leaves`; -1 if it is none.
  int position(LoopId l) const;
  // True once a step named one of the loops.
  bool loops_touched() const;
  // "i.0.1", "i.0@j.0"; axes by the names of their variables.
  std::string loop_name(LoopId l) const;
  // The loop with this name, leaf or not; -1 if there is none.
  LoopId find_loop(std::string_view wanted) const;
};

// The loops that `op` starts with: one per axis, then one per reduction axis.
void reset_loops(Stage& s);

}  // namespace tenon::schedule
