// SPDX-License-Identifier: Apache-2.0
// A matrix product and a skeleton for it that has every kind of dependence between holes.
#pragma once

#include "space/space.h"
#include "te/text.h"

namespace tenon::space {

inline task::Task product_task() {
  const auto dag = std::make_shared<const te::ComputeDag>(
      te::parse("input a: f32[12, 10]\ninput b: f32[10, 24]\n"
                "c[i: 12, j: 24] = sum(k: 10) a[i, k] * b[k, j]\n"
                "d[i: 12, j: 24] = max(c[i, j], 0.0)\noutput d\n"));
  return task::make_task(dag, {},
                         std::make_shared<const target::Target>(target::parse_target("x86-64-v3")));
}

// Whether the sum is kept beside its reader, the tile of the reader, and lanes that divide the tile.
class ProductSkeleton : public Skeleton {
 public:
  void write(Builder& b) const override {
    const StageRef c = b.stage("c"), d = b.stage("d");
    const bool at = b.ask({HoleKind::kSwitch, c.id, 0}, "at", Domain::range(0, 1), 1) == 1;
    const Value rows = b.ask({HoleKind::kParts, d.id, 0}, "rows", Domain::range(1, 12), 4);
    const Value tile = b.ask({HoleKind::kFactor, d.id, 0}, "tile", Domain::divisors(24, 24), 8);
    const auto [i0, i1] = b.parts(b.axis(d, 0), rows);
    const auto [j0, j1] = b.split<2>(b.axis(d, 1), {tile});
    b.reorder({i0, j0, i1, j1});
    if (at) b.compute_at(c, j0);
    const int64_t most = at ? 1 : 2;  // a loop that hosts a stage is not fused
    const Value cores = b.ask({HoleKind::kParallel, d.id, 0}, "cores", Domain::range(0, most), 1);
    if (cores > 0) b.parallel(cores == 1 ? i0 : b.fuse({i0, j0}));
    const Value v = b.ask({HoleKind::kLanes, d.id, 0}, "lanes", Domain::divisors(tile, 8), 4);
    if (v > 1) b.vectorize(b.split<2>(j1, {v})[1]);
  }
};

}  // namespace tenon::space
