// SPDX-License-Identifier: Apache-2.0
#include "templates/loops.h"

#include <algorithm>

#include "ir/visit.h"
#include "te/access.h"
#include "templates/anchor.h"
#include "templates/periods.h"

namespace tenon::templates {

using space::Builder;
using space::Loop;
using space::StageRef;

namespace {

// The axis along which an operand is contiguous while the last one strides through it: square tiles
// keep both in cache.
std::optional<size_t> transposed_axis(const te::ComputeOp& op,
                                      const std::vector<te::Access>& accesses) {
  for (const te::Access& a : accesses) {
    const size_t last = op.axes.size() - 1;
    if (!a.affine || a.strides[last] <= 1) continue;
    for (size_t d = 0; d < last; ++d) {
      if (a.strides[d] == 1 && op.axes[d].extent > 1) return d;
    }
  }
  return std::nullopt;
}

// Axes that a value or a condition depends on, as in concatenation: they stay loops of their own,
// to be cut there.
std::vector<bool> used_in_values(const te::ComputeOp& op) {
  std::vector<bool> used(op.axes.size(), false);
  const ir::Expr values = ir::rewrite(op.body, [](const ir::Expr& e) {
    return e.as<ir::Load>() != nullptr ? ir::zero_of(e.dtype()) : e;
  });
  for (size_t d = 0; d < op.axes.size(); ++d) used[d] = ir::uses_var(values, op.axes[d].var.node());
  return used;
}

// Loops d and d+1 may be one when every access moves through memory as through one long dimension,
// or not at all.
bool joins(const te::ComputeOp& op, const std::vector<te::Access>& accesses, size_t d) {
  for (const te::Access& a : accesses) {
    if (!a.affine || a.strides[d] != a.strides[d + 1] * op.axes[d + 1].extent) return false;
  }
  return true;
}

// Whether each axis is one loop with the next one.
std::vector<bool> joined_axes(const te::ComputeOp& op, const std::vector<te::Access>& accesses) {
  const std::vector<bool> used = used_in_values(op);
  std::vector<bool> out(op.axes.size(), false);
  for (size_t d = 0; d + 1 < op.axes.size(); ++d) {
    out[d] = !used[d] && !used[d + 1] && joins(op, accesses, d);
  }
  return out;
}

// One loop where several join; `last` is set to the innermost axis of each.
std::vector<Loop> join_loops(Builder& b, StageRef stage, const te::ComputeOp& op,
                             const std::vector<te::Access>& accesses, std::vector<size_t>& last) {
  std::vector<Loop> out, run;
  const std::vector<bool> joined = joined_axes(op, accesses);
  for (size_t d = 0; d < op.axes.size(); ++d) {
    run.push_back(b.axis(stage, d));
    if (joined[d]) continue;
    last.push_back(d);
    out.push_back(b.fuse(run));
    run.clear();
  }
  return out;
}

int64_t product_of(const Builder& b, const std::vector<Loop>& loops) {
  int64_t n = 1;
  for (const Loop& l : loops) n *= b.extent(l);
  return n;
}

// A loop over vectors, and their lanes.
std::array<Loop, 2> cut_vectors(Builder& b, Loop loop, int64_t v) {
  const auto cut = b.split<2>(loop, {v});
  b.vectorize(cut[1]);
  return cut;
}

// Loops that walk through an operand without gaps, innermost first, while the vectors of the stage
// stride through it: a few steps of these are unrolled around the vector, so that whole lines are
// read and turned in registers.
struct Across {
  std::vector<size_t> whole;  // of the joined loops: unrolled as they are
  std::optional<size_t> cut;  // unrolled in part,
  int64_t steps = 1;          // so many steps of it
};

constexpr int64_t kFar = 4;      // strides up to here are read in one go anyway
constexpr int64_t kTurned = 16;  // most that is turned at once

// The nest of one stage.
struct Nest {
  StageRef stage;
  te::ComputeOp op;
  std::vector<te::Access> accesses;
  std::vector<Loop> loops;   // joined
  std::vector<size_t> last;  // innermost axis of each
};

// The loop, not the last one, that steps through the operand by `stride`.
std::optional<size_t> loop_by(const Builder& b, const te::Access& a, const Nest& n,
                              int64_t stride) {
  for (size_t i = 0; i + 1 < n.loops.size(); ++i) {
    if (a.strides[n.last[i]] == stride && b.extent(n.loops[i]) > 1) return i;
  }
  return std::nullopt;
}

// Steps across the vectors that read `a` without gaps; nothing if they are too few.
std::optional<Across> across_of(const Builder& b, const te::Access& a, const Nest& n) {
  Across found;
  int64_t reached = 1;
  while (reached < kTurned && !found.cut) {
    const auto i = loop_by(b, a, n, reached);
    if (!i) break;
    const int64_t extent = b.extent(n.loops[*i]);
    if (reached * extent <= kTurned) {
      found.whole.push_back(*i);
      reached *= extent;
      continue;
    }
    while (found.steps * 2 * reached <= kTurned && extent % (found.steps * 2) == 0)
      found.steps *= 2;
    if (found.steps == 1) break;
    found.cut = i;
    reached *= found.steps;
  }
  if (reached < kFar) return std::nullopt;
  return found;
}

std::optional<Across> find_across(const Builder& b, const Nest& n) {
  for (const te::Access& a : n.accesses) {
    if (!a.affine || a.tensor.dtype().bytes() != 4 || a.strides[n.last.back()] <= kFar) continue;
    if (auto found = across_of(b, a, n)) return found;
  }
  return std::nullopt;
}

// Vectors of the last loop, the steps across them unrolled, everything else outside.
void turn_tiles(Builder& b, const Nest& n, const Across& across, int64_t v) {
  const int64_t work = product_of(b, n.loops);
  const auto [inner, lanes] = cut_vectors(b, n.loops.back(), v);
  std::vector<Loop> outer, unrolled;
  for (size_t i = 0; i + 1 < n.loops.size(); ++i) {
    if (std::find(across.whole.begin(), across.whole.end(), i) != across.whole.end()) continue;
    if (across.cut == i) {
      const auto [cut, steps] = b.split<2>(n.loops[i], {across.steps});
      outer.push_back(cut);
      unrolled.push_back(steps);
    } else {
      outer.push_back(n.loops[i]);
    }
  }
  outer.push_back(inner);
  for (auto i = across.whole.rbegin(); i != across.whole.rend(); ++i)
    unrolled.push_back(n.loops[*i]);
  std::vector<Loop> order = outer;
  order.insert(order.end(), unrolled.begin(), unrolled.end());
  order.push_back(lanes);
  b.reorder(order);
  for (const Loop& l : unrolled) b.unroll(l);
  deal_out(b, outer, work / v);
}

// A long single loop is dealt out in blocks that one core walks through on its own.
void cut_blocks(Builder& b, Loop loop, int64_t v, int64_t work) {
  const int64_t block = b.target().cpu().parallel_vectors;
  const auto [blocks, vectors, lanes] = b.split<3>(loop, {block, v});
  b.vectorize(lanes);
  deal_out(b, {blocks}, work, {arith::ceil_div(work, block)});
}

// Tiles of v steps of loop `at` and vectors of `inner`, everything else outside.
void square_tiles(Builder& b, const std::vector<Loop>& loops, size_t at, Loop inner, Loop lanes,
                  int64_t v, int64_t work) {
  std::vector<Loop> order;
  for (size_t d = 0; d < loops.size(); ++d) {
    if (d != at) order.push_back(loops[d]);
  }
  Loop steps = loops[at];
  if (b.extent(steps) > v) {  // not short enough to stay as it is
    const auto [outer, rest] = b.split<2>(steps, {v});
    order.push_back(outer);
    steps = rest;
  }
  order.push_back(inner);
  std::vector<Loop> all = order;
  all.insert(all.end(), {steps, lanes});
  b.reorder(all);
  deal_out(b, order, work);
}

// Vectors of the last loop; `loops` are the others.
void cut_last(Builder& b, const Nest& n, std::vector<Loop> loops, int64_t v, int64_t work) {
  if (const int64_t beside = vectors_of_period(n.op, v); beside > 1) {
    const auto [inner, vectors, lanes] = b.split<3>(n.loops.back(), {beside, v});
    b.unroll(vectors);
    b.vectorize(lanes);
    loops.push_back(inner);
    return deal_out(b, loops, work);
  }
  const auto [inner, lanes] = cut_vectors(b, n.loops.back(), v);
  if (const auto axis = transposed_axis(n.op, n.accesses)) {
    const auto at = std::find(loops.begin(), loops.end(), b.axis(n.stage, *axis));
    if (at != loops.end())
      return square_tiles(b, loops, static_cast<size_t>(at - loops.begin()), inner, lanes, v, work);
  }
  loops.push_back(inner);
  deal_out(b, loops, work);
}

}  // namespace

void deal_out(Builder& b, const std::vector<Loop>& loops, int64_t work,
              const std::vector<int64_t>& extents) {
  const int cores = b.target().cpu().cores;
  if (cores < 2 || work < b.target().cpu().parallel_vectors) return;
  std::vector<Loop> taken;
  int64_t pieces = 1;
  for (size_t i = 0; i < loops.size() && balance(pieces, cores) < 0.9; ++i) {
    taken.push_back(loops[i]);
    pieces *= extents.empty() ? b.extent(loops[i]) : extents[i];
  }
  if (pieces >= 2) b.parallel(b.fuse(taken));
}

int64_t storage_lanes(const Builder& b, StageRef stage) {
  const te::ComputeOp& op = b.now(stage);
  if (op.axes.empty()) return 1;
  const std::vector<bool> joined = joined_axes(op, te::accesses(op));
  int64_t extent = op.axes.back().extent;
  for (size_t d = op.axes.size() - 1; d > 0 && joined[d - 1]; --d) extent *= op.axes[d - 1].extent;
  int64_t v = std::min<int64_t>(b.target().cpu().lanes(op.output.dtype().bytes()), 64);
  while (v > extent) v /= 2;
  return std::max<int64_t>(v, 1);
}

void loop_over_storage(Builder& b, StageRef stage, int64_t most) {
  if (b.refused()) return;
  Nest n{stage, b.now(stage), {}, {}, {}};
  if (n.op.axes.empty()) return;
  n.accesses = te::accesses(n.op);
  const int64_t v = std::min(storage_lanes(b, stage), most);
  n.loops = join_loops(b, stage, n.op, n.accesses, n.last);
  const int64_t extent = b.extent(n.loops.back());
  if (const auto across = find_across(b, n); across && v >= kFar && extent % v == 0)
    return turn_tiles(b, n, *across, v);
  const std::vector<Loop> others(n.loops.begin(), n.loops.end() - 1);
  const int64_t work = arith::ceil_div(extent, v) * product_of(b, others);
  if (v < 2) return deal_out(b, others, work);
  if (others.empty() && extent >= 16 * b.target().cpu().parallel_vectors)
    return cut_blocks(b, n.loops.back(), v, work);
  cut_last(b, n, others, v, work);
}

void store_by_phases(Builder& b, StageRef copy, int64_t stride) {
  if (b.refused() || stride < 2 || stride > kFar) return;
  const auto last = static_cast<int64_t>(b.now(copy).axes.size() - 1);
  b.layout_split(copy, last, {arith::ceil_div(b.now(copy).axes.back().extent, stride), stride});
  std::vector<int64_t> order;
  for (int64_t d = 0; d < last; ++d) order.push_back(d);
  order.insert(order.end(), {last + 1, last});
  b.layout_reorder(copy, order);
}

void copy_by_vectors(Builder& b, StageRef copy, int64_t stride, int64_t v) {
  if (b.refused()) return;
  const size_t last = b.now(copy).axes.size() - 1;
  const Loop row = b.axis(copy, last);
  while (v > b.extent(row)) v /= 2;
  const auto [vectors, lanes] = cut_vectors(b, row, v);
  if (stride < 2 || stride > kFar) return;
  const Loop phase = b.axis(copy, last - 1);
  b.reorder({vectors, phase, lanes});
  b.unroll(phase);
}

void loop_by_vectors(Builder& b, StageRef stage) {
  if (b.refused()) return;
  const size_t rank = b.now(stage).axes.size();
  if (rank == 0) return;
  const int64_t v = b.target().cpu().lanes(4);
  std::vector<Loop> loops;
  for (size_t d = 0; d < rank; ++d) loops.push_back(b.axis(stage, d));
  const int64_t work = product_of(b, loops);
  const Loop last = loops.back();
  loops.pop_back();
  if (b.extent(last) > v) {
    loops.push_back(cut_vectors(b, last, v)[0]);
  } else if (b.extent(last) > 1) {
    b.vectorize(last);
  }
  deal_out(b, loops, work / v);
}

}  // namespace tenon::templates
