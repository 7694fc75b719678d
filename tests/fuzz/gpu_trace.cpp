// SPDX-License-Identifier: Apache-2.0
#include "fuzz/gpu_trace.h"

#include <algorithm>

#include "fuzz/trace_drawer.h"
#include "ir/visit.h"

namespace tenon::fuzz {
namespace {

using namespace schedule;  // NOLINT(google-build-using-namespace): every primitive is named here
using Tag = ir::ThreadTag;
using Loops = std::vector<LoopRef>;

void append(Loops& to, const Loops& more) { to.insert(to.end(), more.begin(), more.end()); }

class GpuDrawer {
 public:
  explicit GpuDrawer(TraceDrawer& drawer) : d(drawer) {}

  void run() {
    if (chance(0.2)) pick_weighted(layout_structures(), d.rng).build(d);
    if (chance(0.4)) inline_some();
    std::vector<StageId> order = d.state().order();
    std::reverse(order.begin(), order.end());
    for (const StageId id : order) schedule_stage({id});
    for (int64_t n = chance(0.3) ? d.rng.between(1, 3) : 0; n > 0; --n) {
      d.take(pick_weighted(proposals(), d.rng).draw(d));
    }
  }

 private:
  bool chance(double p) { return d.rng.chance(p); }
  int64_t one_of(const std::vector<int64_t>& numbers) { return d.rng.pick(numbers); }
  const Stage& stage(StageRef s) const { return d.stage(s); }
  StageRef newest() const { return {static_cast<StageId>(d.state().size()) - 1}; }
  int64_t extent(StageRef s, LoopRef l) const { return stage(s).loop(l.id).extent; }

  Loops leaves(StageRef s, LoopKind kind) const {
    Loops out;
    for (const LoopId l : stage(s).leaves) {
      if (stage(s).loop(l).kind == kind) out.push_back({l});
    }
    return out;
  }

  // The parts of a loop, outermost first; the loop itself where it is not split.
  Loops split(StageRef s, LoopRef l, const std::vector<int64_t>& factors) {
    const auto first = static_cast<LoopId>(stage(s).loops.size());
    const bool parts = factors.size() == 1 && chance(0.1);
    if (!d.take(Split{s, l, factors, parts})) return {l};
    Loops out;
    for (size_t i = 0; i <= factors.size(); ++i) out.push_back({first + static_cast<LoopId>(i)});
    return out;
  }

  // All of them as one; the last where they cannot be fused.
  LoopRef fuse(StageRef s, const Loops& loops) {
    if (loops.size() < 2 || !d.take(Fuse{s, loops})) return loops.back();
    return {static_cast<LoopId>(stage(s).loops.size()) - 1};
  }

  void inline_some() {
    for (const StageId id : d.state().order()) {
      if (chance(0.4)) d.take(ComputeInline{{id}});
    }
  }

  // ---- threads ---------------------------------------------------------------------------------

  void new_threads() {
    x_ = one_of({1, 2, 3, 4, 8});
    y_ = one_of({1, 1, 2, 4});
  }

  // All spatial loops as one, in blocks of threads, with a few elements for each.
  void bind_flat(StageRef s) {
    const Loops own = leaves(s, LoopKind::kSpatial);
    if (own.empty()) return;
    const LoopRef all = chance(0.8) ? fuse(s, own) : own.front();
    std::vector<int64_t> factors;
    if (y_ > 1) factors.push_back(y_);
    factors.push_back(x_);
    const bool more = chance(0.3);
    if (more) factors.push_back(one_of({2, 3, 4}));
    const Loops parts = split(s, all, factors);
    d.take(Bind{s, parts[0], Tag::kBlockX});
    if (parts.size() == 1) return;
    if (y_ > 1) d.take(Bind{s, parts[1], Tag::kThreadY});
    d.take(Bind{s, parts[y_ > 1 ? 2 : 1], Tag::kThreadX});
    if (more && chance(0.5)) d.take(Vectorize{s, parts.back()});
  }

  // The last two loops in tiles: blocks, threads, elements of a thread. Other loops are blocks or run between.
  void bind_tiles(StageRef s) {
    Loops own = leaves(s, LoopKind::kSpatial);
    if (own.empty()) return;
    const Loops sums = leaves(s, LoopKind::kReduce);
    Loops blocks, between, threads, inner;
    const std::vector<Tag> block_tags = {Tag::kBlockX, Tag::kBlockY, Tag::kBlockZ};
    for (size_t i = own.size(); i-- > 0;) {
      const size_t nth = own.size() - 1 - i;
      if (nth >= 2) {
        (nth == 2 && chance(0.5) ? blocks : between).push_back(own[i]);
        continue;
      }
      const Loops parts = split(s, own[i], {nth == 0 ? x_ : y_, one_of({1, 1, 2, 3})});
      blocks.push_back(parts[0]);
      if (parts.size() < 3) continue;
      threads.push_back(parts[1]);
      (chance(0.1) ? between : inner).push_back(parts[2]);
    }
    Loops order = blocks;
    for (const Loops& more : {between, threads, sums, inner}) append(order, more);
    d.take(Reorder{s, order});
    for (size_t i = 0; i < blocks.size() && i < 3; ++i) d.take(Bind{s, blocks[i], block_tags[i]});
    for (const LoopRef l : between) {
      if (chance(0.3)) d.take(Bind{s, l, Tag::kVThread});
    }
    const bool turned = chance(0.1);
    for (size_t i = 0; i < threads.size(); ++i) {
      d.take(Bind{s, threads[i], (i == 0) != turned ? Tag::kThreadX : Tag::kThreadY});
    }
    mark_inner(s, inner);
  }

  void mark_inner(StageRef s, const Loops& inner) {
    for (const LoopRef l : inner) {
      if (chance(0.15)) d.take(Bind{s, l, Tag::kVThread});
      if (chance(0.8)) d.take(Unroll{s, l});
    }
  }

  // What the threads of a block fill together.
  void bind_shared(StageRef s) {
    const Loops own = leaves(s, LoopKind::kSpatial);
    if (own.empty()) return;
    const LoopRef all = fuse(s, own);
    const int64_t x = chance(0.9) ? x_ : one_of({1, 2, 5, 8});
    const bool lanes = chance(0.25);
    std::vector<int64_t> factors{y_, x};
    if (lanes) factors.push_back(one_of({2, 4}));
    // Of an attached stage only the box is filled: its loop may be shorter than a factor.
    const Loops parts = split(s, all, factors);
    if (parts.size() == 1) {
      d.take(Bind{s, all, Tag::kThreadX});
      return;
    }
    if (y_ > 1 || chance(0.5)) d.take(Bind{s, parts[1], Tag::kThreadY});
    d.take(Bind{s, parts[2], Tag::kThreadX});
    if (lanes) d.take(Vectorize{s, parts[3]});
    if (chance(0.2)) d.take(StorageAlign{s, 0, 8, d.rng.between(0, 7)});
  }

  // ---- structures ------------------------------------------------------------------------------

  std::vector<StageRef> producers(StageRef s) const {
    std::vector<StageRef> out;
    ir::visit_loads(stage(s).op->body, [&](const ir::Load& l) {
      const StageRef p{d.state().owner(l.buffer)};
      if (p.id >= 0 && std::find(out.begin(), out.end(), p) == out.end()) out.push_back(p);
    });
    return out;
  }

  void fetch(StageRef from, StageRef reader, LoopRef at) {
    if (stage(from).place != Place::kRoot) return;
    const bool shared = chance(0.8);
    if (!d.take(CacheRead{from, {reader}, shared ? ir::Scope::kShared : ir::Scope::kLocal})) return;
    const StageRef copy = newest();
    if (const auto rank = static_cast<int64_t>(stage(copy).buffer.rank()); rank > 1 && chance(0.3))
      d.take(LayoutSwizzle{copy, d.rng.between(0, rank - 1), d.rng.between(0, rank - 1),
                           one_of({2, 4})});
    if (!d.take(ComputeAt{copy, reader, at})) return;
    if (stage(copy).scope == ir::Scope::kShared) bind_shared(copy);
  }

  // A reduction whose threads keep tiles in registers and read their operands from shared memory.
  void tile_product(StageRef s) {
    if (!d.take(CacheWrite{s, chance(0.8) ? ir::Scope::kRegister : ir::Scope::kLocal})) {
      bind_flat(s);
      return;
    }
    const StageRef cache = newest();
    bind_tiles(s);
    LoopRef at = d.leaf(s);
    for (const LoopId l : stage(s).leaves) {
      const bool real =
          stage(s).loop(l).tag == Tag::kThreadX || stage(s).loop(l).tag == Tag::kThreadY;
      if (real) at = {l};
    }
    if (!d.take(ComputeAt{cache, s, at})) return;
    Loops sums = leaves(cache, LoopKind::kReduce);
    const Loops own = leaves(cache, LoopKind::kSpatial);
    Loops order;
    const LoopRef first = sums.front();
    sums.erase(sums.begin());
    const Loops parts = split(cache, first, {d.factor(extent(cache, first))});
    append(order, parts);
    append(order, sums);
    append(order, own);
    d.take(Reorder{cache, order});
    for (const LoopRef l : own) d.take(Unroll{cache, l});
    const bool ahead = chance(0.4) && d.take(Pipeline{cache, parts[0]});
    for (const StageRef p : producers(cache)) {
      if (chance(0.8)) fetch(p, cache, ahead || chance(0.8) ? parts[0] : d.leaf(cache));
    }
  }

  // Parts of a reduction by blocks of their own, in a kernel before.
  void factor_over_blocks(StageRef s) {
    const Loops sums = leaves(s, LoopKind::kReduce);
    const Loops parts = split(s, sums.front(), {d.factor(extent(s, sums.front()))});
    if (parts.size() < 2 || !d.take(Rfactor{s, parts[0], 0})) return bind_flat(s);
    const StageRef rf = newest();
    new_threads();
    const Loops own = leaves(rf, LoopKind::kSpatial);
    d.take(Bind{rf, own[0], Tag::kBlockY});
    if (own.size() > 1) {
      const LoopRef all = fuse(rf, Loops(own.begin() + 1, own.end()));
      const Loops at = split(rf, all, {x_});
      d.take(Bind{rf, at[0], Tag::kBlockX});
      if (at.size() > 1) d.take(Bind{rf, at[1], Tag::kThreadX});
    }
    new_threads();
    bind_flat(s);
  }

  // Parts of a reduction by the threads of a block, added up in shared memory.
  void factor_over_threads(StageRef s) {
    if (!d.take(CacheWrite{s, ir::Scope::kShared})) return bind_flat(s);
    const StageRef sum = newest();
    const Loops sums = leaves(sum, LoopKind::kReduce);
    const Loops k = split(sum, sums.front(), {x_});
    const auto rank = static_cast<int64_t>(stage(sum).op->axes.size());
    if (k.size() < 2 || !d.take(Rfactor{sum, k[1], chance(0.7) ? rank : 0})) return bind_flat(s);
    const StageRef rf = newest();
    const Loops own = leaves(s, LoopKind::kSpatial);
    if (own.empty()) return;
    const LoopRef all = chance(0.5) ? fuse(s, own) : own.back();
    if (own.size() > 1 && all == own.back()) d.take(Reorder{s, Loops{all}});
    const Loops parts = split(s, all, {one_of({1, 1, 2, 4})});
    d.take(Bind{s, parts[0], Tag::kBlockX});
    if (parts.size() > 1) d.take(Bind{s, parts[1], Tag::kThreadX});
    d.take(ComputeAt{sum, s, parts[0]});
    d.take(ComputeAt{rf, s, parts[0]});
    d.take(SetScope{rf, ir::Scope::kShared});
    bind_own(sum);
    const Loops of_rf = leaves(rf, LoopKind::kSpatial);
    const bool last = stage(sum).op->axes.size() + 1 == of_rf.size();
    d.take(Bind{rf, last ? of_rf.back() : of_rf.front(), Tag::kThreadX});
  }

  // The same, and threads combine their parts.
  void combine_over_threads(StageRef s) {
    const Loops sums = leaves(s, LoopKind::kReduce);
    const Loops k = split(s, sums.front(), {chance(0.8) ? one_of({2, 4, 8, 16}) : x_});
    const auto rank = static_cast<int64_t>(stage(s).op->axes.size());
    if (k.size() < 2 || !d.take(Rfactor{s, k[1], rank})) return bind_flat(s);
    const StageRef rf = newest();
    const Loops own = leaves(s, LoopKind::kSpatial);
    if (own.empty()) return;
    const Loops parts = split(s, fuse(s, own), {one_of({1, 2, 4})});
    d.take(Bind{s, parts[0], Tag::kBlockX});
    if (parts.size() > 1) d.take(Bind{s, parts[1], Tag::kThreadY});
    const LoopRef found = leaves(s, LoopKind::kReduce).front();
    d.take(Bind{s, found, Tag::kThreadX});
    d.take(ComputeAt{rf, s, found});
  }

  // One loop of a shared stage by threads.
  void bind_own(StageRef s) {
    const Loops own = leaves(s, LoopKind::kSpatial);
    if (own.empty()) return;
    d.take(Bind{s, chance(0.5) ? fuse(s, own) : d.rng.pick(own), Tag::kThreadX});
  }

  // A stage inside of the kernel of its reader: shared, or each thread's own.
  bool attach(StageRef s) {
    const StageRef reader = d.reader_of(s);
    if (reader.id < 0 || stage(reader).leaves.empty()) return false;
    const Stage& r = stage(reader);
    LoopRef at = d.leaf(reader);
    StageRef host = reader;
    if (r.place == Place::kAt && chance(0.4)) {
      at = {r.at_loop};
      host = {r.at_stage};
    }
    if (!d.take(ComputeAt{s, host, at})) return false;
    if (chance(0.6) && d.take(SetScope{s, ir::Scope::kShared})) {
      bind_shared(s);
    } else if (stage(s).op->is_reduction() && chance(0.3)) {
      d.take(PragmaUnroll{s, 16});
    }
    return true;
  }

  void schedule_stage(StageRef s) {
    if (stage(s).is_input() || stage(s).place != Place::kRoot) return;
    if (!stage(s).output && chance(0.6) && attach(s)) return;
    new_threads();
    const double u = d.rng.unit();
    if (!stage(s).op->is_reduction() || u < 0.15) {
      if (chance(0.3)) {
        bind_tiles(s);
      } else {
        bind_flat(s);
      }
      if (chance(0.3)) fetch_for(s);
    } else if (u < 0.6) {
      tile_product(s);
    } else if (u < 0.75) {
      factor_over_blocks(s);
    } else if (u < 0.88) {
      combine_over_threads(s);
    } else {
      factor_over_threads(s);
    }
  }

  void fetch_for(StageRef s) {
    for (const StageRef p : producers(s)) {
      if (stage(s).leaves.empty() || !chance(0.7)) continue;
      const LoopRef at = d.leaf(s);
      fetch(p, s, at);
      if (chance(0.3)) d.take(Pipeline{s, at});
    }
  }

  TraceDrawer& d;
  int64_t x_ = 1, y_ = 1;  // threads of the kernel that is drawn
};

}  // namespace

Drawn gpu_trace(const State& initial, Rng& rng, Counts* counts) {
  TraceOptions options;
  options.max_steps = 120;
  options.check_refusals = rng.chance(0.05);
  TraceDrawer drawer(initial, rng, options, counts);
  GpuDrawer(drawer).run();
  return drawer.finish();
}

}  // namespace tenon::fuzz
