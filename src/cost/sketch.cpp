// SPDX-License-Identifier: Apache-2.0
#include "cost/sketch.h"

#include <algorithm>
#include <cmath>

namespace tenon::cost {

namespace {

using schedule::LoopRef;
using schedule::Mark;
using schedule::Place;
using schedule::RelationKind;
using schedule::StageRef;

int64_t size_of(int64_t v) { return std::clamp<int64_t>(v, 0, kLongestLoop); }

Illegal no_stage(StageRef s) { return {.code = IllegalCode::kNoSuchStage, .value = s.id}; }
Illegal no_loop(StageRef s, LoopRef l) {
  return {.code = IllegalCode::kNoSuchLoop, .stage = s.id, .value = l.id};
}
Illegal no_dim(StageRef s, int64_t dim) {
  return {.code = IllegalCode::kNoSuchDim, .stage = s.id, .value = dim};
}

SketchLoop part_of(const SketchLoop& whole, int64_t extent, int64_t unit) {
  SketchLoop p = whole;
  p.facts.extent = std::max<int64_t>(1, extent);
  p.facts.unit = times(whole.facts.unit, unit);
  return p;
}

// What each primitive does to the sketch. Those that are not here change nothing of it.
struct Apply {
  Sketch& s;

  SketchStage& at(StageRef r) const { return s.stages[static_cast<size_t>(r.id)]; }

  Result<void> leaf(StageRef stage, LoopRef loop) const {
    if (!s.has(stage)) return no_stage(stage);
    if (!at(stage).has(loop)) return no_loop(stage, loop);
    return {};
  }

  Result<void> operator()(const schedule::Split& p) const {
    TENON_TRY(leaf(p.stage, p.loop));
    SketchStage& st = at(p.stage);
    const auto where = std::find(st.leaves.begin(), st.leaves.end(), p.loop.id);
    if (where == st.leaves.end() || p.factors.empty()) return no_loop(p.stage, p.loop);
    const SketchLoop whole = st.loop(p.loop.id);
    int64_t inner = 1;
    for (const int64_t f : p.factors) inner = times(inner, std::max<int64_t>(1, f));
    const int64_t outer = p.parts ? inner : parts_of(whole.facts.extent, inner);
    if (p.parts) inner = parts_of(whole.facts.extent, outer);
    const double iterations = static_cast<double>(outer) * static_cast<double>(inner);
    const auto waste =
        static_cast<float>(std::log2(iterations / static_cast<double>(whole.facts.extent)));
    SketchStage::Relation r{p.parts ? RelationKind::kParts : RelationKind::kSplit, p.loop.id, {}};
    int64_t unit = inner;
    const auto add = [&](int64_t extent) {
      r.many.push_back(static_cast<int32_t>(st.loops.size()));
      st.loops.push_back(part_of(whole, extent, unit));
      st.loops.back().waste = waste;
      st.loops.back().uneven = p.parts;
    };
    add(outer);
    for (size_t j = 0; j < (p.parts ? 1 : p.factors.size()); ++j) {
      const int64_t extent = p.parts ? inner : std::max<int64_t>(1, p.factors[j]);
      unit = std::max<int64_t>(1, unit / extent);
      add(extent);
    }
    st.leaves.insert(st.leaves.erase(where), r.many.begin(), r.many.end());
    for (SketchStage& guest : s.stages) {
      if (guest.place == Place::kAt && guest.at_stage == p.stage.id && guest.at_loop == p.loop.id) {
        guest.at_loop = r.many.back();
      }
    }
    st.relations.push_back(std::move(r));
    return {};
  }

  Result<void> operator()(const schedule::Fuse& p) const {
    if (p.loops.empty()) return no_loop(p.stage, {});
    for (const LoopRef l : p.loops) TENON_TRY(leaf(p.stage, l));
    SketchStage& st = at(p.stage);
    const auto where = std::find(st.leaves.begin(), st.leaves.end(), p.loops[0].id);
    if (where == st.leaves.end()) return no_loop(p.stage, p.loops[0]);
    const auto one = static_cast<int32_t>(st.loops.size());
    SketchLoop fused = st.loop(p.loops.back().id);
    fused.facts.extent = 1;
    SketchStage::Relation r{RelationKind::kFuse, one, {}};
    for (const LoopRef l : p.loops) {
      const AxisFacts& f = st.loop(l.id).facts;
      if (f.extent > 1 && fused.facts.extent == 1) fused.facts = {1, f.role, f.axis, f.unit};
      fused.facts.extent = times(fused.facts.extent, f.extent);
      r.many.push_back(l.id);
    }
    fused.fused = static_cast<uint8_t>(std::min<size_t>(255, p.loops.size()));
    *where = one;
    std::erase_if(st.leaves, [&](int32_t l) {
      return std::find(r.many.begin(), r.many.end(), l) != r.many.end();
    });
    st.loops.push_back(fused);
    st.relations.push_back(std::move(r));
    for (SketchStage& guest : s.stages) {
      if (guest.place == Place::kAt && guest.at_stage == p.stage.id &&
          guest.at_loop == p.loops.back().id) {
        guest.at_loop = one;
      }
    }
    return {};
  }

  Result<void> operator()(const schedule::Reorder& p) const {
    for (const LoopRef l : p.loops) TENON_TRY(leaf(p.stage, l));
    if (!s.has(p.stage)) return no_stage(p.stage);
    size_t next = 0;
    for (int32_t& l : at(p.stage).leaves) {
      const bool moves = std::find(p.loops.begin(), p.loops.end(), LoopRef{l}) != p.loops.end();
      if (moves && next < p.loops.size()) l = p.loops[next++].id;
    }
    return {};
  }

  Result<void> mark(StageRef stage, LoopRef loop, Mark mark,
                    ir::ThreadTag tag = ir::ThreadTag::kNone) const {
    TENON_TRY(leaf(stage, loop));
    SketchLoop& l = at(stage).loops[static_cast<size_t>(loop.id)];
    l.mark = mark;
    l.tag = tag;
    return {};
  }
  Result<void> operator()(const schedule::Parallel& p) const {
    return mark(p.stage, p.loop, Mark::kParallel);
  }
  Result<void> operator()(const schedule::Vectorize& p) const {
    return mark(p.stage, p.loop, Mark::kVectorize);
  }
  Result<void> operator()(const schedule::Unroll& p) const {
    return mark(p.stage, p.loop, Mark::kUnroll);
  }
  Result<void> operator()(const schedule::Bind& p) const {
    return mark(p.stage, p.loop, Mark::kThread, p.tag);
  }
  Result<void> operator()(const schedule::Tensorize& p) const {
    return mark(p.stage, p.loop, Mark::kTensorize);
  }

  Result<void> operator()(const schedule::ComputeAt& p) const {
    if (!s.has(p.stage) || (at(p.stage).flags & kIsInput) != 0) return no_stage(p.stage);
    TENON_TRY(leaf(p.at_stage, p.at_loop));
    SketchStage& st = at(p.stage);
    st.place = Place::kAt;
    st.at_stage = p.at_stage.id;
    st.at_loop = p.at_loop.id;
    return {};
  }
  Result<void> place(StageRef stage, Place where) const {
    if (!s.has(stage)) return no_stage(stage);
    at(stage).place = where;
    return {};
  }
  Result<void> operator()(const schedule::ComputeInline& p) const {
    return place(p.stage, Place::kInlined);
  }
  Result<void> operator()(const schedule::ComputeRoot& p) const {
    return place(p.stage, Place::kRoot);
  }

  // The work moves to the new stage; what is left copies it.
  Result<void> operator()(const schedule::CacheWrite& p) const {
    if (!s.has(p.stage)) return no_stage(p.stage);
    SketchStage cache = at(p.stage);
    const auto id = static_cast<int32_t>(s.stages.size());
    cache.flags = static_cast<uint8_t>((cache.flags | kIsMade) & ~kIsOutput);
    cache.reset_loops();
    SketchStage& st = at(p.stage);
    st.flags = static_cast<uint8_t>(st.flags & ~(kReduces | kIsAnchor));
    if (s.anchor == p.stage.id) {
      s.anchor = id;
      st.flags |= kIsAfter;
    }
    st.reduced.clear();
    st.reset_loops();
    s.stages.push_back(std::move(cache));
    return {};
  }
  Result<void> operator()(const schedule::CacheRead& p) const {
    if (!s.has(p.stage)) return no_stage(p.stage);
    SketchStage cache;
    cache.flags = static_cast<uint8_t>(kIsMade | kIsBefore | (at(p.stage).flags & kIsConstant));
    cache.element_bytes = at(p.stage).element_bytes;
    cache.dims = at(p.stage).dims;
    cache.reset_loops();
    s.stages.push_back(std::move(cache));
    return {};
  }
  Result<void> operator()(const schedule::Rfactor& p) const {
    TENON_TRY(leaf(p.stage, p.loop));
    SketchStage& st = at(p.stage);
    if (p.axis < 0 || p.axis > std::ssize(st.dims)) return no_dim(p.stage, p.axis);
    if (st.reduced.empty()) return no_loop(p.stage, p.loop);
    SketchStage rf;
    rf.flags = static_cast<uint8_t>((st.flags | kIsMade) & ~kIsOutput);
    rf.element_bytes = st.element_bytes;
    rf.dims = st.dims;
    rf.dims.insert(rf.dims.begin() + p.axis, st.loop(p.loop.id).facts);
    for (const int32_t l : st.leaves) {
      if (st.loop(l).reduced && l != p.loop.id) rf.reduced.push_back(st.loop(l).facts);
    }
    rf.reset_loops();
    const AxisFacts left = st.loop(p.loop.id).facts;
    keep_one_reduction(st, left);
    if (s.anchor == p.stage.id) s.anchor = static_cast<int32_t>(s.stages.size());
    st.flags = static_cast<uint8_t>(st.flags & ~kIsAnchor);
    s.stages.push_back(std::move(rf));
    return {};
  }

  // As rfactor leaves a stage: its reduction runs over the new axis, the other loops are as they were.
  static void keep_one_reduction(SketchStage& st, const AxisFacts& facts) {
    const auto kept = static_cast<int32_t>(st.dims.size());
    std::vector<int32_t> leaves;
    bool placed = false;
    for (const int32_t l : st.leaves) {
      if (!st.loop(l).reduced) {
        leaves.push_back(l);
      } else if (!placed) {
        leaves.push_back(kept);
        placed = true;
      }
    }
    st.loops[static_cast<size_t>(kept)] = {.facts = facts, .reduced = true};
    st.leaves = std::move(leaves);
    st.reduced = {facts};
    std::erase_if(st.relations,
                  [&](const SketchStage::Relation& r) { return st.loop(r.one).reduced; });
  }

  Result<void> dims(StageRef stage, int64_t dim, int64_t count = 1) const {
    if (!s.has(stage)) return no_stage(stage);
    const bool there = dim >= 0 && count >= 1 && dim + count <= std::ssize(at(stage).dims);
    if (!there) return no_dim(stage, dim);
    return {};
  }
  Result<void> operator()(const schedule::LayoutSplit& p) const {
    TENON_TRY(dims(p.stage, p.dim));
    auto& all = at(p.stage).dims;
    const AxisFacts whole = all[static_cast<size_t>(p.dim)];
    std::vector<AxisFacts> parts;
    int64_t unit = whole.unit;
    for (size_t j = p.factors.size(); j-- > 0;) {
      const int64_t f = std::max<int64_t>(1, p.factors[j]);
      parts.insert(parts.begin(), {f, whole.role, whole.axis, unit});
      unit = times(unit, f);
    }
    all.insert(all.erase(all.begin() + p.dim), parts.begin(), parts.end());
    at(p.stage).reset_loops();
    return {};
  }
  Result<void> operator()(const schedule::LayoutReorder& p) const {
    if (!s.has(p.stage)) return no_stage(p.stage);
    const std::vector<AxisFacts> old = at(p.stage).dims;
    if (p.perm.size() != old.size()) return no_dim(p.stage, std::ssize(p.perm));
    for (size_t d = 0; d < old.size(); ++d) {
      TENON_TRY(dims(p.stage, p.perm[d]));
      at(p.stage).dims[d] = old[static_cast<size_t>(p.perm[d])];
    }
    at(p.stage).reset_loops();
    return {};
  }
  Result<void> operator()(const schedule::LayoutFuse& p) const {
    TENON_TRY(dims(p.stage, p.dim, p.count));
    auto& all = at(p.stage).dims;
    const auto first = all.begin() + p.dim;
    AxisFacts fused = *(first + p.count - 1);
    for (auto d = first; d != first + (p.count - 1); ++d)
      fused.extent = times(fused.extent, d->extent);
    all.erase(first + 1, first + p.count);
    all[static_cast<size_t>(p.dim)] = fused;
    at(p.stage).reset_loops();
    return {};
  }
  Result<void> resize(StageRef stage, int64_t dim, int64_t more) const {
    TENON_TRY(dims(stage, dim));
    int64_t& extent = at(stage).dims[static_cast<size_t>(dim)].extent;
    extent = std::clamp<int64_t>(extent + more, 1, kLongestLoop);
    at(stage).reset_loops();
    return {};
  }
  Result<void> operator()(const schedule::LayoutPad& p) const {
    return resize(p.stage, p.dim, size_of(p.before) + size_of(p.after));
  }
  Result<void> operator()(const schedule::LayoutStoreAt& p) const {
    return resize(p.host, p.dim, 1);
  }
  Result<void> operator()(const schedule::LayoutUnfold& p) const {
    TENON_TRY(dims(p.stage, p.dim));
    auto& all = at(p.stage).dims;
    AxisFacts& whole = all[static_cast<size_t>(p.dim)];
    AxisFacts inner = whole;
    inner.extent = std::max<int64_t>(1, size_of(p.size));
    const int64_t stride = std::max<int64_t>(1, size_of(p.stride));
    whole.unit = times(whole.unit, stride);
    whole.extent = parts_of(std::max<int64_t>(0, whole.extent - inner.extent), stride) + 1;
    all.insert(all.begin() + p.dim + 1, inner);
    at(p.stage).reset_loops();
    return {};
  }

  template <class Other>
  Result<void> operator()(const Other&) const {
    return {};
  }
};

}  // namespace

void SketchStage::reset_loops() {
  loops.clear();
  leaves.clear();
  relations.clear();
  if ((flags & kIsInput) != 0) return;
  for (const auto* axes : {&dims, &reduced}) {
    for (const AxisFacts& f : *axes) {
      leaves.push_back(static_cast<int32_t>(loops.size()));
      loops.push_back({.facts = f, .reduced = axes == &reduced});
    }
  }
}

Result<void> Sketch::apply(const schedule::Step& step) { return std::visit(Apply{*this}, step); }

Sketch sketch_of(const schedule::State& s, const Roles& roles) {
  Sketch out;
  out.anchor = roles.anchor;
  bool after = false;
  std::vector<char> is_after(s.size(), 0);
  const size_t given = s.dag().inputs.size() + s.dag().ops.size();
  for (const schedule::StageId id : s.order()) {
    is_after[static_cast<size_t>(id)] = after ? 1 : 0;
    after = after || id == roles.anchor;
  }
  for (size_t i = 0; i < s.size(); ++i) {
    const schedule::Stage& st = s.stage(static_cast<schedule::StageId>(i));
    SketchStage k;
    const bool anchor = static_cast<int32_t>(i) == roles.anchor;
    k.flags = static_cast<uint8_t>(
        (st.is_input() ? kIsInput : 0) | (st.constant ? kIsConstant : 0) |
        (anchor ? kIsAnchor : 0) | (st.output ? kIsOutput : 0) |
        (anchor             ? 0
         : is_after[i] != 0 ? kIsAfter
                            : kIsBefore) |
        (i >= given ? kIsMade : 0) | (!st.is_input() && st.op->is_reduction() ? kReduces : 0));
    k.element_bytes = st.buffer.dtype().bytes();
    const auto& axes = roles.stages[i];
    const auto rank = static_cast<std::ptrdiff_t>(st.buffer.rank());
    k.dims.assign(axes.begin(), axes.begin() + rank);
    k.reduced.assign(axes.begin() + rank, axes.end());
    k.reset_loops();
    k.place = st.place;
    out.stages.push_back(std::move(k));
  }
  return out;
}

}  // namespace tenon::cost
