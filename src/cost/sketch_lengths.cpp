// SPDX-License-Identifier: Apache-2.0
// How long the loops of attached stages are.
#include <algorithm>
#include <array>

#include "cost/sketch.h"

namespace tenon::cost {

namespace {

using schedule::Place;
using schedule::RelationKind;

// How long the loops of a stage are if its axes are as long as `lengths` says.
void lengths_from_axes(SketchStage& st) {
  for (const SketchStage::Relation& r : st.relations) {
    const auto part = [&](size_t j) -> SketchLoop& {
      return st.loops[static_cast<size_t>(r.many[j])];
    };
    SketchLoop& one = st.loops[static_cast<size_t>(r.one)];
    if (r.kind == RelationKind::kFuse) {
      one.length = 1;
      for (size_t j = 0; j < r.many.size(); ++j) one.length = times(one.length, part(j).length);
      continue;
    }
    int64_t left = one.length;
    if (r.kind == RelationKind::kParts) {
      part(0).length = std::min(part(0).facts.extent, left);
      part(1).length = parts_of(left, part(0).length);
      continue;
    }
    for (size_t j = r.many.size(); j-- > 1;) {
      part(j).length = std::min(part(j).facts.extent, left);
      left = parts_of(left, part(j).facts.extent);
    }
    part(0).length = left;
  }
}

// What one run of the loop at which a stage is attached needs of each of its axes.
void lengths_from_host(const SketchStage& host, SketchStage& st) {
  std::array<int64_t, 32> needed{};  // 0: the host does not go along this axis
  bool inside = false;
  for (const int32_t l : host.leaves) {
    const SketchLoop& loop = host.loop(l);
    const int8_t axis = loop.facts.axis;
    if (axis >= 0 && axis < std::ssize(needed)) {
      int64_t& n = needed[static_cast<size_t>(axis)];
      n = times(std::max<int64_t>(1, n), inside ? loop.length : 1);
    }
    inside = inside || l == st.at_loop;
  }
  std::vector<size_t> order(st.dims.size());
  for (size_t d = 0; d < order.size(); ++d) order[d] = d;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return st.dims[a].unit < st.dims[b].unit; });
  for (const size_t d : order) {
    const AxisFacts& f = st.dims[d];
    if (f.axis < 0 || f.axis >= std::ssize(needed) || needed[static_cast<size_t>(f.axis)] == 0)
      continue;
    int64_t& n = needed[static_cast<size_t>(f.axis)];
    st.loops[d].length = std::min(f.extent, n);
    n = parts_of(n, f.extent);
  }
}

}  // namespace

void Sketch::settle() {
  std::vector<char> done(stages.size(), 0);
  const auto settle_one = [&](const auto& self, int32_t id, int depth) -> void {
    SketchStage& st = stages[static_cast<size_t>(id)];
    if (done[static_cast<size_t>(id)] != 0 || depth > 16) return;
    done[static_cast<size_t>(id)] = 1;
    for (SketchLoop& l : st.loops) l.length = l.facts.extent;
    if (st.place == Place::kAt) {
      self(self, st.at_stage, depth + 1);
      lengths_from_host(stage(st.at_stage), st);
    }
    lengths_from_axes(st);
  };
  for (size_t i = 0; i < stages.size(); ++i) settle_one(settle_one, static_cast<int32_t>(i), 0);
}

}  // namespace tenon::cost
