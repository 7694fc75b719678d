// SPDX-License-Identifier: Apache-2.0
// Ansor's rules for CPUs, in the order in which they are tried.
#include <algorithm>

#include "ir/visit.h"
#include "search/sketch/sketch.h"
#include "search/sketch/stage_facts.h"
#include "te/access.h"

namespace tenon::search {
namespace {

using schedule::LoopId;
using schedule::LoopKind;
using schedule::LoopRef;
using schedule::Stage;
using schedule::StageId;
using schedule::StageRef;

// Spatial and reduction levels, outermost first.
constexpr std::string_view kStructure = "SSRSRS";
constexpr int64_t kMaxUnrolledAxis = 8;

// Judged by its definition: how tensors are stored makes no op more expensive to repeat.
bool is_inlinable(const Sketch& s, StageId id) {
  const te::ComputeOp* op = definition(s, id);
  return te::is_strictly_inlinable(op != nullptr ? *op : *s.state.stage(id).op);
}

bool is_cache(const Sketch& s, StageId id) {
  return std::find(s.caches.begin(), s.caches.end(), id) != s.caches.end();
}

// ---- inline ------------------------------------------------------------------------------------

Applies may_inline(const Sketch& s, StageId id) {
  const bool can = is_computed(s, id) && !s.state.stage(id).output && is_inlinable(s, id);
  return can ? Applies::kOnly : Applies::kNo;
}

std::vector<Next> inline_stage(const Sketch& s, StageId id) {
  Sketch next = s;
  if (!next.add(schedule::ComputeInline{StageRef{id}})) return {};
  return {after(std::move(next), id)};
}

// ---- constant tensors --------------------------------------------------------------------------

// Axes that appear in conditions: unrolled, they leave only the elements of the constant that are not zero.
std::vector<LoopId> condition_loops(const te::ComputeOp& op) {
  std::vector<LoopId> loops;
  std::vector<te::Axis> axes = op.axes;
  axes.insert(axes.end(), op.reduce_axes.begin(), op.reduce_axes.end());
  for (size_t i = 0; i < axes.size(); ++i) {
    bool used = false;
    ir::visit(op.body, [&](const ir::Expr& e) {
      const auto* select = e.as<ir::Select>();
      used = used || (select != nullptr && ir::uses_var(select->condition, axes[i].var.node()));
    });
    if (used) loops.push_back(static_cast<LoopId>(i));
  }
  return loops;
}

// A sum of elements times a small matrix that is written out as conditions over few indices (Winograd's transforms).
Applies has_constant_tensor(const Sketch& s, StageId id) {
  if (!is_computed(s, id) || !s.state.stage(id).op->is_reduction()) return Applies::kNo;
  const Stage& st = s.state.stage(id);
  const std::vector<LoopId> loops = condition_loops(*st.op);
  bool reduces = false;
  for (const LoopId l : loops) {
    if (st.loop(l).extent > kMaxUnrolledAxis) return Applies::kNo;
    reduces |= st.loop(l).kind == LoopKind::kReduce;
  }
  return reduces ? Applies::kOnly : Applies::kNo;
}

std::vector<Next> unroll_constants(const Sketch& s, StageId id) {
  Sketch next = s;
  std::vector<LoopId> unrolled = condition_loops(*s.state.stage(id).op);
  std::vector<LoopId> outer, inner;
  for (const LoopId l : s.state.stage(id).leaves) {
    if (std::find(unrolled.begin(), unrolled.end(), l) != unrolled.end()) continue;
    const bool spatial = s.state.stage(id).loop(l).kind == LoopKind::kSpatial;
    const auto parts = spatial ? next.split(id, l, 1) : std::vector<LoopId>{l};
    if (parts.empty()) return {};
    outer.push_back(parts[0]);
    if (spatial) inner.push_back(parts[1]);
  }
  std::vector<LoopRef> order;
  for (const std::vector<LoopId>* list : {&outer, &inner, &unrolled}) {
    for (const LoopId l : *list) order.push_back({l});
  }
  if (!next.add(schedule::Reorder{StageRef{id}, order})) return {};
  for (const LoopId l : unrolled) {
    if (!next.add(schedule::Unroll{StageRef{id}, LoopRef{l}})) return {};
  }
  return {after(std::move(next), id)};
}

// ---- rfactor -----------------------------------------------------------------------------------

Applies needs_factor(const Sketch& s, StageId id) {
  if (!is_computed(s, id) || is_cache(s, id)) return Applies::kNo;
  const Stage& st = s.state.stage(id);
  const bool needs =
      st.op->is_reduction() && te::needs_rfactor(*st.op, s.state.target().cpu().cores);
  return needs ? Applies::kYes : Applies::kNo;
}

// The outer part as an axis of its own, to run in parallel, or the inner part as the last axis, to run in lanes.
std::vector<Next> factor_reduction(const Sketch& s, StageId id) {
  std::vector<Next> out;
  for (const bool inner : {false, true}) {
    Sketch next = s;
    const size_t rank = s.state.stage(id).op->axes.size();
    std::vector<LoopRef> reduce;
    for (size_t i = rank; i < s.state.stage(id).loops.size(); ++i)
      reduce.push_back({static_cast<LoopId>(i)});
    LoopId whole = reduce[0].id;
    if (reduce.size() > 1) {
      if (!next.add(schedule::Fuse{StageRef{id}, reduce})) continue;
      whole = static_cast<LoopId>(next.state.stage(id).loops.size()) - 1;
    }
    const auto parts = next.split(id, whole, 1);
    const int64_t axis = inner ? static_cast<int64_t>(rank) : 0;
    if (parts.empty() ||
        !next.add(schedule::Rfactor{StageRef{id}, LoopRef{parts[inner ? 1 : 0]}, axis})) {
      continue;
    }
    const StageId rf = stage_before(next.state, id);
    const auto lanes = static_cast<LoopId>(rank);
    if (inner && !next.add(schedule::Reorder{StageRef{rf}, {LoopRef{lanes + 1}, LoopRef{lanes}}}))
      continue;
    out.push_back(after(std::move(next), rf));
  }
  return out;
}

// ---- cache write -------------------------------------------------------------------------------

Applies may_cache(const Sketch& s, StageId id) {
  return needs_tiling(s, id) && fusible_reader(s.state, id) < 0 ? Applies::kYes : Applies::kNo;
}

std::vector<Next> cache_result(const Sketch& s, StageId id) {
  Sketch next = s;
  if (!next.add(schedule::CacheWrite{StageRef{id}, ir::Scope::kLocal})) return {};
  const StageId cache = stage_before(next.state, id);
  next.caches.push_back(cache);
  return {Next{std::move(next), cache}};
}

// ---- tiling ------------------------------------------------------------------------------------

// The loops of a stage by level, and the order that puts the levels one after the other.
struct Levels {
  std::vector<std::vector<LoopId>> spatial, reduce;  // by level
  std::vector<LoopId> single, single_reduce;         // of one iteration
};

// Splits the axes in `parts` and the reductions in two, both by open factors. `parents` as in TiledStage::host_splits.
bool split_axes(Sketch& s, StageId id, size_t parts, const std::vector<size_t>& parents,
                TiledStage* tiled, Levels* levels) {
  const std::vector<LoopId> leaves = s.state.stage(id).leaves;
  const size_t rank = s.state.stage(id).op->axes.size();
  levels->spatial.resize(parts);
  levels->reduce.resize(2);
  for (const LoopId l : leaves) {
    const schedule::Loop loop = s.state.stage(id).loop(l);
    const bool reduce = loop.kind == LoopKind::kReduce;
    auto& splits = reduce ? tiled->reduce_splits : tiled->splits;
    splits.push_back(kNone);
    if (loop.extent == 1 || (!reduce && parts == 1)) {
      (reduce ? levels->single_reduce : levels->single).push_back(l);
      continue;
    }
    const size_t axis = static_cast<size_t>(l);
    const size_t parent = !reduce && axis < rank && !parents.empty() ? parents[axis] : kNone;
    const auto made = s.split(id, l, reduce ? 1 : parts - 1, parent);
    if (made.empty()) return false;
    splits.back() = s.open.size() - 1;
    auto& by_level = reduce ? levels->reduce : levels->spatial;
    for (size_t i = 0; i < made.size(); ++i) by_level[i].push_back(made[i]);
  }
  return true;
}

bool order_levels(Sketch& s, StageId id, const Levels& levels, std::string_view structure) {
  std::vector<LoopRef> order;
  const auto append = [&](const std::vector<LoopId>& loops) {
    for (const LoopId l : loops) order.push_back({l});
  };
  append(levels.single);
  size_t spatial = 0;
  size_t reduce = 0;
  for (const char c : structure) {
    if (c == 'R' && reduce == 0) append(levels.single_reduce);
    append(c == 'S' ? levels.spatial[spatial++] : levels.reduce[reduce++]);
  }
  return order.empty() || s.add(schedule::Reorder{StageRef{id}, order});
}

Applies may_tile(const Sketch& s, StageId id) {
  return needs_tiling(s, id) ? Applies::kOnly : Applies::kNo;
}

std::vector<Next> tile(const Sketch& s, StageId id) {
  Sketch next = s;
  TiledStage tiled{id, -1, kNone, {}, {}, {}};
  Levels levels;
  if (!split_axes(next, id, 4, {}, &tiled, &levels) || !order_levels(next, id, levels, kStructure))
    return {};
  next.tiled.push_back(tiled);
  return {after(std::move(next), id)};
}

Applies may_fuse(const Sketch& s, StageId id) {
  if (!needs_tiling(s, id)) return Applies::kNo;
  const StageId reader = fusible_reader(s.state, id);
  if (reader < 0 || s.state.stage(reader).loops_touched()) return Applies::kNo;
  return is_cache(s, id) ? Applies::kOnly : Applies::kYes;
}

// The reader's axes in level + 1 parts; the loop inside which the stage belongs, -1 if that is not possible.
LoopId tile_reader(Sketch& s, StageId reader, size_t level, TiledStage* tiled) {
  TiledStage host{reader, -1, kNone, {}, {}, {}};
  Levels levels;
  if (!split_axes(s, reader, level + 1, {}, &host, &levels)) return -1;
  if (levels.spatial[0].empty()) return -1;
  if (!order_levels(s, reader, levels, std::string(level + 1, 'S'))) return -1;
  tiled->host_splits = host.splits;
  return levels.spatial[level - 1].back();
}

// A stage that is not a cache yet becomes one, so that annotation may hold it in registers; what remains is inlined.
StageId as_cache(Sketch& s, StageId id, size_t* cache_step) {
  if (is_cache(s, id)) {
    for (size_t i = 0; i < s.trace.size(); ++i) {
      if (std::holds_alternative<schedule::CacheWrite>(s.trace[i])) *cache_step = i;
    }
    return id;
  }
  if (!s.add(schedule::CacheWrite{StageRef{id}, ir::Scope::kLocal})) return -1;
  *cache_step = s.trace.size() - 1;
  if (!s.add(schedule::ComputeInline{StageRef{id}})) return -1;
  const StageId cache = stage_before(s.state, id);
  s.caches.push_back(cache);
  return cache;
}

std::vector<Next> tile_and_fuse(const Sketch& s, StageId id) {
  std::vector<Next> out;
  for (const size_t level : {size_t{1}, size_t{2}}) {
    Sketch next = s;
    TiledStage tiled{id, fusible_reader(s.state, id), kNone, {}, {}, {}};
    tiled.stage = as_cache(next, id, &tiled.cache_step);
    if (tiled.stage < 0) continue;
    const LoopId at = tile_reader(next, tiled.host, level, &tiled);
    if (at < 0 ||
        !next.add(schedule::ComputeAt{StageRef{tiled.stage}, StageRef{tiled.host}, LoopRef{at}})) {
      continue;
    }
    Levels levels;
    const size_t parts = 4 - level;
    if (!split_axes(next, tiled.stage, parts, tiled.host_splits, &tiled, &levels) ||
        !order_levels(next, tiled.stage, levels, kStructure.substr(level))) {
      continue;
    }
    const StageId stage = tiled.stage;
    next.tiled.push_back(std::move(tiled));
    out.push_back(after(std::move(next), stage));
  }
  return out;
}

// ---- skip --------------------------------------------------------------------------------------

Applies always(const Sketch&, StageId) { return Applies::kYes; }
std::vector<Next> skip(const Sketch& s, StageId id) { return {after(s, id)}; }

constexpr SketchRule kRules[] = {
    {"inline", may_inline, inline_stage},
    {"const_tensor", has_constant_tensor, unroll_constants},
    {"rfactor", needs_factor, factor_reduction},
    {"cache_write", may_cache, cache_result},
    {"tile_and_fuse", may_fuse, tile_and_fuse},
    {"tile", may_tile, tile},
    {"skip", always, skip},
};

}  // namespace

std::span<const SketchRule> cpu_sketch_rules() { return kRules; }

}  // namespace tenon::search
