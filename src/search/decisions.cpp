// SPDX-License-Identifier: Apache-2.0
// Decisions read back from a trace.
#include <algorithm>

#include "search/annotation.h"

namespace tenon::search {
namespace {

using schedule::StageId;

// Equal but for what annotation fills in.
bool same_structure(const schedule::Step& sketch, const schedule::Step& step) {
  if (sketch.index() != step.index()) return false;
  if (const auto* split = std::get_if<schedule::Split>(&sketch)) {
    const auto& other = std::get<schedule::Split>(step);
    return split->stage == other.stage && split->loop == other.loop &&
           split->factors.size() == other.factors.size() && split->parts == other.parts;
  }
  if (const auto* cache = std::get_if<schedule::CacheWrite>(&sketch)) {
    const auto scope = std::get<schedule::CacheWrite>(step).scope;
    return cache->stage == std::get<schedule::CacheWrite>(step).stage &&
           (scope == cache->scope || scope == ir::Scope::kRegister);
  }
  return sketch == step;
}

class Reader {
 public:
  explicit Reader(Decisions& d) : d_(d) {}

  void read(const schedule::Step& step) {
    std::visit([&](const auto& s) { take(s); }, step);
  }

 private:
  template <class Other>
  void take(const Other&) {}
  void take(const schedule::ComputeAt& s) {
    d_.location[s.stage.id] = {Location::Kind::kAt, s.at_stage.id, s.at_loop.id};
  }
  void take(const schedule::ComputeInline& s) {
    d_.location[s.stage.id] = {Location::Kind::kInlined, -1, -1};
  }
  void take(const schedule::Fuse& s) { fused_ = static_cast<int64_t>(s.loops.size()); }
  void take(const schedule::Parallel& s) { d_.parallel[s.stage.id] = std::exchange(fused_, 1); }
  void take(const schedule::PragmaUnroll& s) { d_.unroll[s.stage.id] = s.limit; }
  void take(const schedule::Split& s) { d_.lanes[s.stage.id] = s.factors[0]; }
  // Without a split: the whole loop, however long a vector may be.
  void take(const schedule::Vectorize& s) { d_.lanes.emplace(s.stage.id, kMaxInnermost); }
  void take(const schedule::CacheRead& s) { d_.pack[s.stage.id] = true; }

  Decisions& d_;
  int64_t fused_ = 1;
};

}  // namespace

std::optional<Decisions> read_decisions(const Sketch& s, const schedule::Trace& trace) {
  if (trace.size() < s.trace.size()) return std::nullopt;
  for (size_t i = 0; i < s.trace.size(); ++i) {
    if (!same_structure(s.trace[i], trace[i])) return std::nullopt;
  }
  Decisions d;
  for (const OpenSplit& o : s.open) {
    d.factors.push_back(std::get<schedule::Split>(trace[o.step]).factors);
  }
  Reader reader(d);
  for (size_t i = s.trace.size(); i < trace.size(); ++i) reader.read(trace[i]);
  // What left no step was decided too.
  for (const schedule::StageId id : s.state.order()) {
    const schedule::Stage& st = s.state.stage(id);
    if (st.is_input()) {
      d.pack.emplace(id, false);
      continue;
    }
    d.location.emplace(id, Location{});
    d.parallel.emplace(id, 0);
    d.unroll.emplace(id, 0);
  }
  return d;
}

}  // namespace tenon::search
