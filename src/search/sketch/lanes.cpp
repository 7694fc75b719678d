// SPDX-License-Identifier: Apache-2.0
#include "search/sketch/lanes.h"

#include <algorithm>

#include "search/sketch/factors.h"
#include "search/sketch/find_step.h"
#include "te/access.h"

namespace tenon::search {
namespace {

using schedule::LoopId;
using schedule::LoopKind;
using schedule::LoopRef;
using schedule::Mark;
using schedule::Stage;
using schedule::StageId;
using schedule::StageRef;
using space::Builder;
using space::Domain;

bool has_unit_strides(const Stage& st, LoopId l) {
  while (st.loop(l).parent >= 0) l = st.loop(l).parent;
  for (const te::Access& a : te::accesses(*st.op)) {
    if (a.strides[static_cast<size_t>(l)] > 1) return false;
  }
  return true;
}

// The last spatial loop of more than one iteration; -1 where lanes would not be neighbours.
LoopId lane_loop(const schedule::State& s, StageId id, const std::vector<int64_t>& extents) {
  const Stage& st = s.stage(id);
  bool outside_reduction = false;
  for (auto it = st.leaves.rbegin(); it != st.leaves.rend(); ++it) {
    const schedule::Loop& l = st.loop(*it);
    if (!s.attached_to(id, *it).empty()) return -1;
    if (l.mark == Mark::kUnroll) continue;
    if (l.mark != Mark::kNone) return -1;
    if (l.kind == LoopKind::kReduce) {
      outside_reduction = true;
      continue;
    }
    if (extents[static_cast<size_t>(*it)] < 2) continue;
    return outside_reduction && !has_unit_strides(st, *it) ? -1 : *it;
  }
  return -1;
}

// One, two or four vectors; of those that hold the whole loop one is enough.
Domain lane_counts(int64_t width, int64_t extent) {
  std::vector<int64_t> out;
  for (const int64_t vectors : {1, 2, 4}) {
    const int64_t lanes = std::max<int64_t>(2, std::min(kMaxInnermost, vectors * width));
    if (!out.empty() && (out.back() == lanes || out.back() >= extent)) break;
    out.push_back(lanes);
  }
  return Domain::of(std::move(out));
}

LoopId newest_loop(const Builder& b, StageId id) {
  return static_cast<LoopId>(b.state().stage(id).loops.size()) - 1;
}

}  // namespace

void mark_tile(Builder& b, StageId id, bool in_registers, const std::vector<int64_t>& extents) {
  const std::vector<LoopId> leaves = b.state().stage(id).leaves;
  const LoopId lanes = leaves.back();
  if (in_registers) {
    for (const LoopId l : leaves) {
      if (l != lanes && b.state().stage(id).loop(l).kind == LoopKind::kSpatial &&
          extents[static_cast<size_t>(l)] > 1) {
        b.try_add(schedule::Unroll{StageRef{id}, LoopRef{l}});
      }
    }
  }
  if (b.state().stage(id).loop(lanes).kind == LoopKind::kReduce) return;
  if (extents[static_cast<size_t>(lanes)] > 1)
    b.try_add(schedule::Vectorize{StageRef{id}, LoopRef{lanes}});
}

void mark_register_reader(Builder& b, StageId id, LoopId at, int64_t lanes,
                          const std::vector<int64_t>& extents) {
  const std::vector<LoopId> leaves = b.state().stage(id).leaves;
  const int position = b.state().stage(id).position(at);
  LoopId last = leaves.back();
  for (size_t i = static_cast<size_t>(position) + 1; i + 1 < leaves.size(); ++i) {
    if (extents[static_cast<size_t>(leaves[i])] > 1)
      b.try_add(schedule::Unroll{StageRef{id}, LoopRef{leaves[i]}});
  }
  const int64_t extent = extents[static_cast<size_t>(last)];
  if (extent > lanes && lanes > 1) {
    if (!b.try_add(schedule::Split{StageRef{id}, LoopRef{last}, {lanes}})) return;
    last = newest_loop(b, id);
    b.try_add(schedule::Unroll{StageRef{id}, LoopRef{last - 1}});
  } else if (lanes == 1) {
    b.try_add(schedule::Unroll{StageRef{id}, LoopRef{last}});
    return;
  }
  if (extent > 1) b.try_add(schedule::Vectorize{StageRef{id}, LoopRef{last}});
}

void vectorize_innermost(Builder& b, StageId id, const std::vector<int64_t>& extents) {
  LoopId l = lane_loop(b.state(), id, extents);
  if (l < 0) return;
  const int64_t extent = extents[static_cast<size_t>(l)];
  const int64_t width = b.target().cpu().lanes(b.state().stage(id).buffer.dtype().bytes());
  const auto alike = [](const Domain& d) { return std::vector<double>(d.size(), 1); };
  const Domain counts = lane_counts(width, extent);
  const auto read = [&](const schedule::Trace& trace) -> std::optional<int64_t> {
    const auto* split = find_step<schedule::Split>(
        trace, [&](const auto& s) { return s.stage.id == id && s.loop.id == l; });
    return split == nullptr ? counts.at(counts.size() - 1) : split->factors[0];
  };
  const space::Value lanes =
      b.ask({space::HoleKind::kLanes, id, 0}, "lanes", counts, width, alike, read);
  if (extent > lanes) {
    l = b.split<2>({StageRef{id}, LoopRef{l}}, {lanes})[1].id.id;
    if (b.refused()) return;
  }
  const Stage& st = b.state().stage(id);
  std::vector<LoopRef> order;
  for (size_t i = static_cast<size_t>(st.position(l)) + 1; i < st.leaves.size(); ++i) {
    if (st.loop(st.leaves[i]).mark == Mark::kNone) order.push_back({st.leaves[i]});
  }
  order.push_back({l});
  if (order.size() > 1) b.try_add(schedule::Reorder{StageRef{id}, order});
  b.try_add(schedule::Vectorize{StageRef{id}, LoopRef{l}});
}

}  // namespace tenon::search
