// SPDX-License-Identifier: Apache-2.0
#include "templates/gpu/tile.h"

#include <algorithm>

#include "arith/linear.h"

namespace tenon::templates::gpu {
namespace {

constexpr double kSumsPerClock = 128;     // of one multiprocessor
constexpr double kLaunchClocks = 1500;    // of one more kernel in a graph
constexpr double kStepClocks = 700;       // until what a block fetches is there
constexpr double kBytesPerClock = 12;     // of one multiprocessor, from memory
constexpr double kWarpsForFullRate = 12;  // of one multiprocessor
constexpr int64_t kMostSplit = 32;

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
  const int64_t blocks = tiles * t.split;
  const auto sms = static_cast<double>(gpu.multiprocessors);
  const double per_sm = static_cast<double>(arith::ceil_div(blocks, gpu.multiprocessors));
  const double resident = std::min(per_sm, 4.0);
  const double warps = resident * static_cast<double>(t.threads()) / gpu.warp_threads;
  const double rate = kSumsPerClock * 0.75 * std::min(1.0, warps / kWarpsForFullRate);
  // Few sums for each number that is read from shared memory leave the units idle.
  const double reuse = static_cast<double>(t.slow * t.fast) / static_cast<double>(t.slow + t.fast);
  const double share = std::min(1.0, reuse / 2.5);
  const double length = static_cast<double>(p.length) / static_cast<double>(t.split);
  const double work = static_cast<double>(t.block_slow() * t.block_fast()) * length;
  const double waits = length / static_cast<double>(t.depth) * kStepClocks * per_sm / resident;
  double clocks = kLaunchClocks + std::max(per_sm * work / (rate * share), waits);
  if (t.split > 1) {
    const double partial = 8.0 * static_cast<double>(p.outer * p.slow * p.fast * t.split);
    clocks += kLaunchClocks + partial / (kBytesPerClock * sms);
  }
  return clocks;
}

Tile choose_tile(const ProductSize& p, const target::Gpu& gpu) {
  Tile best;
  double least = 0;
  const int64_t shapes[][4] = {
      {8, 8, 4, 4},  {8, 16, 4, 4},  {16, 8, 4, 4},  {16, 16, 4, 4}, {8, 16, 8, 4}, {16, 8, 8, 4},
      {8, 8, 8, 4},  {16, 16, 8, 4}, {8, 16, 2, 4},  {4, 32, 4, 4},  {4, 16, 4, 4}, {16, 16, 8, 8},
      {2, 32, 2, 4}, {1, 64, 1, 4},  {8, 16, 16, 4}, {4, 16, 16, 4}, {4, 16, 8, 4}};
  for (const auto& s : shapes) {
    for (int64_t split = 1; split <= std::min(kMostSplit, p.length / 16 + 1); ++split) {
      if (p.length % split != 0) continue;
      Tile t{s[0], s[1], s[2], s[3], depth_for(p.length / split, 32), split};
      const double clocks = estimate(t, p, gpu);
      if (least != 0 && clocks >= least) continue;
      least = clocks;
      best = t;
    }
  }
  return best;
}

}  // namespace tenon::templates::gpu
