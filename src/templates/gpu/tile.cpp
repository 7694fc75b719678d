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
// All threads of a warp read the same of the slow side.
constexpr Tile kQuadTiles[] = {{.slow_threads = 4, .fast_threads = 32, .slow = 8, .fast = 4},
                               {.slow_threads = 4, .fast_threads = 32, .slow = 4, .fast = 4},
                               {.slow_threads = 2, .fast_threads = 32, .slow = 8, .fast = 4},
                               {.slow_threads = 2, .fast_threads = 32, .slow = 4, .fast = 4},
                               {.slow_threads = 1, .fast_threads = 64, .slow = 1, .fast = 4},
                               {.slow_threads = 16, .fast_threads = 4, .slow = 4, .fast = 2}};

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
  const std::span<const Tile> tiles = p.quads ? std::span<const Tile>(kQuadTiles) : kTiles;
  for (Tile t : tiles) {
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

}  // namespace tenon::templates::gpu
