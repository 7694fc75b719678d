// SPDX-License-Identifier: Apache-2.0
#include "schedule/stage.h"

#include <algorithm>

namespace tenon::schedule {

int Stage::position(LoopId l) const {
  const auto it = std::find(leaves.begin(), leaves.end(), l);
  return it == leaves.end() ? -1 : static_cast<int>(it - leaves.begin());
}

bool Stage::loops_touched() const {
  if (!relations.empty() || place != Place::kRoot) return true;
  if (init_at >= 0 || pipelined >= 0 || !prefetches.empty()) return true;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i] != static_cast<LoopId>(i) || loops[i].mark != Mark::kNone) return true;
  }
  return false;
}

std::string Stage::loop_name(LoopId l) const {
  const Loop& lp = loop(l);
  if (lp.part >= 0) return loop_name(lp.parent) + "." + std::to_string(lp.part);
  if (lp.parent < 0) {
    const size_t i = static_cast<size_t>(l);
    if (i < op->axes.size()) return op->axes[i].var.name();
    const size_t r = i - op->axes.size();
    return r < op->reduce_axes.size() ? op->reduce_axes[r].var.name() : "?";
  }
  for (const Relation& r : relations) {
    if (r.kind == RelationKind::kFuse && r.one == l) {
      std::string joined;
      for (const LoopId p : r.many) joined += (joined.empty() ? "" : "@") + loop_name(p);
      return joined;
    }
  }
  return "?";
}

LoopId Stage::find_loop(std::string_view wanted) const {
  for (size_t i = 0; i < loops.size(); ++i) {
    if (loop_name(static_cast<LoopId>(i)) == wanted) return static_cast<LoopId>(i);
  }
  return -1;
}

void reset_loops(Stage& s) {
  s.loops.clear();
  s.leaves.clear();
  s.relations.clear();
  if (s.op == nullptr) return;
  const auto add = [&](const te::Axis& a, LoopKind kind) {
    s.leaves.push_back(static_cast<LoopId>(s.loops.size()));
    Loop l;
    l.extent = a.extent;
    l.kind = kind;
    s.loops.push_back(l);
  };
  for (const te::Axis& a : s.op->axes) add(a, LoopKind::kSpatial);
  for (const te::Axis& a : s.op->reduce_axes) add(a, LoopKind::kReduce);
}

}  // namespace tenon::schedule
