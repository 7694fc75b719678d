// SPDX-License-Identifier: Apache-2.0
#include "search/sketch/annotate.h"

#include <algorithm>

#include "schedule/program.h"
#include "schedule/rules.h"
#include "search/sketch/find_step.h"
#include "search/sketch/gpu_annotate.h"
#include "search/sketch/lanes.h"
#include "search/sketch/operand_layout.h"
#include "search/sketch/tiles.h"

namespace tenon::search {

using schedule::LoopId;
using schedule::LoopKind;
using schedule::LoopRef;
using schedule::Mark;
using schedule::Stage;
using schedule::StageId;
using schedule::StageRef;
using schedule::State;
using space::Builder;
using space::Domain;
using space::HoleKind;
using space::Loop;
using space::Value;

namespace {

constexpr double kPackChance = 0.3, kRegisterChance = 0.9, kRuleChance = 0.9;
constexpr int64_t kPackedReuse = 8;  // reads of each element that make a copy worth a thought

enum Switch : int32_t { kInRegisters, kPacked };  // HoleId::number of switches

State state_after(const task::Task& t, const schedule::Trace& steps) {
  const State initial(t.dag, t.target);
  auto state = schedule::replay(initial, steps);
  TENON_CHECK(bool(state)) << schedule::render_illegal(initial, state.illegal());
  return std::move(state.value());
}

size_t fixed_steps(const Sketch& s) {
  size_t fixed = s.trace.size();
  for (const OpenSplit& o : s.open) fixed = std::min(fixed, o.step);
  for (const TiledStage& d : s.tiled) fixed = std::min(fixed, d.cache_step);
  return fixed;
}

}  // namespace

SketchSkeleton::SketchSkeleton(Sketch s, const task::Task& t, bool operands_in_loop_order)
    : sketch_(std::move(s)),
      fixed_trace_(sketch_.trace.begin(),
                   sketch_.trace.begin() + static_cast<std::ptrdiff_t>(fixed_steps(sketch_))),
      fixed_(state_after(t, fixed_trace_)),
      operands_in_loop_order_(operands_in_loop_order) {
  for (const OpenSplit& o : sketch_.open) domains_.add(o.extent);
  for (Plan& p : sketch_.plans) {
    if (p.kind == PlanKind::kTransform) p.matrix = matrix_loops(sketch_.state, p.stage);
  }
}

class Annotator {
 public:
  Annotator(const SketchSkeleton& s, Builder& b) : s_(s), sketch_(s.sketch_), b_(b) {}

  void run() {
    b_.start_from(s_.fixed_, s_.fixed_trace_);
    tiles_ = ask_tiles(b_, sketch_, s_.domains_);
    for (const TiledStage& t : sketch_.tiled) ask_registers(t);
    if (b_.refuse_unwanted()) return;
    fill_structure();
    if (b_.refused()) return;
    if (!b_.target().is_cpu()) return annotate_gpu(b_, sketch_, s_.operands_in_loop_order_);
    order_ = b_.state().order();
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) place(*it);
    for (const StageId id : order_) run_in_parallel(id);
    if (b_.refuse_unwanted()) return;
    mark_loops();
    if (s_.operands_in_loop_order_) {
      for (const TiledStage& t : sketch_.tiled) store_operands(t);
    }
    finish();
  }

 private:
  const State& state() const { return b_.state(); }

  void finish() {
    if (b_.refused()) return;
    schedule::refill_bounds(state(), bounds_);
    const auto fits = schedule::check_program(state(), bounds_);
    if (!fits) return b_.refuse(fits.illegal());
    b_.set_bounds(std::move(bounds_));
  }

  // ---- structure --------------------------------------------------------------------------------

  void ask_registers(const TiledStage& t) {
    if (!fits_registers(sketch_, t, b_.target().cpu(), tiles_.factors)) return;
    const auto weights = [](const Domain&) {
      return std::vector<double>{1 - kRegisterChance, kRegisterChance};
    };
    const auto read = [&](const schedule::Trace& trace) -> std::optional<int64_t> {
      const auto* cache = t.cache_step < trace.size()
                              ? std::get_if<schedule::CacheWrite>(&trace[t.cache_step])
                              : nullptr;
      return cache != nullptr && cache->scope == ir::Scope::kRegister;
    };
    const Value in = b_.ask({HoleKind::kSwitch, t.stage, kInRegisters}, "registers",
                            Domain::range(0, 1), 1, weights, read);
    if (in == 1) in_registers_.push_back(t.stage);
  }

  bool in_registers(const TiledStage& t) const {
    return std::find(in_registers_.begin(), in_registers_.end(), t.stage) != in_registers_.end();
  }

  void fill_structure() {
    for (size_t i = s_.fixed_trace_.size(); i < sketch_.trace.size(); ++i) {
      schedule::Step step = sketch_.trace[i];
      if (const auto* split = std::get_if<schedule::Split>(&step)) {
        if (const size_t o = open_at(i); o != kNone) {
          b_.split(Loop{split->stage, split->loop}, tiles_.values[o]);
          continue;
        }
      } else if (auto* cache = std::get_if<schedule::CacheWrite>(&step)) {
        for (const TiledStage& t : sketch_.tiled) {
          if (t.cache_step == i && in_registers(t)) cache->scope = ir::Scope::kRegister;
        }
      }
      // The structure was checked when the sketch was made; only sizes are new.
      if (std::holds_alternative<schedule::Rfactor>(step)) {
        b_.add(std::move(step));
      } else {
        b_.add_checked(std::move(step));
      }
    }
  }

  size_t open_at(size_t step) const {
    for (size_t o = 0; o < sketch_.open.size(); ++o) {
      if (sketch_.open[o].step == step) return o;
    }
    return kNone;
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
    return !state().stage(id).is_input() && state().stage(id).place != schedule::Place::kInlined;
  }

  // ---- where untiled stages are computed --------------------------------------------------------

  // 0: on its own; 1: inlined; from 2 on, inside loops, the outermost first.
  void place(StageId id) {
    const Stage& st = state().stage(id);
    if (!is_computed(id) || st.output || st.place == schedule::Place::kAt || tiled(id) != nullptr ||
        guest(id) != nullptr) {
      return;
    }
    const std::vector<Loop> loops = hosts_of(id);
    std::vector<int64_t> values{0};
    const bool inlinable = !st.op->is_reduction() &&
                           bool(schedule::check(schedule::ComputeInline{StageRef{id}}, state()));
    if (inlinable) values.push_back(1);
    for (size_t i = 0; i < loops.size(); ++i) values.push_back(2 + static_cast<int64_t>(i));
    const auto alike = [](const Domain& d) { return std::vector<double>(d.size(), 1); };
    const auto read = [&](const schedule::Trace& trace) { return location_in(trace, id, loops); };
    const int64_t at = b_.ask({HoleKind::kLocation, id, 0}, "location", Domain::of(values),
                              values.back(), alike, read);
    if (at == 1) b_.add_checked(schedule::ComputeInline{StageRef{id}});
    if (at >= 2) b_.compute_at(StageRef{id}, loops[static_cast<size_t>(at - 2)]);
  }

  static std::optional<int64_t> location_in(const schedule::Trace& trace, StageId id,
                                            const std::vector<Loop>& loops) {
    const auto of_stage = [&](const auto& step) { return step.stage.id == id; };
    const auto* at = find_step<schedule::ComputeAt>(trace, of_stage);
    if (at == nullptr)
      return find_step<schedule::ComputeInline>(trace, of_stage) != nullptr ? 1 : 0;
    for (size_t i = 0; i < loops.size(); ++i) {
      if (loops[i] == Loop{at->at_stage, at->at_loop}) return 2 + static_cast<int64_t>(i);
    }
    return std::nullopt;
  }

  // Loops that all readers lie under, from the outermost on.
  std::vector<Loop> hosts_of(StageId id) const {
    std::vector<std::vector<Loop>> nests;
    const auto readers = state().readers(id);
    for (StageId at = readers.empty() ? -1 : readers[0]; at >= 0;
         at = state().stage(at).place == schedule::Place::kAt ? state().stage(at).at_stage : -1) {
      nests.push_back(loops_of(at, readers));
    }
    std::vector<Loop> out;
    for (auto it = nests.rbegin(); it != nests.rend(); ++it)
      out.insert(out.end(), it->begin(), it->end());
    return out;
  }

  // Outside the inner tile: up to the first spatial loop inside a reduction, or the first loop that hosts a stage.
  std::vector<Loop> loops_of(StageId at, const std::vector<StageId>& readers) const {
    const Stage& st = state().stage(at);
    std::vector<Loop> out;
    bool reduction = false;
    for (size_t i = 0; i < st.leaves.size(); ++i) {
      const LoopId l = st.leaves[i];
      const schedule::Loop& loop = st.loop(l);
      const bool reduce = loop.kind == LoopKind::kReduce;
      if ((reduce && tiled(at) == nullptr) || (!reduce && reduction) || loop.mark != Mark::kNone)
        break;
      reduction |= reduce;
      const bool holds_all = std::all_of(readers.begin(), readers.end(), [&](StageId r) {
        return schedule::is_below(state(), r, at, static_cast<int>(i));
      });
      if (loop.extent > 1 && holds_all) out.push_back({StageRef{at}, LoopRef{l}});
      if (!state().attached_to(at, l).empty()) break;
    }
    return out;
  }

  // ---- parallel -----------------------------------------------------------------------------------

  void run_in_parallel(StageId id) {
    if (b_.refused() || !is_computed(id) || state().stage(id).place != schedule::Place::kRoot)
      return;
    const std::vector<Loop> outer = outer_loops(id);
    const int64_t rule = good_parallel(id, outer);
    const auto weights = [&](const Domain& d) {
      std::vector<double> w(d.size(), (1 - kRuleChance) / static_cast<double>(d.size()));
      w[static_cast<size_t>(rule)] += kRuleChance;
      return w;
    };
    const auto read = [&](const schedule::Trace& trace) { return parallel_in(trace, id); };
    const int64_t n =
        b_.ask({HoleKind::kParallel, id, 0}, "parallel",
               Domain::range(0, static_cast<int64_t>(outer.size())), rule, weights, read);
    if (n == 0) return;
    b_.parallel(b_.fuse({outer.begin(), outer.begin() + static_cast<std::ptrdiff_t>(n)}));
  }

  static std::optional<int64_t> parallel_in(const schedule::Trace& trace, StageId id) {
    for (size_t i = 0; i < trace.size(); ++i) {
      const auto* parallel = std::get_if<schedule::Parallel>(&trace[i]);
      if (parallel == nullptr || parallel->stage.id != id) continue;
      const auto* fuse = i == 0 ? nullptr : std::get_if<schedule::Fuse>(&trace[i - 1]);
      return fuse != nullptr && fuse->stage.id == id ? std::ssize(fuse->loops) : 1;
    }
    return 0;
  }

  // Consecutive spatial loops from the outermost on, up to the first that hosts a stage.
  std::vector<Loop> outer_loops(StageId id) const {
    std::vector<Loop> out;
    const Stage& st = state().stage(id);
    for (const LoopId l : st.leaves) {
      if (st.loop(l).kind == LoopKind::kReduce || st.loop(l).mark != Mark::kNone) break;
      out.push_back({StageRef{id}, LoopRef{l}});
      if (!state().attached_to(id, l).empty()) break;
    }
    return out;
  }

  int64_t good_parallel(StageId id, const std::vector<Loop>& outer) const {
    const Stage& st = state().stage(id);
    int64_t work = 1;
    for (const LoopId l : st.leaves) work *= st.loop(l).extent;
    const TiledStage* inside = guest(id);
    if (inside != nullptr) {
      for (const te::Axis& a : state().stage(inside->stage).op->reduce_axes) work *= a.extent;
    }
    const target::Cpu& cpu = b_.target().cpu();
    if (work < cpu.parallel_iterations) return 0;
    int64_t chunks = 1;
    for (size_t i = 0; i < outer.size(); ++i) {
      chunks *= b_.extent(outer[i]);
      if (chunks > cpu.pieces_per_core * cpu.cores) return static_cast<int64_t>(i) + 1;
    }
    return chunks > 1 ? static_cast<int64_t>(outer.size()) : 0;
  }

  // ---- unrolled and vectorised loops --------------------------------------------------------------

  void mark_loops() {
    if (b_.refused()) return;
    auto bounds = schedule::infer_bounds(state(), -1, schedule::BoundsFor::kSearch);
    if (!bounds) return b_.refuse(bounds.illegal());
    bounds_ = std::move(bounds.value());
    for (const StageId id : order_) {
      if (!is_computed(id)) continue;
      if (state().stage(id).op->is_reduction()) limit_unrolling(id);
      const auto& extents = bounds_.stages[static_cast<size_t>(id)].extents;
      const TiledStage* inside = guest(id);
      if (tiled(id) != nullptr) {
        mark_tile(b_, id, in_registers(*tiled(id)), extents);
      } else if (inside != nullptr && in_registers(*inside)) {
        mark_register_reader(b_, id, state().stage(inside->stage).at_loop,
                             vector_factor(sketch_, *inside, tiles_.factors), extents);
      } else {
        vectorize_innermost(b_, id, extents);
      }
    }
  }

  void limit_unrolling(StageId id) {
    const auto alike = [](const Domain& d) { return std::vector<double>(d.size(), 1); };
    const auto read = [&](const schedule::Trace& trace) -> std::optional<int64_t> {
      const auto* step =
          find_step<schedule::PragmaUnroll>(trace, [&](const auto& u) { return u.stage.id == id; });
      return step == nullptr ? 0 : step->limit;
    };
    const Value limit =
        b_.ask({HoleKind::kUnroll, id, 0}, "unroll", Domain::of({0, 16, 64, 512}), 16, alike, read);
    if (limit > 0) b_.limit_unrolling(StageRef{id}, limit);
  }

  // ---- operands -----------------------------------------------------------------------------------

  void store_operands(const TiledStage& t) {
    if (b_.refused()) return;
    for (const Operand& o : find_operands(sketch_, t, state(), tiles_.factors)) {
      if (state().stage(o.tensor).constant) {
        store(o.tensor, o);
        continue;
      }
      if (o.reuse < kPackedReuse) continue;
      const auto weights = [](const Domain&) {
        return std::vector<double>{1 - kPackChance, kPackChance};
      };
      const auto read = [&](const schedule::Trace& trace) -> std::optional<int64_t> {
        return find_step<schedule::CacheRead>(
                   trace, [&](const auto& c) { return c.stage.id == o.tensor; }) != nullptr;
      };
      const Value packed = b_.ask({HoleKind::kSwitch, o.tensor, kPacked}, "packed",
                                  Domain::range(0, 1), 0, weights, read);
      if (packed == 1) pack(t, o);
    }
  }

  // All steps or none.
  void store(StageId tensor, const Operand& o) {
    const auto before = b_.mark();
    for (const schedule::Step& s : layout_steps(StageRef{tensor}, o)) {
      if (b_.try_add(s)) continue;
      b_.back_to(before);
      return;
    }
  }

  void pack(const TiledStage& t, const Operand& o) {
    const StageRef copy =
        b_.cache_read(StageRef{o.tensor}, {StageRef{t.stage}}, ir::Scope::kGlobal);
    if (b_.refused()) return;
    store(copy.id, o);
    run_in_parallel(copy.id);
    if (b_.refused()) return;
    std::vector<int64_t> extents;
    for (const schedule::Loop& l : state()[copy].loops) extents.push_back(l.extent);
    vectorize_innermost(b_, copy.id, extents);
  }

  const SketchSkeleton& s_;
  const Sketch& sketch_;
  Builder& b_;
  Tiles tiles_;
  std::vector<StageId> in_registers_;
  std::vector<StageId> order_;
  schedule::Bounds bounds_;  // before loops are cut into lanes, then up to date
};

void SketchSkeleton::write(Builder& b) const { Annotator(*this, b).run(); }

}  // namespace tenon::search
