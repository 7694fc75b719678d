// SPDX-License-Identifier: Apache-2.0
#include "templates/gpu/tile.h"

#include <algorithm>
#include <span>

#include "arith/linear.h"

namespace tenon::templates::gpu {
namespace {

// In clocks, of one multiprocessor.
constexpr double kSumsPerClock = 128;
constexpr double kLaunch = 1500;
constexpr double kSecondKernel = 3500;  // that adds up what blocks share
constexpr double kStep = 300;           // between two barriers, whatever is computed
constexpr double kBytesPerClock = 24;   // of sums that blocks leave in memory
constexpr double kOperands = 96;        // bytes of operands per clock, by way of the second cache
constexpr double kSmallKernel = 2500;   // that reads and writes little
constexpr double kFetched = 16;         // bytes per clock from memory
constexpr double kReached = 0.8;        // of all sums, at best
constexpr double kWarpsForAll = 12;     // of a block
constexpr int64_t kMostSplit = 64;
constexpr int64_t kLeastLength = 16;  // of a share of a sum
constexpr int64_t kDepth = 32;

// Threads and elements along the slow and the fast side.
constexpr Tile kTiles[] = {{.slow_threads = 8, .fast_threads = 16, .slow = 8, .fast = 4},
                           {.slow_threads = 8, .fast_threads = 16, .slow = 4, .fast = 4},
                           {.slow_threads = 8, .fast_threads = 8, .slow = 8, .fast = 4},
                           {.slow_threads = 8, .fast_threads = 8, .slow = 4, .fast = 4},
                           {.slow_threads = 4, .fast_threads = 16, .slow = 4, .fast = 4},
                           {.slow_threads = 2, .fast_threads = 32, .slow = 4, .fast = 4},
                           {.slow_threads = 1, .fast_threads = 64, .slow = 1, .fast = 4},
                           {.slow_threads = 16, .fast_threads = 4, .slow = 4, .fast = 2},
                           {.slow_threads = 32, .fast_threads = 4, .slow = 4, .fast = 1}};
// Blocks that have all of a short fast side read the slow one once.
constexpr int64_t kNarrow = 16;
constexpr Tile kNarrowTiles[] = {{.slow_threads = 32, .fast_threads = 4, .slow = 4, .fast = 4},
                                 {.slow_threads = 16, .fast_threads = 4, .slow = 8, .fast = 4},
                                 {.slow_threads = 16, .fast_threads = 4, .slow = 4, .fast = 4},
                                 {.slow_threads = 16, .fast_threads = 4, .slow = 4, .fast = 2},
                                 {.slow_threads = 32, .fast_threads = 4, .slow = 4, .fast = 1}};
// All threads of a warp read the same of the slow side.
constexpr Tile kQuadTiles[] = {{.slow_threads = 4, .fast_threads = 32, .slow = 8, .fast = 4},
                               {.slow_threads = 4, .fast_threads = 32, .slow = 4, .fast = 4},
                               {.slow_threads = 2, .fast_threads = 32, .slow = 8, .fast = 4},
                               {.slow_threads = 2, .fast_threads = 32, .slow = 4, .fast = 4},
                               {.slow_threads = 1, .fast_threads = 64, .slow = 1, .fast = 4},
                               {.slow_threads = 16, .fast_threads = 4, .slow = 4, .fast = 2}};

const schedule::Split* split_at(const schedule::Trace& trace, size_t i, size_t factors) {
  const auto* s = i < trace.size() ? std::get_if<schedule::Split>(&trace[i]) : nullptr;
  return s != nullptr && s->factors.size() >= factors ? s : nullptr;
}
bool reorders_at(const schedule::Trace& trace, size_t i) {
  return i < trace.size() && std::holds_alternative<schedule::Reorder>(trace[i]);
}

std::span<const Tile> tiles_for(const ProductSize& p) {
  if (p.quads) return kQuadTiles;
  return p.fast <= kNarrow ? std::span<const Tile>(kNarrowTiles) : kTiles;
}

}  // namespace

int64_t depth_for(int64_t length, int64_t most) {
  for (int64_t d = std::min(length, most); d > 1; --d) {
    if (length % d == 0) return d;
  }
  return 1;
}

double estimate(const Tile& t, const ProductSize& p, const target::Gpu& gpu) {
  const int64_t tiles =
      p.outer * arith::ceil_div(p.slow, t.block_slow()) * arith::ceil_div(p.fast, t.block_fast());
  const auto rounds =
      static_cast<double>(arith::ceil_div(tiles * t.split, int64_t{gpu.multiprocessors}));
  const double warps = static_cast<double>(t.threads()) / gpu.warp_threads;
  const auto sums = static_cast<double>(t.slow * t.fast);
  const double reads = static_cast<double>(t.slow + t.fast) / 4;
  const double rate =
      kSumsPerClock * kReached * std::min(1.0, warps / kWarpsForAll) * sums / (sums + reads);
  const double length = static_cast<double>(p.length) / static_cast<double>(t.split);
  const double work = static_cast<double>(t.block_slow() * t.block_fast()) * length / rate;
  const double steps = length / static_cast<double>(t.depth) * kStep;
  const double fetch =
      4.0 * static_cast<double>(t.block_slow() + t.block_fast()) * length / kOperands;
  double clocks = kLaunch + rounds * (work + fetch + steps);
  if (t.split > 1) {
    const double bytes = 8.0 * static_cast<double>(p.outer * p.slow * p.fast * t.split);
    clocks += kSecondKernel + bytes / (kBytesPerClock * gpu.multiprocessors);
  }
  return clocks;
}

double copying(double bytes, const target::Gpu& gpu) {
  return kSmallKernel + bytes / (kBytesPerClock * gpu.multiprocessors);
}

double fetching(double bytes, const target::Gpu& gpu) {
  return bytes / (kFetched * gpu.multiprocessors);
}

Tile choose_tile(const ProductSize& p, const target::Gpu& gpu) {
  Tile best;
  double least = 0;
  for (Tile t : tiles_for(p)) {
    for (t.split = 1; t.split <= std::min(kMostSplit, p.length / kLeastLength); ++t.split) {
      if (p.length % t.split != 0) continue;
      t.depth = depth_for(p.length / t.split, kDepth);
      const double clocks = estimate(t, p, gpu);
      if (least != 0 && clocks >= least) continue;
      least = clocks;
      best = t;
    }
  }
  if (least == 0) best.depth = depth_for(p.length, kDepth);
  return best;
}

std::optional<Tile> shown_tile(const schedule::Trace& trace) {
  for (size_t i = 0; i + 2 < trace.size(); ++i) {
    const auto *slow = split_at(trace, i, 2), *fast = split_at(trace, i + 1, 2);
    if (slow == nullptr || fast == nullptr || !reorders_at(trace, i + 2)) continue;
    Tile t{.slow_threads = slow->factors[0],
           .fast_threads = fast->factors[0],
           .slow = slow->factors[1],
           .fast = fast->factors[1]};
    if (fast->factors.size() > 2) t.fast *= fast->factors[2];
    for (size_t j = i + 3; j < trace.size(); ++j) {
      const auto* depth = split_at(trace, j, 1);
      if (depth == nullptr || !reorders_at(trace, j + 1)) continue;
      t.depth = depth->factors[0];
      return t;
    }
  }
  return std::nullopt;
}

int64_t shown_split(const schedule::Trace& trace, int64_t length) {
  for (size_t i = 1; i < trace.size(); ++i) {
    if (!std::holds_alternative<schedule::Rfactor>(trace[i])) continue;
    if (const auto* s = split_at(trace, i - 1, 1)) return length / s->factors[0];
  }
  return 1;
}

}  // namespace tenon::templates::gpu
