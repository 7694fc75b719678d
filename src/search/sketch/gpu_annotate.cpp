// SPDX-License-Identifier: Apache-2.0
#include "search/sketch/gpu_annotate.h"

#include <algorithm>
#include <map>

#include "ir/build.h"
#include "ir/visit.h"
#include "schedule/primitives/set_scope.h"
#include "schedule/trace.h"
#include "search/sketch/factors.h"
#include "search/sketch/gpu_constants.h"
#include "search/sketch/gpu_holes.h"
#include "search/sketch/gpu_share.h"
#include "search/sketch/gpu_tile.h"
#include "search/sketch/stage_facts.h"
#include "search/sketch/tiles.h"
#include "te/access.h"

namespace tenon::search {
namespace {

using ir::ThreadTag;
using schedule::LoopId;
using schedule::Stage;
using schedule::StageId;
using space::Builder;
using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;

constexpr int64_t kMostMatrix = 8;           // rows of a matrix that is written out
constexpr int64_t kMostElements = 8;         // of a thread
constexpr int64_t kMostSplit = 64;           // blocks that share a sum
constexpr size_t kSplitLevel = kLevels - 1;  // of the hole, beside those of tiles

std::vector<te::Axis>::const_iterator longest_axis(const te::ComputeOp& op) {
  return std::max_element(op.reduce_axes.begin(), op.reduce_axes.end(),
                          [](const te::Axis& x, const te::Axis& y) { return x.extent < y.extent; });
}

class GpuAnnotator {
 public:
  GpuAnnotator(Builder& b, const Sketch& s) : b_(b), s_(s) {
    for (const Plan& p : s.plans) planned_.push_back(p.stage);
  }

  void run() {
    for (const Plan& p : s_.plans) {
      if (b_.refused()) return;
      write(p);
    }
    std::vector<StageId> order = b_.state().order();
    std::reverse(order.begin(), order.end());
    for (const StageId id : order) {
      if (is_free(id) && b_.now({id}).is_reduction()) write_sum({id});
    }
    for (const StageId id : order) {
      if (is_free(id)) write_elements({id}, std::nullopt);
    }
  }

 private:
  // A kernel to be, of which nothing is bound yet.
  bool is_free(StageId id) const {
    if (b_.refused()) return false;
    const Stage& st = b_.state().stage(id);
    return !st.is_input() && st.place == schedule::Place::kRoot &&
           std::none_of(st.leaves.begin(), st.leaves.end(),
                        [&](LoopId l) { return st.loop(l).mark == schedule::Mark::kThread; });
  }

  void write(const Plan& p) {
    const StageRef stage{p.stage};
    switch (p.kind) {
      case PlanKind::kTile:
      case PlanKind::kShare:
        return p.split ? write_split(stage, p.kind) : write_whole(stage, p.kind);
      case PlanKind::kRows:
        return p.stage == s_.plans.front().stage ? write_all_rows() : void();
      case PlanKind::kTransform:
        threads_[p.stage] = write_transform(stage, p.matrix);
        return;
      case PlanKind::kInThread:
        return keep_in_thread(stage);
    }
  }

  // ---- sums --------------------------------------------------------------------------------------

  struct Pair {
    StageRef out, sum;
  };

  // The sum as a stage of its own, and what its results go through.
  Pair apart(StageRef stage) {
    const StageId reader = fusible_reader(b_.state(), stage.id);
    if (reader >= 0 && is_free(reader)) return {{reader}, stage};
    return {stage, b_.cache_write(stage, ir::Scope::kLocal)};
  }

  void write_whole(StageRef stage, PlanKind kind) {
    const Pair p = apart(stage);
    write_pair(p, kind, 0);
  }

  void write_pair(const Pair& p, PlanKind kind, size_t outer) {
    if (b_.refused()) return;
    kind == PlanKind::kTile ? write_tile(b_, p.out, p.sum, outer, planned_)
                            : write_share(b_, p.out, p.sum);
  }

  // Blocks have parts of the sum along its longest axis.
  void write_split(StageRef stage, PlanKind kind) {
    const Pair p = apart(stage);
    if (b_.refused()) return;
    const te::ComputeOp& op = b_.now(p.sum);
    const auto longest = longest_axis(op);
    const Loop axis =
        b_.axis(p.sum, op.axes.size() + static_cast<size_t>(longest - op.reduce_axes.begin()));
    const Value length = b_.ask(factor_hole(p.sum.id, axis.id.id, kSplitLevel), "length",
                                Domain::of(split_lengths(op)), longest->extent / 4);
    const auto cut = b_.split<2>(axis, {length});
    const StageRef parts = b_.rfactor(cut[0], 0);
    if (b_.refused()) return;
    write_pair({parts, b_.cache_write(parts, ir::Scope::kLocal)}, kind, 1);
    write_elements(p.out, p.sum);
  }

  // By one thread each.
  void write_sum(StageRef stage) {
    if (b_.now(stage).axes.empty()) return;
    const Pair p = apart(stage);
    write_elements(p.out, p.sum);
  }

  void write_all_rows() {
    const StageRef out{s_.plans.front().stage};
    std::vector<StageRef> sums;
    size_t rows = 0;
    for (const Plan& p : s_.plans) {
      if (p.kind != PlanKind::kRows || p.stage == out.id) continue;
      sums.insert(sums.begin(), StageRef{p.stage});
      rows = row_axes(b_.dag(), *definition(s_, p.stage), *definition(s_, out.id));
    }
    write_rows(b_, out, sums, rows);
  }

  // ---- elements ----------------------------------------------------------------------------------

  std::vector<Loop> spatial_loops(StageRef stage) const {
    std::vector<Loop> out;
    for (size_t d = 0; d < b_.now(stage).axes.size(); ++d) out.push_back(b_.axis(stage, d));
    return out;
  }

  // A few elements per thread; the sum that they finish is computed there.
  void write_elements(StageRef out, std::optional<StageRef> sum) {
    if (b_.refused() || b_.now(out).axes.empty()) return;
    const bool vectors = !sum && !b_.now(out).is_reduction();
    const Loop thread = bind_loops(out, spatial_loops(out), vectors ? 4 : 1, kMostElements);
    if (!sum) return;
    b_.compute_at(*sum, thread);
    if (b_.refused()) return;
    b_.add(schedule::SetScope{*sum, ir::Scope::kRegister});
    limit_copies(b_, *sum, 64);
  }

  // Elements that lie apart by as many as there are threads, and lanes beside each other.
  Loop bind_loops(StageRef stage, const std::vector<Loop>& loops, int64_t most_lanes,
                  int64_t most_apart) {
    const target::Gpu& gpu = b_.target().gpu();
    const Loop all = b_.fuse(loops);
    const int64_t extent = b_.extent(all);
    const bool whole = b_.now(stage).axes.back().extent % most_lanes == 0;
    const Value lanes = ask_lanes(b_, stage, whole ? most_lanes : 1);
    const int64_t left = (extent + lanes - 1) / lanes;
    const int64_t least = std::min<int64_t>(gpu.warp_threads, left);
    std::vector<int64_t> sizes;
    for (int64_t t = least; t <= std::min<int64_t>(left, gpu.threads_per_block); t *= 2)
      sizes.push_back(t);
    const Value threads =
        b_.ask({HoleKind::kFactor, stage.id, 0}, "threads", Domain::of(std::move(sizes)), 128);
    const int64_t turns = std::min<int64_t>(most_apart, (left + threads - 1) / threads);
    const Value apart =
        b_.ask({HoleKind::kFactor, stage.id, 1}, "apart", powers_of_two(1, turns), 1);
    std::vector<Value> cut{apart, threads};
    if (lanes > 1) cut.push_back(lanes);
    const std::vector<Loop> parts = b_.split(all, cut);
    if (b_.refused()) return {};
    b_.bind(parts[0], ThreadTag::kBlockX);
    if (apart > 1) b_.bind(parts[1], ThreadTag::kVThread);
    b_.bind(parts[2], ThreadTag::kThreadX);
    if (lanes > 1) b_.vectorize(parts[3]);
    return parts[2];
  }

  // ---- transforms --------------------------------------------------------------------------------

  // Returns the loop of the threads, each of which has all values of the loops of the matrix.
  Loop write_transform(StageRef stage, const std::vector<LoopId>& matrix) {
    if (b_.refused()) return {};
    std::vector<Loop> outer, sums, written;
    for (const Loop& l : b_.leaves(stage)) {
      const bool is = std::find(matrix.begin(), matrix.end(), l.id.id) != matrix.end();
      const bool reduce = b_.state()[stage].loop(l.id.id).kind == schedule::LoopKind::kReduce;
      (is ? written : reduce ? sums : outer).push_back(l);
    }
    if (outer.empty()) {
      b_.refuse({.code = IllegalCode::kThreadsMissing, .stage = stage.id});
      return {};
    }
    std::vector<Loop> order = outer;
    for (const auto& more : {sums, written}) order.insert(order.end(), more.begin(), more.end());
    b_.reorder(order);
    for (const Loop& l : written) b_.unroll(l);
    return bind_loops(stage, outer, 1, 1);
  }

  void keep_in_thread(StageRef stage) {
    if (b_.refused()) return;
    const Loop thread = threads_.at(b_.state().readers(stage.id).front());
    threads_[stage.id] = thread;
    b_.compute_at(stage, thread);
    if (b_.refused()) return;
    b_.add(schedule::SetScope{stage, ir::Scope::kRegister});
    for (const Loop& l : b_.leaves(stage)) b_.unroll(l);
  }

  Builder& b_;
  const Sketch& s_;
  std::vector<StageId> planned_;
  std::map<StageId, Loop> threads_;  // of transforms and their parts
};

// Inlines whatever lies between the stage and what is stored.
void inline_all(schedule::State& s, StageId id) {
  for (bool found = true; found;) {
    found = false;
    std::vector<StageId> read;
    ir::visit_loads(s.stage(id).op->body,
                    [&](const ir::Load& l) { read.push_back(s.owner(l.buffer)); });
    for (const StageId r : read) {
      const Stage& st = s.stage(r);
      if (found || st.is_input() || st.output || st.op->is_reduction()) continue;
      const schedule::Step step = schedule::ComputeInline{{r}};
      if (s.readers(r).size() != 1 || !schedule::check(step, s)) continue;
      schedule::apply(step, s);
      found = true;
    }
  }
}

}  // namespace

void annotate_gpu(Builder& b, const Sketch& s, bool constants_in_loop_order) {
  for (const Plan& p : s.plans) {
    const bool tiled = p.kind == PlanKind::kTile;
    if (tiled && constants_in_loop_order) store_constants(b, StageRef{p.stage});
  }
  GpuAnnotator(b, s).run();
}

int64_t elements_of(const std::vector<te::Axis>& axes) {
  int64_t n = 1;
  for (const te::Axis& a : axes) n *= a.extent;
  return n;
}

size_t row_axes(const te::ComputeDag& dag, const te::ComputeOp& op, const te::ComputeOp& out) {
  const auto common = static_cast<size_t>(te::common_outer_axes(dag, op, out));
  const int64_t rows = elements_of(op.axes);
  int64_t leading = 1;
  for (size_t d = 0; d < common; ++d) {
    leading *= out.axes[d].extent;
    if (leading == rows) return d + 1;
  }
  return 0;
}

std::vector<int64_t> split_lengths(const te::ComputeOp& op) {
  const int64_t extent = longest_axis(op)->extent;
  std::vector<int64_t> lengths;
  for (const int64_t d : divisors(extent)) {
    const int64_t blocks = extent / d;
    if (d > 1 && blocks > 1 && blocks <= kMostSplit) lengths.push_back(d);
  }
  return lengths;
}

std::vector<LoopId> matrix_loops(const schedule::State& s, StageId id) {
  schedule::State whole = s;
  if (!s.stage(id).op->is_reduction()) inline_all(whole, id);
  const te::ComputeOp& op = *whole.stage(id).op;
  std::vector<te::Axis> axes = op.axes;
  axes.insert(axes.end(), op.reduce_axes.begin(), op.reduce_axes.end());
  std::vector<LoopId> loops;
  bool small = true;
  for (size_t d = 0; d < axes.size(); ++d) {
    bool chooses = false;
    ir::visit(op.body, [&](const ir::Expr& e) {
      const auto* is = e.as<ir::Binary>();
      chooses = chooses || (is != nullptr && is->op == ir::BinaryOp::kEq &&
                            is->a.same_as(axes[d].var) && ir::const_int(is->b));
    });
    if (!chooses) continue;
    loops.push_back(static_cast<LoopId>(d));
    small = small && axes[d].extent <= kMostMatrix;
  }
  return small ? loops : std::vector<LoopId>{};
}

}  // namespace tenon::search
