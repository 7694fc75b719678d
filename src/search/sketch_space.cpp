// SPDX-License-Identifier: Apache-2.0
// The space of all programs that fill in Ansor's sketches.
#include <algorithm>

#include "schedule/bounds.h"
#include "schedule/program.h"
#include "search/annotation.h"
#include "search/spaces.h"
#include "search/trace_mutation.h"

namespace tenon::search {
namespace {

using schedule::StageId;

enum class Change : uint8_t { kTile, kUnroll, kLocation, kParallel, kLanes, kPack };

struct ChangeRow {
  Change change;
  double weight;
};
// Tiles, unrolling, locations and parallel loops as in Ansor; lanes and packing are ours.
constexpr ChangeRow kChanges[] = {
    {Change::kTile, 0.85},     {Change::kUnroll, 0.04}, {Change::kLocation, 0.05},
    {Change::kParallel, 0.02}, {Change::kLanes, 0.02},  {Change::kPack, 0.02},
};

template <class Map>
typename Map::iterator pick_entry(Map& m, Rng& rng) {
  return std::next(m.begin(), rng.between(0, static_cast<int64_t>(m.size()) - 1));
}

template <class Map>
bool redraw(Map& m, Rng& rng) {
  if (m.empty()) return false;
  m.erase(pick_entry(m, rng));
  return true;
}

class SketchSpace : public Space {
 public:
  SketchSpace(const task::Task& t, std::span<const SketchRule> user, bool loops_alone)
      : task_(t), loops_alone_(loops_alone) {
    for (Sketch& s : make_sketches(t, user)) {
      structures_.push_back(make_structure(std::move(s), t));
      structures_.back().operands_in_loop_order = !loops_alone;
    }
  }

  std::string_view name() const override { return loops_alone_ ? "loops" : "sketch"; }
  size_t sketches() const override { return structures_.size(); }

  Result<Candidate> sample(Rng& rng) const override {
    const auto i = rng.between(0, static_cast<int64_t>(structures_.size()) - 1);
    Decisions d;
    return finish(static_cast<int32_t>(i), d, rng);
  }

  Result<Candidate> mutate(const Candidate& c, Rng& rng) const override {
    Decisions d = decisions_of(c);
    if (!change(structure(c.sketch).sketch, d, rng))
      return Illegal{.code = IllegalCode::kBadFactor};
    auto out = finish(c.sketch, d, rng);
    if (out && out->hash == c.hash) return Illegal{.code = IllegalCode::kBadFactor};
    return out;
  }

  Result<Candidate> cross(const Candidate& a, const Candidate& b, Rng& rng) const override {
    if (a.sketch != b.sketch) return Illegal{.code = IllegalCode::kBadVariant};
    Decisions d = merge(structure(a.sketch).sketch, decisions_of(a), decisions_of(b), rng);
    return finish(a.sketch, d, rng);
  }

  Result<Candidate> adopt(const schedule::Trace& trace) const override {
    auto c = replay_candidate(task_, trace);
    if (!c) return c;
    for (size_t i = 0; i < structures_.size(); ++i) {
      auto d = read_decisions(structures_[i].sketch, trace);
      if (!d) continue;
      Rng rng(0);  // whatever left no step makes no difference to the program
      const auto again = annotate(structures_[i], *d, rng);
      if (!again || again->hash != c->hash) continue;
      c.value().sketch = static_cast<int32_t>(i);
      return c;
    }
    // A program of somebody else's (a template's, say) would bring its layouts along.
    return Illegal{.code = IllegalCode::kBadVariant};
  }

 private:
  const Structure& structure(int32_t i) const { return structures_[static_cast<size_t>(i)]; }

  Result<Candidate> finish(int32_t i, Decisions& d, Rng& rng) const {
    auto c = annotate(structure(i), d, rng);
    if (c) c.value().sketch = i;
    return c;
  }

  Decisions decisions_of(const Candidate& c) const {
    auto d = read_decisions(structure(c.sketch).sketch, c.trace);
    TENON_CHECK(d.has_value()) << "the candidate is not of its sketch";
    return std::move(*d);
  }

  // ---- mutation -----------------------------------------------------------------------------------

  bool change(const Sketch& s, Decisions& d, Rng& rng) const {
    double draw = rng.unit();
    for (const ChangeRow& r : kChanges) {
      draw -= r.weight;
      if (draw <= 0) return make(r.change, s, d, rng);
    }
    return make(Change::kTile, s, d, rng);
  }

  bool make(Change c, const Sketch& s, Decisions& d, Rng& rng) const {
    switch (c) {
      case Change::kTile:
        return s.open.empty() ? redraw(d.lanes, rng) || redraw(d.location, rng)
                              : change_tile(s, d, rng);
      case Change::kUnroll:
        return redraw(d.unroll, rng);
      case Change::kLocation:
        return redraw(d.location, rng);
      case Change::kParallel:
        if (d.parallel.empty()) return false;
        pick_entry(d.parallel, rng)->second = rng.between(0, 6);
        return true;
      case Change::kLanes:
        return redraw(d.lanes, rng);
      case Change::kPack:
        return redraw(d.pack, rng);
    }
    return false;
  }

  // Mostly Ansor's move of a divisor; sometimes a size that does not divide, or a whole new tile.
  static bool change_tile(const Sketch& s, Decisions& d, Rng& rng) {
    const double draw = rng.unit();
    if (draw < 0.1 && !s.tiled.empty()) {
      const TiledStage& t = rng.pick(s.tiled);
      for (const auto* list : {&t.host_splits, &t.splits}) {
        for (const size_t o : *list) {
          if (o != kNone) d.factors[o].clear();
        }
      }
      return true;
    }
    const auto o = static_cast<size_t>(rng.between(0, static_cast<int64_t>(s.open.size()) - 1));
    const std::vector<Factors> before = d.factors;
    const int64_t extent = open_extent(s, o, before);
    if (extent < 2) return false;
    if (draw < 0.2 && s.open[o].parent == kNone) {
      d.factors[o] = draw_inexact(extent, d.factors[o].size(), rng);
    } else if (!move_divisor(d.factors[o], extent, rng)) {
      return false;
    }
    for (size_t i = o + 1; i < s.open.size(); ++i) {
      if (s.open[i].parent != o) continue;
      d.factors[i] = refit(before[i], open_extent(s, i, before), d.factors[o].back());
    }
    return true;
  }

  // ---- crossover ----------------------------------------------------------------------------------

  // Each stage has its decisions from one parent, a tile and the reader around it from the same.
  static Decisions merge(const Sketch& s, Decisions a, Decisions b, Rng& rng) {
    std::map<StageId, bool> from_b;
    for (StageId id = 0; id < static_cast<StageId>(s.state.size()); ++id)
      from_b[id] = rng.chance(0.5);
    for (const TiledStage& t : s.tiled) {
      if (t.host >= 0) from_b[t.host] = from_b[t.stage];
    }
    for (size_t o = 0; o < s.open.size(); ++o) {
      const StageId stage = std::get<schedule::Split>(s.trace[s.open[o].step]).stage.id;
      if (from_b[stage]) a.factors[o] = b.factors[o];
    }
    const auto take = [&](auto& mine, const auto& theirs) {
      for (const auto& [id, value] : theirs) {
        if (from_b[id]) mine[id] = value;
      }
    };
    take(a.location, b.location);
    take(a.parallel, b.parallel);
    take(a.unroll, b.unroll);
    take(a.lanes, b.lanes);
    take(a.pack, b.pack);
    return a;
  }

  task::Task task_;
  bool loops_alone_;
  std::vector<Structure> structures_;
};

}  // namespace

std::unique_ptr<Space> make_sketch_space(const task::Task& t) { return make_sketch_space(t, {}); }

std::unique_ptr<Space> make_sketch_space(const task::Task& t, std::span<const SketchRule> user) {
  return std::make_unique<SketchSpace>(t, user, false);
}

std::unique_ptr<Space> make_loop_space(const task::Task& t) {
  return std::make_unique<SketchSpace>(t, std::span<const SketchRule>{}, true);
}

}  // namespace tenon::search
