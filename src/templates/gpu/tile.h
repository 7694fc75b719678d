// SPDX-License-Identifier: Apache-2.0
// Sizes of the tiles of a product on a GPU, by an estimate of its time from facts of the card.
#pragma once

#include <cstdint>
#include <optional>

#include "schedule/trace.h"
#include "target/target.h"

namespace tenon::templates::gpu {

struct Tile {
  int64_t slow_threads = 8, fast_threads = 16;  // of a block
  int64_t slow = 4, fast = 4;                   // elements of a thread
  int64_t depth = 16;                           // of the sums between two barriers
  int64_t split = 1;                            // blocks that share one sum
  int64_t groups = 1;                           // of threads of a block that share one sum
  int64_t threads() const { return slow_threads * fast_threads * groups; }
  int64_t block_slow() const { return slow_threads * slow; }
  int64_t block_fast() const { return fast_threads * fast; }
};

struct ProductSize {
  int64_t outer = 1, slow = 1, fast = 1, length = 1;
  bool constant_fast = false;  // the fast side is stored as it is fetched
};

// In clocks of a multiprocessor.
double estimate(const Tile& t, const ProductSize& p, const target::Gpu& gpu);
// What a kernel takes beside its work.
double launching();
// A kernel that does little but read and write so many bytes.
double copying(double bytes, const target::Gpu& gpu);
// Reading so many bytes that no cache has.
double fetching(double bytes, const target::Gpu& gpu);
// The best of a few shapes, with sums shared out as far as it pays.
Tile choose_tile(const ProductSize& p, const target::Gpu& gpu);

// The tile that a trace has: the steps that cut both sides of a result and then its sums.
std::optional<Tile> shown_tile(const schedule::Trace& trace);
// Blocks that share a sum of that length, which rfactor tells apart.
int64_t shown_split(const schedule::Trace& trace, int64_t length);

// Of the sums between two barriers, where so many groups share them.
int64_t most_depth(int64_t groups);
// The largest divisor of the length that is at most `most`; 1 if there is none above it.
int64_t depth_for(int64_t length, int64_t most);

}  // namespace tenon::templates::gpu
