// SPDX-License-Identifier: Apache-2.0
#include "search/sketch/gpu_share.h"

#include <algorithm>

#include "schedule/primitives/set_scope.h"
#include "search/sketch/find_step.h"
#include "search/sketch/gpu_holes.h"
#include "search/sketch/tiles.h"
#include "te/access.h"

namespace tenon::search {
namespace {

using ir::ThreadTag;
using space::Builder;
using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;

constexpr int64_t kLeastThreads = 4, kMostThreads = 512;  // that share a sum
constexpr int64_t kMostSums = 64;                         // of a block
constexpr int64_t kAtLast = 16;                           // parts that one thread adds up
constexpr int32_t kAlong = 8;  // HoleId::number of the switch, beside those of tiles

int64_t length_of(const Builder& b, StageRef sum) {
  int64_t n = 1;
  for (const te::Axis& a : b.now(sum).reduce_axes) n *= a.extent;
  return n;
}

Value ask_threads(Builder& b, StageRef out, int64_t length, int64_t rule) {
  int64_t most = kLeastThreads;
  while (most < kMostThreads && most * 2 <= length) most *= 2;
  return b.ask({HoleKind::kFactor, out.id, 0}, "share", powers_of_two(kLeastThreads, most),
               std::min(rule, most));
}

// A part of the sum for each of so many threads, as the last axis of a new stage.
StageRef share_out(Builder& b, StageRef sum, Value threads) {
  if (b.refused()) return {};
  std::vector<Loop> loops;
  const size_t rank = b.now(sum).axes.size();
  for (size_t d = 0; d < b.now(sum).reduce_axes.size(); ++d) loops.push_back(b.axis(sum, rank + d));
  const auto parts = b.split<2>(b.fuse(loops), {threads});
  return b.rfactor(parts[1], static_cast<int64_t>(rank));
}

// One level, or two where they are too many for the last thread.
std::vector<StageRef> share_in_levels(Builder& b, StageRef sum, Value threads) {
  std::vector<StageRef> parts{share_out(b, sum, threads)};
  if (threads > 2 * kAtLast) parts.push_back(share_out(b, sum, kAtLast));
  return parts;
}

struct Bound {
  size_t axis;
  ThreadTag tag;
};

// Summed up in a register, and left where all threads of the block can read it.
void attach_shared(Builder& b, StageRef stage, Loop at, const std::vector<Bound>& threads) {
  if (b.refused()) return;
  const StageRef sum = b.cache_write(stage, ir::Scope::kRegister);
  b.compute_shared(stage, at);
  for (const Bound& t : threads) b.bind(b.axis(stage, t.axis), t.tag);
  if (b.refused()) return;
  b.compute_at(sum, b.leaves(stage).back());
  limit_copies(b, sum, 64);
}

class Sharer {
 public:
  Sharer(Builder& b, StageRef out, StageRef sum) : b_(b), out_(out), sum_(sum) {
    const auto& axes = b.now(out).axes;
    for (size_t d = 0; d < axes.size(); ++d) {
      if (axes[d].extent > 1) axis_ = d;
    }
  }

  void run() {
    ask();
    const std::vector<StageRef> parts = share_in_levels(b_, sum_, share_);
    const auto [block, thread] = bind_result();
    if (b_.refused()) return;
    b_.compute_at(sum_, thread);
    if (b_.refused()) return;
    b_.add(schedule::SetScope{sum_, ir::Scope::kRegister});
    limit_copies(b_, sum_, 64);
    for (auto p = parts.rbegin(); p != parts.rend() && !b_.refused(); ++p) {
      const size_t last = b_.now(*p).axes.size() - 1;
      attach_shared(b_, *p, block, {{axis_, across()}, {last, along()}});
    }
  }

 private:
  ThreadTag along() const { return along_ ? ThreadTag::kThreadX : ThreadTag::kThreadY; }
  ThreadTag across() const { return along_ ? ThreadTag::kThreadY : ThreadTag::kThreadX; }

  void ask() {
    const target::Gpu& gpu = b_.target().gpu();
    share_ = ask_threads(b_, out_, length_of(b_, sum_), 2 * gpu.warp_threads);
    const int64_t most = std::min(
        {kMostSums, b_.now(out_).axes[axis_].extent, gpu.threads_per_block / share_.value});
    sums_ = b_.ask({HoleKind::kFactor, out_.id, kLevels}, "sums", powers_of_two(1, most),
                   neighbours_are_of_sums() ? 2 : 32);
    const auto read = [&](const schedule::Trace& trace) -> std::optional<int64_t> {
      const auto* first = find_step<schedule::Bind>(
          trace, [&](const auto& s) { return s.stage == out_ && is_thread(s.tag); });
      if (first == nullptr) return std::nullopt;
      return first->tag == ThreadTag::kThreadY;
    };
    along_ = b_.ask({HoleKind::kSwitch, out_.id, kAlong}, "along", Domain::range(0, 1),
                    neighbours_are_of_sums() ? 1 : 0, nullptr, read) == 1;
  }

  static bool is_thread(ThreadTag t) {
    return t == ThreadTag::kThreadX || t == ThreadTag::kThreadY;
  }

  // Of the operand that is read most, neighbours in memory are neighbours of a sum.
  bool neighbours_are_of_sums() const {
    const te::ComputeOp& op = b_.now(sum_);
    for (const te::Access& a : te::accesses(op)) {
      if (a.strides.size() > axis_ && a.strides[axis_] == 1) return false;
    }
    return true;
  }

  // Returns the loop of the blocks and that of the threads that add up at last.
  std::array<Loop, 2> bind_result() {
    if (b_.refused()) return {};
    std::vector<Loop> blocks;
    for (size_t d = 0; d < b_.now(out_).axes.size(); ++d) blocks.push_back(b_.axis(out_, d));
    const auto [outer, sums, one] = b_.split<3>(blocks[axis_], {sums_, 1});
    blocks[axis_] = outer;
    std::vector<Loop> order = blocks;
    order.insert(order.end(), {sums, one});
    b_.reorder(order);
    const Loop block = b_.fuse(blocks);
    b_.bind(block, ThreadTag::kBlockX);
    b_.bind(sums, across());
    b_.bind(one, along());
    return {block, one};
  }

  Builder& b_;
  StageRef out_, sum_;
  size_t axis_ = 0;  // of the result, whose neighbours a block has
  Value share_ = 1, sums_ = 1;
  bool along_ = true;  // threads of a sum are neighbours; else those of the results
};

}  // namespace

void write_share(Builder& b, StageRef out, StageRef sum) {
  if (b.refused()) return;
  if (b.now(out).axes.empty()) {
    return b.refuse({.code = IllegalCode::kThreadsMissing, .stage = out.id});
  }
  Sharer(b, out, sum).run();
}

void write_rows(Builder& b, StageRef out, std::span<const StageRef> sums, size_t rows) {
  if (b.refused()) return;
  int64_t length = 1;
  for (const StageRef s : sums) length = std::max(length, length_of(b, s));
  const Value threads = ask_threads(b, out, length, 128);
  std::vector<std::vector<StageRef>> parts;
  for (const StageRef s : sums) parts.push_back(share_in_levels(b, s, threads));
  if (b.refused()) return;
  std::vector<Loop> outer, inner;
  for (size_t d = 0; d < b.now(out).axes.size(); ++d)
    (d < rows ? outer : inner).push_back(b.axis(out, d));
  const Loop row = b.fuse(outer);
  Loop thread = b.fuse(inner);
  if (b.extent(thread) > threads) thread = b.split<2>(thread, {threads})[1];
  b.bind(row, ThreadTag::kBlockX);
  b.bind(thread, ThreadTag::kThreadX);
  for (size_t i = sums.size(); i-- > 0 && !b.refused();) {
    attach_shared(b, sums[i], row, {{0, ThreadTag::kThreadX}});
    for (auto p = parts[i].rbegin(); p != parts[i].rend() && !b.refused(); ++p) {
      attach_shared(b, *p, row, {{b.now(*p).axes.size() - 1, ThreadTag::kThreadX}});
    }
  }
}

}  // namespace tenon::search
