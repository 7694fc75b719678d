// SPDX-License-Identifier: Apache-2.0
// One proposal per primitive: arguments that are mostly sensible and often legal.
#include <algorithm>

#include "fuzz/trace_drawer.h"
#include "fuzz/trace_layouts.h"

namespace tenon::fuzz {
namespace {

using namespace schedule;  // NOLINT(google-build-using-namespace): every primitive is named here

int64_t extent_of(TraceDrawer& d, StageRef s, LoopRef l) {
  return d.state().has(s) && d.stage(s).has_loop(l.id) ? d.stage(s).loop(l.id).extent : 1;
}

Step draw_split(TraceDrawer& d) {
  const StageRef s = d.loop_stage();
  const LoopRef l = d.leaf(s);
  const int64_t extent = extent_of(d, s, l);
  if (d.rng.chance(0.3)) {
    return Split{s, l, {d.factor(extent)}, true};
  }
  std::vector<int64_t> factors{d.factor(extent)};
  while (d.rng.chance(0.3)) {
    factors.push_back(d.factor(std::max<int64_t>(1, extent / factors[0])));
  }
  return Split{s, l, factors, false};
}

Step draw_fuse(TraceDrawer& d) {
  const StageRef s = d.loop_stage();
  std::vector<LoopRef> loops;
  if (d.state().has(s) && d.stage(s).leaves.size() >= 2) {
    const auto& leaves = d.stage(s).leaves;
    const int64_t from = d.rng.between(0, static_cast<int64_t>(leaves.size()) - 2);
    const int64_t count = d.rng.chance(0.7) ? 2 : 3;
    for (int64_t i = from; i < from + count && i < static_cast<int64_t>(leaves.size()); ++i) {
      loops.push_back({leaves[static_cast<size_t>(i)]});
    }
  }
  return Fuse{s, loops};
}

Step draw_reorder(TraceDrawer& d) {
  const StageRef s = d.loop_stage();
  std::vector<LoopRef> loops;
  if (d.state().has(s)) {
    for (const LoopId l : d.stage(s).leaves) {
      if (d.rng.chance(0.8)) {
        loops.push_back({l});
      }
    }
  }
  d.shuffle(loops);
  return Reorder{s, loops};
}

Step draw_parallel(TraceDrawer& d) {
  const StageRef s = d.loop_stage();
  const bool first = d.rng.chance(0.6) && d.state().has(s) && !d.stage(s).leaves.empty();
  return Parallel{s, first ? LoopRef{d.stage(s).leaves.front()} : d.leaf(s)};
}

Step draw_vectorize(TraceDrawer& d) {
  const StageRef s = d.loop_stage();
  const bool last = d.rng.chance(0.8) && d.state().has(s) && !d.stage(s).leaves.empty();
  return Vectorize{s, last ? LoopRef{d.stage(s).leaves.back()} : d.leaf(s)};
}

Step draw_unroll(TraceDrawer& d) {
  const StageRef s = d.loop_stage();
  return Unroll{s, d.leaf(s)};
}

Step draw_pragma_unroll(TraceDrawer& d) {
  return PragmaUnroll{d.loop_stage(), d.rng.between(0, 40)};
}

Step draw_bind(TraceDrawer& d) {
  const StageRef s = d.loop_stage();
  const auto tag = static_cast<ir::ThreadTag>(d.rng.between(
      static_cast<int64_t>(ir::ThreadTag::kBlockX), static_cast<int64_t>(ir::ThreadTag::kVThread)));
  return Bind{s, d.leaf(s), tag};
}

Step draw_set_scope(TraceDrawer& d) { return SetScope{d.loop_stage(), d.scope()}; }

Step draw_pipeline(TraceDrawer& d) {
  const StageRef s = d.loop_stage();
  return Pipeline{s, d.leaf(s)};
}

Step draw_compute_at(TraceDrawer& d) {
  const StageRef s = d.loop_stage();
  StageRef at = d.reader_of(s);
  // Sometimes where the reader itself is attached, so that several stages share a loop.
  if (d.state().has(at) && d.stage(at).place == Place::kAt && d.rng.chance(0.4)) {
    return ComputeAt{s, {d.stage(at).at_stage}, {d.stage(at).at_loop}};
  }
  return ComputeAt{s, at, d.leaf(at)};
}

Step draw_compute_inline(TraceDrawer& d) { return ComputeInline{d.loop_stage()}; }

Step draw_compute_root(TraceDrawer& d) { return ComputeRoot{d.loop_stage()}; }

Step draw_cache_write(TraceDrawer& d) { return CacheWrite{d.loop_stage(), d.scope()}; }

Step draw_cache_read(TraceDrawer& d) {
  const StageRef s = d.any_stage();
  std::vector<StageRef> readers;
  for (const StageId r : d.state().readers(s.id)) {
    if (d.rng.chance(0.5)) {
      readers.push_back({r});
    }
  }
  return CacheRead{s, readers, d.scope()};
}

Step draw_rfactor(TraceDrawer& d) {
  const StageRef s = d.loop_stage();
  const int64_t rank = d.state().has(s) ? static_cast<int64_t>(d.stage(s).op->axes.size()) : 0;
  return Rfactor{s, d.leaf(s), d.rng.between(0, rank)};
}

Step draw_decompose_init(TraceDrawer& d) {
  const StageRef s = d.loop_stage();
  return DecomposeInit{s, d.leaf(s)};
}

Step draw_storage_align(TraceDrawer& d) {
  const StageRef s = d.loop_stage();
  const int64_t rank = d.state().has(s) ? static_cast<int64_t>(d.stage(s).buffer.rank()) : 0;
  const int64_t f = d.rng.between(1, 20);
  return StorageAlign{s, d.rng.between(0, std::max<int64_t>(0, rank - 2)), f,
                      d.rng.between(0, f - 1)};
}

Step draw_prefetch(TraceDrawer& d) {
  const StageRef tensor = d.any_stage();
  const StageRef s = d.reader_of(tensor);
  return Prefetch{s, d.leaf(s), tensor, d.rng.between(1, 9)};
}

Step draw_tensorize(TraceDrawer& d) {
  const StageRef s = d.loop_stage();
  const Dot dot = d.rng.pick(std::vector<DotRow>(dots().begin(), dots().end())).dot;
  const bool inner = d.rng.chance(0.8) && d.state().has(s) && d.stage(s).leaves.size() >= 2;
  if (!inner) {
    return Tensorize{s, d.leaf(s), d.leaf(s), dot};
  }
  const auto& leaves = d.stage(s).leaves;
  return Tensorize{s, {leaves[leaves.size() - 2]}, {leaves.back()}, dot};
}

Step draw_variant(TraceDrawer& d) {
  const StageRef s = d.loop_stage();
  return Variant{s, d.rng.pick(d.algorithms_for(s)).algorithm};
}

// A layout step of some stage.
template <Step (*kDraw)(TraceDrawer&, StageRef)>
Step of_any(TraceDrawer& d) {
  return kDraw(d, d.any_stage());
}

constexpr Proposal kProposals[] = {
    {"split", 20, draw_split},
    {"fuse", 8, draw_fuse},
    {"reorder", 10, draw_reorder},
    {"parallel", 4, draw_parallel},
    {"vectorize", 10, draw_vectorize},
    {"unroll", 8, draw_unroll},
    {"pragma_unroll", 3, draw_pragma_unroll},
    {"bind", 1, draw_bind},
    {"set_scope", 5, draw_set_scope},
    {"pipeline", 1, draw_pipeline},
    {"compute_at", 18, draw_compute_at},
    {"compute_inline", 4, draw_compute_inline},
    {"compute_root", 2, draw_compute_root},
    {"cache_write", 6, draw_cache_write},
    {"cache_read", 6, draw_cache_read},
    {"rfactor", 8, draw_rfactor},
    {"decompose_init", 5, draw_decompose_init},
    {"storage_align", 4, draw_storage_align},
    {"prefetch", 3, draw_prefetch},
    {"tensorize", 2, draw_tensorize},
    {"layout_split", 5, of_any<draw_layout_split>},
    {"layout_reorder", 5, of_any<draw_layout_reorder>},
    {"layout_fuse", 4, of_any<draw_layout_fuse>},
    {"layout_pad", 4, of_any<draw_layout_pad>},
    {"layout_swizzle", 5, of_any<draw_layout_swizzle>},
    {"layout_unfold", 3, of_any<draw_layout_unfold>},
    {"layout_store_at", 6, of_any<draw_layout_store_at>},
    {"variant", 6, draw_variant},
};

}  // namespace

std::span<const Proposal> proposals() { return kProposals; }

}  // namespace tenon::fuzz
