// SPDX-License-Identifier: Apache-2.0
#include "search/annotation.h"

#include <algorithm>

#include "schedule/bounds.h"
#include "schedule/program.h"
#include "schedule/rules.h"
#include "search/operand_layout.h"
#include "search/tiles.h"
#include "te/access.h"

namespace tenon::search {

using schedule::LoopId;
using schedule::LoopKind;
using schedule::LoopRef;
using schedule::Mark;
using schedule::Stage;
using schedule::StageId;
using schedule::StageRef;
using schedule::State;

int64_t open_extent(const Sketch& s, size_t open, const std::vector<Factors>& factors) {
  const OpenSplit& o = s.open[open];
  return o.parent == kNone ? o.extent : factors[o.parent].back();
}

Structure make_structure(Sketch s, const task::Task& t) {
  size_t fixed = s.trace.size();
  for (const OpenSplit& o : s.open) fixed = std::min(fixed, o.step);
  for (const TiledStage& d : s.tiled) fixed = std::min(fixed, d.cache_step);
  const State initial(t.dag, t.target);
  const schedule::Trace steps(s.trace.begin(),
                              s.trace.begin() + static_cast<std::ptrdiff_t>(fixed));
  auto state = schedule::replay(initial, steps);
  TENON_CHECK(bool(state)) << schedule::render_illegal(initial, state.illegal());
  return {std::move(s), std::move(state.value()), fixed};
}

namespace {

constexpr int64_t kChunksPerCore = 16;
constexpr double kPackChance = 0.3;
constexpr int64_t kSmallWork = 4096;  // iterations that are not worth another core

class Annotator {
 public:
  Annotator(const Structure& s, Decisions& d, Rng& rng, bool registers)
      : sketch_(s.sketch),
        d_(d),
        rng_(rng),
        state_(s.fixed),
        registers_(registers),
        trace_(s.sketch.trace.begin(),
               s.sketch.trace.begin() + static_cast<std::ptrdiff_t>(s.fixed_steps)),
        fixed_steps_(s.fixed_steps),
        operands_in_loop_order_(s.operands_in_loop_order) {}

  Result<Candidate> run() {
    draw_tiles(sketch_, state_.target(), d_.factors, rng_);
    TENON_TRY(fill_structure());
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) place(*it);
    for (const StageId id : order_) run_in_parallel(id);
    TENON_TRY(mark_loops());
    if (operands_in_loop_order_) {
      for (const TiledStage& t : sketch_.tiled) store_operands(t);
    }
    if (refused_) return *refused_;
    schedule::refill_bounds(state_, bounds_);
    TENON_TRY(schedule::check_program(state_, bounds_));
    const uint64_t hash = schedule::hash(trace_);
    return Candidate{std::move(trace_), std::move(state_), -1, hash,
                     std::make_shared<const schedule::Bounds>(std::move(bounds_))};
  }

 private:
  bool add(schedule::Step step) {
    if (!schedule::check(step, state_)) return false;
    schedule::apply(step, state_);
    trace_.push_back(std::move(step));
    return true;
  }
  // A step of the decisions must not fail, or they would not say what the program is.
  void must(schedule::Step step) {
    const auto ok = schedule::check(step, state_);
    if (!ok) {
      if (!refused_) refused_ = ok.illegal();
      return;
    }
    schedule::apply(step, state_);
    trace_.push_back(std::move(step));
  }

  Result<void> fill_structure() {
    for (size_t i = fixed_steps_; i < sketch_.trace.size(); ++i) {
      schedule::Step step = sketch_.trace[i];
      if (auto* split = std::get_if<schedule::Split>(&step)) {
        for (size_t o = 0; o < sketch_.open.size(); ++o) {
          if (sketch_.open[o].step == i) split->factors = d_.factors[o];
        }
      } else if (auto* cache = std::get_if<schedule::CacheWrite>(&step)) {
        for (const TiledStage& t : sketch_.tiled) {
          if (t.cache_step == i && in_registers(t)) cache->scope = ir::Scope::kRegister;
        }
      }
      // The structure was checked when the sketch was made; only sizes are new.
      if (std::holds_alternative<schedule::Split>(step) ||
          std::holds_alternative<schedule::Rfactor>(step)) {
        TENON_TRY(schedule::check(step, state_));
      }
      schedule::apply(step, state_);
      trace_.push_back(std::move(step));
    }
    order_ = state_.order();
    return {};
  }

  bool in_registers(const TiledStage& t) const {
    return registers_ && fits_registers(sketch_, t, state_.target(), d_.factors);
  }

  const TiledStage* tiled(StageId id) const {
    for (const TiledStage& t : sketch_.tiled) {
      if (t.stage == id) return &t;
    }
    return nullptr;
  }
  const TiledStage* guest(StageId host) const {
    for (const TiledStage& t : sketch_.tiled) {
      if (t.host == host) return &t;
    }
    return nullptr;
  }
  bool is_computed(StageId id) const {
    return !state_.stage(id).is_input() && state_.stage(id).place != schedule::Place::kInlined;
  }

  // ---- where untiled stages are computed --------------------------------------------------------

  void place(StageId id) {
    const Stage& st = state_.stage(id);
    if (!is_computed(id) || st.output || st.place == schedule::Place::kAt || tiled(id) != nullptr ||
        guest(id) != nullptr) {
      return;
    }
    const auto known = d_.location.find(id);
    if (known != d_.location.end()) {
      put(id, known->second, true);
      return;
    }
    constexpr int kTries = 3;
    const std::vector<Location> all = locations(id);
    Location chosen;
    for (int t = 0; t < kTries; ++t) {
      chosen = rng_.pick(all);
      if (put(id, chosen, false)) break;
      chosen = {};
    }
    d_.location[id] = chosen;
  }

  bool put(StageId id, const Location& at, bool decided) {
    switch (at.kind) {
      case Location::Kind::kRoot:
        return true;
      case Location::Kind::kInlined:
        if (!decided) return add(schedule::ComputeInline{StageRef{id}});
        must(schedule::ComputeInline{StageRef{id}});
        return true;
      case Location::Kind::kAt:
        break;
    }
    const schedule::ComputeAt step{StageRef{id}, StageRef{at.stage}, LoopRef{at.loop}};
    const auto ok = attach(step);
    if (!ok && decided && !refused_) refused_ = ok.illegal();
    return bool(ok);
  }

  // compute_at without its bounds, which are inferred once all stages have their places.
  Result<void> attach(const schedule::ComputeAt& step) {
    TENON_TRY(schedule::check_computed(state_, step.stage));
    TENON_TRY(schedule::check_leaf(state_, step.at_stage, step.at_loop));
    State moved = state_;
    step.apply(moved);
    TENON_TRY(schedule::check_attachments(moved));
    state_ = std::move(moved);
    trace_.push_back(step);
    return {};
  }

  std::vector<Location> locations(StageId id) const {
    std::vector<Location> all{{}};
    if (!state_.stage(id).op->is_reduction()) all.push_back({Location::Kind::kInlined, -1, -1});
    const auto readers = state_.readers(id);
    for (StageId at = readers.empty() ? -1 : readers[0]; at >= 0;
         at = state_.stage(at).place == schedule::Place::kAt ? state_.stage(at).at_stage : -1) {
      add_loops(at, all);
    }
    return all;
  }

  // Outside the inner tile: up to the first spatial loop inside a reduction, or the first loop that hosts a stage.
  void add_loops(StageId at, std::vector<Location>& all) const {
    const Stage& st = state_.stage(at);
    bool reduction = false;
    for (const LoopId l : st.leaves) {
      const schedule::Loop& loop = st.loop(l);
      const bool reduce = loop.kind == LoopKind::kReduce;
      if ((reduce && tiled(at) == nullptr) || (!reduce && reduction) || loop.mark != Mark::kNone)
        return;
      reduction |= reduce;
      if (loop.extent > 1) all.push_back({Location::Kind::kAt, at, l});
      if (!state_.attached_to(at, l).empty()) return;
    }
  }

  // ---- parallel -----------------------------------------------------------------------------------

  void run_in_parallel(StageId id) {
    if (!is_computed(id) || state_.stage(id).place != schedule::Place::kRoot) return;
    const std::vector<LoopRef> outer = outer_loops(id);
    auto known = d_.parallel.find(id);
    if (known == d_.parallel.end()) known = d_.parallel.emplace(id, draw_parallel(id, outer)).first;
    const auto n =
        static_cast<size_t>(std::min<int64_t>(known->second, static_cast<int64_t>(outer.size())));
    if (n == 0) return;
    LoopRef loop = outer[0];
    if (n > 1) {
      must(schedule::Fuse{StageRef{id},
                          {outer.begin(), outer.begin() + static_cast<std::ptrdiff_t>(n)}});
      loop = {static_cast<LoopId>(state_.stage(id).loops.size()) - 1};
    }
    must(schedule::Parallel{StageRef{id}, loop});
  }

  // Consecutive spatial loops from the outermost on, up to the first that hosts a stage.
  std::vector<LoopRef> outer_loops(StageId id) const {
    std::vector<LoopRef> out;
    const Stage& st = state_.stage(id);
    for (const LoopId l : st.leaves) {
      if (st.loop(l).kind == LoopKind::kReduce || st.loop(l).mark != Mark::kNone) break;
      out.push_back({l});
      if (!state_.attached_to(id, l).empty()) break;
    }
    return out;
  }

  int64_t draw_parallel(StageId id, const std::vector<LoopRef>& outer) const {
    const Stage& st = state_.stage(id);
    int64_t work = 1;
    for (const LoopId l : st.leaves) work *= st.loop(l).extent;
    const TiledStage* inside = guest(id);
    if (inside != nullptr) {
      for (const te::Axis& a : state_.stage(inside->stage).op->reduce_axes) work *= a.extent;
    }
    if (work < kSmallWork) return 0;
    int64_t chunks = 1;
    for (size_t i = 0; i < outer.size(); ++i) {
      chunks *= st.loop(outer[i].id).extent;
      if (chunks > kChunksPerCore * state_.target().cores) return static_cast<int64_t>(i) + 1;
    }
    return chunks > 1 ? static_cast<int64_t>(outer.size()) : 0;
  }

  // ---- unrolled and vectorised loops --------------------------------------------------------------

  Result<void> mark_loops() {
    auto bounds = schedule::infer_bounds(state_, -1, schedule::BoundsFor::kSearch);
    if (!bounds) return bounds.illegal();
    bounds_ = std::move(bounds.value());
    for (const StageId id : order_) {
      if (!is_computed(id)) continue;
      if (state_.stage(id).op->is_reduction()) limit_unrolling(id);
      const auto& extents = bounds_.stages[static_cast<size_t>(id)].extents;
      const TiledStage* inside = guest(id);
      if (tiled(id) != nullptr) {
        mark_tile(*tiled(id), extents);
      } else if (inside != nullptr && in_registers(*inside)) {
        mark_register_reader(id, *inside, extents);
      } else {
        vectorize_innermost(id, extents);
      }
    }
    return {};
  }

  void limit_unrolling(StageId id) {
    auto known = d_.unroll.find(id);
    if (known == d_.unroll.end())
      known = d_.unroll.emplace(id, kUnrollLimits[rng_.between(0, 3)]).first;
    if (known->second > 0) must(schedule::PragmaUnroll{StageRef{id}, known->second});
  }

  void mark_tile(const TiledStage& t, const std::vector<int64_t>& extents) {
    const std::vector<LoopId> leaves = state_.stage(t.stage).leaves;
    const LoopId lanes = leaves.back();
    if (in_registers(t)) {
      for (const LoopId l : leaves) {
        if (l != lanes && state_.stage(t.stage).loop(l).kind == LoopKind::kSpatial &&
            extents[static_cast<size_t>(l)] > 1) {
          add(schedule::Unroll{StageRef{t.stage}, LoopRef{l}});
        }
      }
    }
    if (state_.stage(t.stage).loop(lanes).kind == LoopKind::kReduce) return;
    if (extents[static_cast<size_t>(lanes)] > 1)
      add(schedule::Vectorize{StageRef{t.stage}, LoopRef{lanes}});
  }

  // Whoever reads registers names them one by one: its loops over the tile are unrolled, the lanes those of the tile.
  void mark_register_reader(StageId id, const TiledStage& t, const std::vector<int64_t>& extents) {
    const std::vector<LoopId> leaves = state_.stage(id).leaves;
    const int at = state_.stage(id).position(state_.stage(t.stage).at_loop);
    LoopId lanes = leaves.back();
    for (size_t i = static_cast<size_t>(at) + 1; i + 1 < leaves.size(); ++i) {
      if (extents[static_cast<size_t>(leaves[i])] > 1)
        add(schedule::Unroll{StageRef{id}, LoopRef{leaves[i]}});
    }
    const int64_t wanted = vector_factor(sketch_, t, d_.factors);
    const int64_t extent = extents[static_cast<size_t>(lanes)];
    if (extent > wanted && wanted > 1) {
      if (!add(schedule::Split{StageRef{id}, LoopRef{lanes}, {wanted}})) return;
      lanes = static_cast<LoopId>(state_.stage(id).loops.size()) - 1;
      add(schedule::Unroll{StageRef{id}, LoopRef{lanes - 1}});
    } else if (wanted == 1) {
      add(schedule::Unroll{StageRef{id}, LoopRef{lanes}});
      return;
    }
    if (extent > 1) add(schedule::Vectorize{StageRef{id}, LoopRef{lanes}});
  }

  // The last spatial loop of more than one iteration; -1 where lanes would not be neighbours.
  LoopId lane_loop(StageId id, const std::vector<int64_t>& extents) const {
    const Stage& st = state_.stage(id);
    bool outside_reduction = false;
    for (auto it = st.leaves.rbegin(); it != st.leaves.rend(); ++it) {
      const schedule::Loop& l = st.loop(*it);
      if (!state_.attached_to(id, *it).empty()) return -1;
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

  static bool has_unit_strides(const Stage& st, LoopId l) {
    while (st.loop(l).parent >= 0) l = st.loop(l).parent;
    for (const te::Access& a : te::accesses(*st.op)) {
      if (a.strides[static_cast<size_t>(l)] > 1) return false;
    }
    return true;
  }

  void vectorize_innermost(StageId id, const std::vector<int64_t>& extents) {
    LoopId l = lane_loop(id, extents);
    if (l < 0) return;
    const int64_t width = state_.target().lanes(state_.stage(id).buffer.dtype().bytes());
    auto known = d_.lanes.find(id);
    if (known == d_.lanes.end()) {
      const int64_t drawn = std::min<int64_t>(kMaxInnermost, width << rng_.between(0, 2));
      known = d_.lanes.emplace(id, std::max<int64_t>(2, drawn)).first;
    }
    if (extents[static_cast<size_t>(l)] > known->second) {
      if (!add(schedule::Split{StageRef{id}, LoopRef{l}, {known->second}})) return;
      l = static_cast<LoopId>(state_.stage(id).loops.size()) - 1;
    }
    const Stage& st = state_.stage(id);
    std::vector<LoopRef> order;
    for (size_t i = static_cast<size_t>(st.position(l)) + 1; i < st.leaves.size(); ++i) {
      if (st.loop(st.leaves[i]).mark == Mark::kNone) order.push_back({st.leaves[i]});
    }
    order.push_back({l});
    if (order.size() > 1) add(schedule::Reorder{StageRef{id}, order});
    add(schedule::Vectorize{StageRef{id}, LoopRef{l}});
  }

  // ---- operands -----------------------------------------------------------------------------------

  void store_operands(const TiledStage& t) {
    for (const Operand& o : find_operands(sketch_, t, state_, d_.factors)) {
      if (state_.stage(o.tensor).constant) {
        store(o.tensor, o);
        continue;
      }
      auto known = d_.pack.find(o.tensor);
      if (known == d_.pack.end())
        known = d_.pack.emplace(o.tensor, o.reuse >= 8 && rng_.chance(kPackChance)).first;
      if (known->second) pack(t, o);
    }
  }

  bool store(StageId tensor, const Operand& o) {
    const State before = state_;
    const size_t steps = trace_.size();
    for (const schedule::Step& s : layout_steps(StageRef{tensor}, o)) {
      if (add(s)) continue;
      state_ = before;
      trace_.resize(steps);
      return false;
    }
    return true;
  }

  void pack(const TiledStage& t, const Operand& o) {
    must(schedule::CacheRead{StageRef{o.tensor}, {StageRef{t.stage}}, ir::Scope::kGlobal});
    if (refused_) return;
    const auto copy = static_cast<StageId>(state_.size()) - 1;
    store(copy, o);
    run_in_parallel(copy);
    const std::vector<LoopId> leaves = state_.stage(copy).leaves;
    std::vector<int64_t> extents;
    for (const schedule::Loop& l : state_.stage(copy).loops) extents.push_back(l.extent);
    vectorize_innermost(copy, extents);
  }

  const Sketch& sketch_;
  Decisions& d_;
  Rng& rng_;
  State state_;
  bool registers_;
  schedule::Trace trace_;
  size_t fixed_steps_;
  bool operands_in_loop_order_;
  std::vector<StageId> order_;
  schedule::Bounds bounds_;  // before loops are cut into lanes, then up to date
  std::optional<Illegal> refused_;
};

bool is_register_code(IllegalCode c) {
  return c == IllegalCode::kRegisterPressure || c == IllegalCode::kRegisterDynamic ||
         c == IllegalCode::kRegisterLanes || c == IllegalCode::kRegisterGather ||
         c == IllegalCode::kRegisterShared;
}

}  // namespace

Result<Candidate> annotate(const Structure& s, Decisions& d, Rng& rng) {
  auto c = Annotator(s, d, rng, true).run();
  // What does not fit the registers after all is held in memory.
  if (!c && is_register_code(c.illegal().code)) return Annotator(s, d, rng, false).run();
  return c;
}

}  // namespace tenon::search
