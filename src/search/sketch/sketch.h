// SPDX-License-Identifier: Apache-2.0
// A sketch is the structure of a program without its numbers: a trace whose splits are open, and what annotation must
// know to fill them in. Sketches come from rules, tried stage by stage from the last to the first (Zheng et al.,
// "Ansor", section 4.1).
//
//   C = A*B  =>  3 sketches: C tiled; C.cache tiled inside the first level of C's tiles; inside the second
//
// A fused producer is not split like its reader: compute_at leaves it the part that the reader's tile needs, and only
// that is split further.
//
//   split C i [8, 16]   split C j [2, 32]   reorder ..   compute_at C.cache C j.1
//   split C.cache i [4]  (of 16)   split C.cache j [16]  (of 32)   split C.cache k [8]   reorder ..
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "schedule/trace.h"
#include "task/task.h"

namespace tenon::search {

inline constexpr size_t kNone = static_cast<size_t>(-1);

struct OpenSplit {
  size_t step;            // in Sketch::trace
  int64_t extent;         // declared, of the loop that is split
  size_t parent = kNone;  // the open split whose last factor is what is split here
  bool reduce = false;
};

// A stage with multi-level tiles, alone or inside the tiles of the stage that reads it.
struct TiledStage {
  schedule::StageId stage;
  schedule::StageId host = -1;
  size_t cache_step = kNone;        // the cache_write whose scope is free
  std::vector<size_t> host_splits;  // by axis, indices of Sketch::open; kNone: one iteration
  std::vector<size_t> splits;       // by axis
  std::vector<size_t> reduce_splits;
};

// How a stage becomes part of a GPU's program; what is not planned is a kernel with a few elements per
// thread. Annotation writes it, sizes, threads and memory included.
enum class PlanKind : uint8_t {
  kTile,       // tiles of blocks, virtual threads, threads and registers (Ansor's SSSRRSRS)
  kShare,      // threads share each sum
  kRows,       // blocks have rows, inside of which all that is reduced along them is computed
  kTransform,  // loops over small constant matrices are written out in each thread
  kInThread,   // computed by the threads that read it, for themselves
};
struct Plan {
  schedule::StageId stage;
  PlanKind kind;
  bool split = false;  // blocks share the sums of kTile and kShare; a second kernel adds up
  std::vector<schedule::LoopId> matrix =
      {};  // that kTransform writes out, once the sketch is whole
};

struct Sketch {
  schedule::Trace trace;
  schedule::State state;  // after it, with placeholders for factors
  std::vector<OpenSplit> open;
  std::vector<TiledStage> tiled;
  std::vector<schedule::StageId> caches;  // made by cache_write
  std::vector<Plan> plans;                // of GPUs, the last stage first

  // False, and nothing done, if the step is refused.
  bool add(schedule::Step step);
  // Splits a loop in 1 + `factors` parts of open size; the new loops, outermost first, none if refused.
  std::vector<schedule::LoopId> split(schedule::StageId stage, schedule::LoopId loop,
                                      size_t factors, size_t parent = kNone);
};

enum class Applies : uint8_t { kNo, kYes, kOnly };  // kOnly: no later rule is tried

struct Next {
  Sketch sketch;
  schedule::StageId stage;  // looked at next; -1: the sketch is complete
};

struct SketchRule {
  std::string_view name;
  Applies (*condition)(const Sketch& s, schedule::StageId stage);
  std::vector<Next> (*apply)(const Sketch& s,
                             schedule::StageId stage);  // none: does not fit after all
};
std::span<const SketchRule> sketch_rules(const target::Target& t);
std::span<const SketchRule> cpu_sketch_rules();
std::span<const SketchRule> gpu_sketch_rules();

// The op of the dag that the stage was made for, as the dag has it; null for inputs and for stages that steps made.
const te::ComputeOp* definition(const Sketch& s, schedule::StageId stage);

// The stage before `stage` in the order; -1 if it is the first.
schedule::StageId stage_before(const schedule::State& s, schedule::StageId stage);

// The steps that every sketch of a task begins with: the algorithm, the layouts of the edges, and those of the tensors
// inside that follow from them. `algorithm` as space::HoleKind::kAlgorithm counts; nothing: it does not fit the task.
std::optional<Sketch> start_sketch(const task::Task& t, int64_t algorithm = 0);

// All sketches of a task; `user` rules are tried before the table's (docs/adding/sketch-rule.md).
std::vector<Sketch> make_sketches(const task::Task& t, std::span<const SketchRule> user = {},
                                  int64_t algorithm = 0);

}  // namespace tenon::search
