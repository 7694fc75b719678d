// SPDX-License-Identifier: Apache-2.0
#include "search/sketch/gpu_tile.h"

#include <algorithm>
#include <numeric>

#include "arith/linear.h"
#include "ir/visit.h"
#include "schedule/primitives/set_scope.h"
#include "search/sketch/factors.h"
#include "search/sketch/find_step.h"
#include "search/sketch/gpu_constants.h"
#include "search/sketch/gpu_holes.h"
#include "search/sketch/tiles.h"
#include "te/access.h"

namespace tenon::search {
namespace {

using space::Builder;
using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;

constexpr int64_t kMostInner = 16;                       // elements of a thread along one axis
constexpr int64_t kMostDepth = 64;                       // of the sums between two barriers
constexpr int64_t kLanes = 4;                            // that are moved at once
enum Switch : int32_t { kShared, kPipelined, kPadded };  // HoleId::number of switches

// Sizes of tiles along one axis of the result.
struct AxisTile {
  Value inner = 1, threads = 1, virtuals = 1;
  bool cut = false;
};

class Writer {
 public:
  Writer(Builder& b, StageRef out, StageRef sum, size_t outer,
         std::span<const schedule::StageId> kept)
      : b_(b), out_(out), sum_(sum), kept_(kept), axes_(b.now(out).axes), tiles_(axes_.size()) {
    for (size_t d = outer; d < axes_.size(); ++d) {
      tiles_[d].cut = axes_[d].extent > 1 && !is_batch_axis(b.now(sum), d);
    }
    whole_ = std::min<int64_t>(b.target().gpu().warp_threads, most_threads_beside(axes_.size()));
  }

  void run() {
    ask_tiles();
    const Loop thread = cut_result();
    b_.compute_at(sum_, thread);
    if (b_.refused()) return;
    b_.add(schedule::SetScope{sum_, ir::Scope::kRegister});
    const Loop steps = cut_sum();
    limit_copies(b_, sum_, 512);
    fetch_operands(steps);
  }

 private:
  // ---- the result --------------------------------------------------------------------------------

  void ask_tiles() {
    const target::Gpu& gpu = b_.target().gpu();
    int64_t room = gpu.registers_per_thread / 2;  // the others are for operands and indices
    int64_t virtuals = gpu.warp_threads / 4;
    int64_t rank = 0;  // of the axis, the last one first
    for (size_t d = axes_.size(); d-- > 0;) {
      if (!tiles_[d].cut) continue;
      tiles_[d].inner = ask_inner(d, std::min(room, kMostInner), rank++ < 2 ? 4 : 1);
      room /= tiles_[d].inner;
    }
    ask_threads(room < 2 ? gpu.registers_per_multiprocessor / gpu.registers_per_thread
                         : gpu.threads_per_block);
    for (size_t d = axes_.size(); d-- > 0;) {
      if (!tiles_[d].cut) continue;
      const int64_t inside = tiles_[d].inner * tiles_[d].threads;
      const Domain domain = tile_sizes(axes_[d].extent, inside, std::min(room, virtuals));
      tiles_[d].virtuals = ask(d, 2, "virtual", domain, inside, 1);
      room /= tiles_[d].virtuals;
      virtuals /= tiles_[d].virtuals;
    }
  }

  Value ask(size_t d, size_t inside, const char* name, const Domain& domain, int64_t below,
            int64_t rule) {
    const auto weights = [&](const Domain& v) { return tile_weights(v, axes_[d].extent, below); };
    return b_.ask(factor_hole(out_.id, static_cast<schedule::LoopId>(d), inside), name, domain,
                  rule, weights);
  }

  // Threads come in warps, as far as the result has so many elements: `whole_` divides their number.
  static int64_t power_below(int64_t n) {
    int64_t p = 1;
    while (p * 2 <= n) p *= 2;
    return p;
  }
  // The largest power of two that the threads along an axis can be.
  int64_t most_threads(size_t d, int64_t inner) const {
    return tiles_[d].cut ? power_below((axes_[d].extent + inner - 1) / inner) : 1;
  }
  int64_t most_threads_beside(size_t axis) const {
    int64_t n = 1;
    for (size_t d = 0; d < axes_.size(); ++d) n *= d == axis ? 1 : most_threads(d, tiles_[d].inner);
    return n;
  }

  // Leaves enough for the threads.
  Value ask_inner(size_t d, int64_t most, int64_t rule) {
    const int64_t others = most_threads_beside(d);
    const Domain domain = only(tile_sizes(axes_[d].extent, 1, most), [&](int64_t n) {
      return others * most_threads(d, n) % whole_ == 0;
    });
    return ask(d, 0, "inner", domain, 1, rule);
  }

  void ask_threads(int64_t most) {
    int64_t rank = 0;
    int64_t rest = most_threads_beside(axes_.size());
    for (size_t d = axes_.size(); d-- > 0;) {
      if (!tiles_[d].cut) continue;
      const int64_t extent = axes_[d].extent, below = tiles_[d].inner;
      rest /= most_threads(d, below);
      const Domain domain = only(tile_sizes(extent, below, most / threads_), [&](int64_t n) {
        const int64_t missing = whole_ / std::gcd(whole_, threads_ * n);
        return rest % missing == 0 && threads_ * n * missing <= most;
      });
      tiles_[d].threads = ask(d, 1, "threads", domain, below, rank++ == 0 ? 16 : 8);
      threads_ *= tiles_[d].threads;
    }
  }

  // Returns the loop of the threads.
  Loop cut_result() {
    if (b_.refused()) return {};
    std::vector<Loop> blocks, virtuals, threads, inner;
    for (size_t d = 0; d < axes_.size(); ++d) {
      const AxisTile& t = tiles_[d];
      if (!t.cut) {
        blocks.push_back(b_.axis(out_, d));
        continue;
      }
      const auto l = b_.split<4>(b_.axis(out_, d), {t.virtuals, t.threads, t.inner});
      blocks.push_back(l[0]);
      virtuals.push_back(l[1]);
      threads.push_back(l[2]);
      inner.push_back(l[3]);
    }
    if (threads.empty()) b_.refuse({.code = IllegalCode::kThreadsMissing, .stage = out_.id});
    if (b_.refused()) return {};
    std::vector<Loop> order = blocks;
    for (const auto& more : {virtuals, threads, inner})
      order.insert(order.end(), more.begin(), more.end());
    b_.reorder(order);
    b_.bind(b_.fuse(blocks), ir::ThreadTag::kBlockX);
    for (const Loop& l : virtuals) {
      if (b_.extent(l) > 1) b_.bind(l, ir::ThreadTag::kVThread);
    }
    const Loop thread = b_.fuse(threads);
    b_.bind(thread, ir::ThreadTag::kThreadX);
    write_inner(inner);
    return thread;
  }

  // Registers are named by constants; neighbours go to memory together.
  void write_inner(const std::vector<Loop>& inner) {
    for (size_t i = 0; i + 1 < inner.size(); ++i) b_.unroll(inner[i]);
    const int64_t size = b_.extent(inner.back()), extent = axes_.back().extent;
    const bool whole = tiles_.back().cut && size % kLanes == 0 && extent % kLanes == 0;
    const Value lanes = ask_lanes(b_, out_, whole ? kLanes : 1);
    if (lanes == 1) return b_.unroll(inner.back());
    const auto [outside, vector] = b_.split<2>(inner.back(), {lanes});
    b_.unroll(outside);
    b_.vectorize(vector);
  }

  // ---- the sums ----------------------------------------------------------------------------------

  // Returns the loop of the steps between which operands are fetched.
  Loop cut_sum() {
    if (b_.refused()) return {};
    std::vector<Loop> steps, deep, outer, innermost, inner;
    const size_t rank = axes_.size();
    for (size_t d = 0; d < rank; ++d) {
      const Loop axis = b_.axis(sum_, d);
      if (!tiles_[d].cut || tiles_[d].inner == 1) {
        outer.push_back(axis);
        continue;
      }
      const Domain sizes = Domain::divisors(tiles_[d].inner, tiles_[d].inner);
      const Value size =
          b_.ask(factor_hole(sum_.id, axis.id.id, 0), "inner tile", sizes, tiles_[d].inner);
      const auto [o, i] = b_.split<2>(axis, {size});
      outer.push_back(o);
      inner.push_back(i);
    }
    int64_t room = kMostDepth;
    for (size_t r = b_.now(sum_).reduce_axes.size(); r-- > 0;) {
      const Loop axis = b_.axis(sum_, rank + r);
      if (b_.extent(axis) == 1) {
        steps.insert(steps.begin(), axis);
        continue;
      }
      const auto l = cut_reduction(axis, room);
      steps.insert(steps.begin(), l[0]);
      deep.insert(deep.begin(), l[1]);
      innermost.insert(innermost.begin(), l[2]);
    }
    if (b_.refused()) return {};
    std::vector<Loop> order = steps;
    for (const auto& more : {deep, outer, innermost, inner})
      order.insert(order.end(), more.begin(), more.end());
    b_.reorder(order);
    for (const auto& spatial : {outer, inner}) {
      for (const Loop& l : spatial) b_.unroll(l);
    }
    return b_.fuse(steps);
  }

  std::array<Loop, 3> cut_reduction(Loop axis, int64_t& room) {
    const int64_t extent = b_.extent(axis);
    const auto weights = [](const Domain& d) { return std::vector<double>(d.size(), 1); };
    const Value low = b_.ask(factor_hole(sum_.id, axis.id.id, 0), "innermost",
                             Domain::divisors(extent, std::min(room, kMostInner)), 1, weights);
    room /= low;
    const int64_t left = extent / low;
    const Value high = b_.ask(factor_hole(sum_.id, axis.id.id, 1), "depth",
                              Domain::divisors(left, room), std::min<int64_t>(16, left), weights);
    room /= high;
    return b_.split<3>(axis, {high, low});
  }

  // ---- operands ----------------------------------------------------------------------------------

  void fetch_operands(Loop steps) {
    if (b_.refused()) return;
    std::vector<StageRef> operands;
    ir::visit_loads(b_.now(sum_).body, [&](const ir::Load& l) {
      const StageRef s{b_.state().owner(l.buffer)};
      if (std::find(operands.begin(), operands.end(), s) == operands.end()) operands.push_back(s);
    });
    std::vector<StageRef> fetched;
    for (const StageRef o : operands) {
      if (const auto copy = place(o, steps)) fetched.push_back(*copy);
    }
    if (b_.refused() || fetched.empty()) return;
    pipeline(steps);
    for (const StageRef f : fetched) fetch(f);
  }

  // Computed where the sum reads it, by all threads together: itself, if nobody else needs it.
  bool is_movable(StageRef o) const {
    const schedule::Stage& st = b_.state()[o];
    return !st.is_input() && !st.output && !st.op->is_reduction() &&
           st.place == schedule::Place::kRoot && !st.loops_touched() &&
           b_.state().readers(o.id).size() == 1 &&
           std::find(kept_.begin(), kept_.end(), o.id) == kept_.end();
  }

  // Returns the stage that is fetched into shared memory, if any is.
  std::optional<StageRef> place(StageRef o, Loop steps) {
    if (b_.refused() || b_.state()[o].place == schedule::Place::kAt) return std::nullopt;
    const bool movable = is_movable(o);
    const auto read = [&](const schedule::Trace& trace) -> std::optional<int64_t> {
      const auto of = [&](const auto& step) { return step.stage == o; };
      return movable ? find_step<schedule::ComputeInline>(trace, of) == nullptr
                     : find_step<schedule::CacheRead>(trace, of) != nullptr;
    };
    const auto weights = [](const Domain&) { return std::vector<double>{0.2, 0.8}; };
    const Value shared =
        b_.ask({HoleKind::kSwitch, o.id, kShared}, "shared", Domain::range(0, 1), 1, weights, read);
    if (shared == 0) {
      if (movable) b_.compute_inline(o);
      return std::nullopt;
    }
    const StageRef copy = movable ? o : b_.cache_read(o, {sum_}, ir::Scope::kShared);
    b_.compute_shared(copy, steps);
    return copy;
  }

  void pipeline(Loop steps) {
    if (b_.extent(steps) < 2) return;
    const auto read = [&](const schedule::Trace& trace) -> std::optional<int64_t> {
      return find_step<schedule::Pipeline>(trace, [&](const auto& p) { return p.stage == sum_; }) !=
             nullptr;
    };
    const Value ahead = b_.ask({HoleKind::kSwitch, sum_.id, kPipelined}, "pipeline",
                               Domain::range(0, 1), 1, nullptr, read);
    if (ahead == 1) b_.add(schedule::Pipeline{steps.stage, steps.id});
  }

  // All threads take an element, or a few neighbours, in turns.
  void fetch(StageRef stage) {
    if (b_.refused()) return;
    std::vector<Loop> loops;
    for (size_t d = 0; d < b_.now(stage).axes.size(); ++d) loops.push_back(b_.axis(stage, d));
    const Value lanes = ask_lanes(b_, stage, lanes_of(stage));
    const Loop all = b_.fuse(loops);
    std::vector<Value> cut{std::min(threads_, b_.extent(all))};
    if (lanes > 1) cut.push_back(lanes);
    const std::vector<Loop> parts = b_.split(all, cut);
    if (b_.refused()) return;
    pad_rows(stage);
    b_.limit_unrolling(stage, 32);
    b_.bind(parts[1], ir::ThreadTag::kThreadX);
    if (lanes > 1) b_.vectorize(parts[2]);
  }

  // Rows that begin in another bank each, so that threads can read down a column.
  void pad_rows(StageRef stage) {
    const auto rank = static_cast<int64_t>(b_.now(stage).axes.size());
    if (rank < 2) return;
    const auto read = [&](const schedule::Trace& trace) -> std::optional<int64_t> {
      return find_step<schedule::StorageAlign>(
                 trace, [&](const auto& s) { return s.stage == stage; }) != nullptr;
    };
    const auto weights = [](const Domain&) { return std::vector<double>{0.7, 0.3}; };
    const Value padded = b_.ask({HoleKind::kSwitch, stage.id, kPadded}, "padded",
                                Domain::range(0, 1), 0, weights, read);
    if (padded == 1) b_.storage_align(stage, rank - 2, b_.target().gpu().warp_threads, kLanes);
  }

  // Neighbours that a box has in all of its rows.
  int64_t lanes_of(StageRef stage) const {
    const auto bounds = schedule::infer_bounds(b_.state(), stage.id, schedule::BoundsFor::kSearch);
    if (!bounds) return 1;
    const auto& axes = bounds->stages[static_cast<size_t>(stage.id)].axes;
    const bool whole = !axes.empty() && axes.back().extent % kLanes == 0 &&
                       b_.now(stage).axes.back().extent % kLanes == 0;
    return whole ? kLanes : 1;
  }

  Builder& b_;
  StageRef out_, sum_;
  std::span<const schedule::StageId> kept_;
  std::vector<te::Axis> axes_;
  std::vector<AxisTile> tiles_;
  int64_t threads_ = 1;
  int64_t whole_ = 1;  // a warp, or less where the result is smaller
};

}  // namespace

void write_tile(Builder& b, StageRef out, StageRef sum, size_t outer,
                std::span<const schedule::StageId> kept) {
  if (!b.refused()) Writer(b, out, sum, outer, kept).run();
}

}  // namespace tenon::search
