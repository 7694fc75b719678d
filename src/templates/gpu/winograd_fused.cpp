// SPDX-License-Identifier: Apache-2.0
#include "templates/gpu/winograd_fused.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "arith/linear.h"
#include "ir/visit.h"
#include "schedule/algorithms/winograd.h"
#include "schedule/primitives/pipeline.h"
#include "schedule/primitives/set_scope.h"
#include "templates/gpu/kernels.h"
#include "templates/gpu/tile.h"
#include "templates/write.h"

namespace tenon::templates::gpu {

using space::Builder;
using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;

namespace {

constexpr int64_t kSide = 4;  // channels and tiles of a thread
constexpr int64_t kBanks = 32;
constexpr int64_t kFloat = 4;          // bytes
constexpr double kSumsPerClock = 128;  // of a multiprocessor
constexpr double kReached = 0.45;      // of these, at best: half of what a thread does is reading
constexpr double kWarpsForAll = 8;
constexpr double kTransformed = 12;       // elements per clock
constexpr double kOperands = 48;          // bytes of weights per clock, while threads multiply
constexpr double kStep = 186;             // clocks between two barriers beside the work
constexpr int64_t kRegistersOfCode = 55;  // beside what a thread keeps

int64_t threads_of(const FusedTile& t, const FusedSize& s) {
  return s.all_points() * t.channels * t.tiles / (kSide * kSide);
}

int64_t shared_bytes(const FusedTile& t, const FusedSize& s) {
  const int64_t in = s.in * t.tiles + kBanks, weights = 2 * (t.depth * t.channels + kBanks);
  return kFloat * s.all_points() * (in + weights + t.channels * t.tiles);
}

// What a thread keeps, all of its stages together.
int64_t registers_of(const FusedSize& s) {
  return kSide * kSide + 3 * s.all_points() + s.tile * s.points;
}

bool fits(const FusedTile& t, const FusedSize& s, const target::Gpu& gpu) {
  const int64_t threads = threads_of(t, s);
  if (threads > gpu.threads_per_block || s.in % t.depth != 0) return false;
  if (t.channels > s.out || t.tiles > s.columns) return false;
  const int64_t registers =
      std::min<int64_t>(gpu.registers_per_thread, gpu.registers_per_multiprocessor / threads);
  return registers_of(s) + kRegistersOfCode <= registers &&
         shared_bytes(t, s) <= gpu.shared_bytes_per_block;
}

double clocks_of(const FusedTile& t, const FusedSize& s, const target::Gpu& gpu) {
  const int64_t blocks =
      s.images * arith::ceil_div(s.out, t.channels) * s.rows * arith::ceil_div(s.columns, t.tiles);
  const int64_t most = arith::ceil_div(blocks, int64_t{gpu.multiprocessors});
  const int64_t threads = threads_of(t, s);
  const int64_t at_once = std::clamp<int64_t>(
      std::min(gpu.shared_bytes_per_multiprocessor / shared_bytes(t, s),
               gpu.registers_per_multiprocessor / (threads * gpu.registers_per_thread / 2)),
      1, most);
  const double warps = static_cast<double>(at_once * threads) / gpu.warp_threads;
  const double rate = kSumsPerClock * kReached * std::sqrt(std::min(1.0, warps / kWarpsForAll));
  const auto points = static_cast<double>(s.all_points());
  const auto results = static_cast<double>(t.channels * t.tiles);
  const auto in = static_cast<double>(s.in);
  const double fetch = points * in * static_cast<double>(kFloat * t.channels) / kOperands;
  const double work =
      std::max(points * results * in / rate, fetch) + kStep * in / static_cast<double>(t.depth);
  const double moved = points * (in * static_cast<double>(t.tiles) + results) / kTransformed;
  const double weights = static_cast<double>(kFloat * s.in * s.out) * points;
  return launching() + fetching(weights, gpu) + static_cast<double>(most) * (work + moved);
}

class Writer {
 public:
  Writer(Builder& b, const WinogradConv& c, const FusedSize& s)
      : b_(b), c_(c), s_(s), out_(b.stage(c.chain.final->name())) {}

  void run(const FusedTile& rule) {
    ask(rule);
    const StageRef m = part(".m");
    const StageRef weights = weights_of(m);
    b_.layout_reorder(weights, {0, 1, 3, 2});
    const StageRef sum = b_.cache_write(m, ir::Scope::kRegister);
    const StageRef fetched = b_.cache_read(weights, {sum}, ir::Scope::kShared);
    const StageRef read = b_.cache_read(m, {part(".y1")}, ir::Scope::kRegister);
    const auto [block, thread] = deal_out();
    keep(part(".y1"), thread);
    keep(read, thread);
    const Loop steps = multiply(m, sum, block);
    fetch(fetched, steps);
    transform_input(block);
  }

 private:
  StageRef part(const char* name) const { return made(b_, c_.inner->name() + name); }

  Value ask(int number, const char* name, std::vector<int64_t> values, int64_t rule) {
    const Domain domain = Domain::of(std::move(values));
    return b_.ask({HoleKind::kFactor, out_.id, number}, name, domain, domain.nearest(rule));
  }
  void ask(const FusedTile& rule) {
    std::vector<int64_t> channels, tiles, depths;
    for (int64_t n = kSide; n <= 8 * kSide; n *= 2) {
      if (n <= s_.out) channels.push_back(n);
      if (n <= s_.columns) tiles.push_back(n);
    }
    for (int64_t n = 1; n <= std::min<int64_t>(s_.in, 64); n *= 2) {
      if (s_.in % n == 0) depths.push_back(n);
    }
    channels_ = ask(8, "channels", std::move(channels), rule.channels);
    tiles_ = ask(9, "tiles", std::move(tiles), rule.tiles);
    depth_ = ask(10, "depth", std::move(depths), rule.depth);
  }

  // The constant that the products read.
  StageRef weights_of(StageRef m) const {
    StageRef found;
    if (b_.refused()) return found;
    ir::visit_loads(b_.now(m).body, [&](const ir::Load& l) {
      const schedule::StageId id = b_.state().owner(l.buffer);
      if (b_.state().stage(id).is_input()) found = StageRef{id};
    });
    return found;
  }

  // All of a stage that one thread has, in its registers.
  void keep(StageRef stage, Loop thread) {
    b_.compute_at(stage, thread);
    if (b_.refused()) return;
    b_.add(schedule::SetScope{stage, ir::Scope::kRegister});
    for (const Loop& l : b_.leaves(stage)) b_.unroll(l);
  }

  // Returns the loop of the blocks and the innermost of the threads.
  std::array<Loop, 2> deal_out() {
    if (b_.refused()) return {};
    const Loop image = b_.axis(out_, 0), channel = b_.axis(out_, 1);
    const auto [down, i] = b_.split<2>(b_.axis(out_, 2), {s_.tile});
    const auto [right, j] = b_.split<2>(b_.axis(out_, 3), {s_.tile});
    const auto [several, k] = b_.split<2>(channel, {channels_});
    const auto [next, t] = b_.split<2>(right, {tiles_});
    b_.reorder({image, several, down, next, k, t, i, j});
    b_.unroll(i);
    b_.unroll(j);
    const Loop block = b_.fuse({image, several, down, next});
    b_.bind(block, ir::ThreadTag::kBlockX);
    const auto [y, x] = b_.split<2>(b_.fuse({k, t}), {threads_x()});
    b_.bind(y, ir::ThreadTag::kThreadY);
    b_.bind(x, ir::ThreadTag::kThreadX);
    return {block, x};
  }

  // Points along y; returns the loop over steps of the sum.
  Loop multiply(StageRef m, StageRef sum, Loop block) {
    b_.compute_shared(m, block);
    if (b_.refused()) return {};
    const Loop points = b_.fuse({b_.axis(m, 0), b_.axis(m, 1)}), image = b_.axis(m, 2);
    const auto [channels, k] = b_.split<2>(b_.axis(m, 3), {kSide});
    const auto [tiles, t] = b_.split<2>(b_.axis(m, 4), {kSide});
    b_.reorder({image, points, channels, tiles, k, t});
    const Loop thread = b_.fuse({channels, tiles});
    b_.bind(points, ir::ThreadTag::kThreadY);
    b_.bind(thread, ir::ThreadTag::kThreadX);
    b_.unroll(k);
    b_.vectorize(t);
    b_.compute_at(sum, thread);
    if (b_.refused()) return {};
    std::vector<Loop> order;
    for (size_t d = 0; d < 3; ++d) order.push_back(b_.axis(sum, d));
    const auto [steps, depth] = b_.split<2>(b_.axis(sum, 5), {depth_});
    order.insert(order.end(), {steps, depth, b_.axis(sum, 3), b_.axis(sum, 4)});
    b_.reorder(order);
    for (const Loop& l : order) {
      if (l != steps) b_.unroll(l);
    }
    if (s_.in > depth_) b_.add(schedule::Pipeline{steps.stage, steps.id});
    return steps;
  }

  // The points that the threads of a warp read lie in different banks.
  void fetch(StageRef fetched, Loop steps) {
    b_.compute_shared(fetched, steps);
    if (b_.refused()) return;
    b_.storage_align(fetched, 1, kBanks, channels_ % kBanks);
    fetch_together(b_, fetched, {.x = threads_x(), .y = s_.all_points()}, kSide);
  }
  int64_t threads_x() const { return channels_ * tiles_ / (kSide * kSide); }

  void transform_input(Loop block) {
    const StageRef turned = part(".v");
    b_.compute_shared(turned, block);
    if (b_.refused()) return;
    const std::vector<Loop> points{b_.axis(turned, 0), b_.axis(turned, 1)};
    const std::vector<Loop> outer{b_.axis(turned, 2), b_.axis(turned, 3), b_.axis(turned, 4)};
    std::vector<Loop> order = outer;
    order.insert(order.end(), points.begin(), points.end());
    b_.reorder(order);
    const auto [turns, y, x] = b_.split<3>(b_.fuse(outer), {s_.all_points(), threads_x()});
    for (const Loop& l : points) b_.unroll(l);
    b_.bind(y, ir::ThreadTag::kThreadY);
    b_.bind(x, ir::ThreadTag::kThreadX);
    b_.storage_align(turned, 1, kBanks, tiles_ % kBanks);
    keep(part(".v1"), x);
    keep(part(".d"), x);
  }

  Builder& b_;
  const WinogradConv& c_;
  const FusedSize& s_;
  StageRef out_;
  Value channels_ = 1, tiles_ = 1, depth_ = 1;
};

}  // namespace

std::optional<FusedSize> fused_size(const WinogradConv& c, const schedule::AlgorithmRow& row) {
  const te::ComputeOp& op = *c.inner;
  if (c.dims != 2 || c.others != 0) return std::nullopt;
  const FusedSize s{.points = schedule::points_of(row),
                    .tile = row.tile,
                    .images = op.axes[0].extent,
                    .in = op.reduce_axes[0].extent,
                    .out = op.axes[1].extent,
                    .rows = arith::ceil_div(op.axes[2].extent, row.tile),
                    .columns = arith::ceil_div(op.axes[3].extent, row.tile)};
  return s.out < kSide || s.columns < kSide ? std::nullopt : std::optional(s);
}

std::optional<FusedChoice> choose_fused(const FusedSize& s, const target::Gpu& gpu) {
  std::optional<FusedChoice> best;
  for (const int64_t channels : {8, 16, 32}) {
    for (const int64_t tiles : {4, 8, 16}) {
      for (const int64_t depth : {8, 4, 16}) {
        const FusedTile t{.channels = channels, .tiles = tiles, .depth = depth};
        if (!fits(t, s, gpu)) continue;
        const double clocks = clocks_of(t, s, gpu);
        if (!best || clocks < best->clocks) best = FusedChoice{t, clocks};
      }
    }
  }
  return best;
}

void write_fused(Builder& b, const WinogradConv& c, const FusedSize& s, const FusedTile& rule) {
  Writer(b, c, s).run(rule);
}

}  // namespace tenon::templates::gpu
