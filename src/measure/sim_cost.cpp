// SPDX-License-Identifier: Apache-2.0
#include "measure/sim_cost.h"

#include <algorithm>
#include <cmath>

#include "ir/visit.h"
#include "measure/sim_gpu_cost.h"
#include "te/access.h"

namespace tenon::measure {
namespace {

using schedule::LoopId;
using schedule::LoopKind;
using schedule::Mark;
using schedule::Stage;
using schedule::StageId;

constexpr double kCycle_s = 0.3e-9;
constexpr double kFork_s = 3e-6;
constexpr double kIssue = 2;          // arithmetic instructions, and loads, in a cycle
constexpr double kLatency = 4;        // of a multiply-add
constexpr double kMemoryLatency = 9;  // the same through memory
constexpr double kLoopCycles = 1.5;   // for each turn of the innermost loop that is not unrolled
constexpr double kSelectCost = 0.5, kCallCost = 12;
constexpr double kCodeSteps = 1024;  // copies of the body that the instruction cache holds
constexpr double kHidden = 0.7;      // of the shorter of computing and moving data
constexpr double kUsable = 0.8;      // of a cache
constexpr double kFar = 1e18;        // an index that jumps anywhere
constexpr double kNoL3Bytes = 16 << 20;
constexpr double kBytesPerCycle[] = {32, 10, 4};  // into the first level, the second, the third

// A loop around a statement, and the axes of the statement's stage that move with it.
struct Term {
  const schedule::Loop* loop;
  double extent;
  std::vector<bool> moves;  // axes, then reductions
  bool own;
};

// A tensor that the statement reads or writes.
struct Touched {
  std::vector<ir::Expr> indices;  // by dimension, over the axes
  std::vector<double> shape;
  std::vector<int64_t> strides;  // by axis
  double bytes;                  // of an element
};

class StageCost {
 public:
  StageCost(const schedule::State& s, const schedule::Bounds& b, const Stage& st)
      : s_(s), b_(b), st_(st), axes_(st.op->axes) {
    axes_.insert(axes_.end(), st.op->reduce_axes.begin(), st.op->reduce_axes.end());
    add_terms(st);
    for (const te::Access& a : te::accesses(*st.op)) touched_.push_back(read(a));
    touched_.push_back(written());
    for (size_t i = 0; i <= terms_.size(); ++i) {
      footprints_.emplace_back();
      for (const Touched& t : touched_) footprints_.back().push_back(footprint(t, i));
    }
    find_tile();
  }

  double seconds(int threads) const {
    double parallel = 1;
    for (const Term& t : terms_) {
      if (t.loop->mark == Mark::kParallel) parallel *= t.extent;
    }
    const double compute = compute_cycles(), memory = memory_cycles();
    const double cycles = std::max(compute, memory) + (1 - kHidden) * std::min(compute, memory);
    const double share = std::ceil(parallel / threads) / parallel;
    return cycles * kCycle_s * share + (parallel > 1 ? kFork_s : 0);
  }

 private:
  // ---- loops ----------------------------------------------------------------------------------------------------

  void add_terms(const Stage& st, LoopId until = -1) {
    if (st.place == schedule::Place::kAt) add_terms(s_.stage(st.at_stage), st.at_loop);
    const schedule::StageBounds& sb = b_.stages[static_cast<size_t>(st.id)];
    for (const LoopId l : st.leaves) {
      const double extent = static_cast<double>(std::max<int64_t>(1, sb.extents[at(l)]));
      Term t{&st.loop(l), extent, std::vector<bool>(axes_.size(), false), st.id == st_.id};
      for (size_t d = 0; d < axes_.size(); ++d) t.moves[d] = moves(st, sb, l, d);
      terms_.push_back(std::move(t));
      if (l == until) return;
    }
  }

  static size_t at(LoopId l) { return static_cast<size_t>(l); }

  bool moves(const Stage& st, const schedule::StageBounds& sb, LoopId l, size_t axis) const {
    if (st.id == st_.id) return comes_from(st, l, static_cast<LoopId>(axis));
    const auto& own = b_.stages[static_cast<size_t>(st_.id)].axes;
    return axis < own.size() && ir::uses_var(own[axis].min, sb.vars[at(l)].node());
  }

  static bool comes_from(const Stage& st, LoopId l, LoopId axis) {
    if (l == axis) return true;
    for (const schedule::Relation& r : st.relations) {
      const bool fused = r.kind == schedule::RelationKind::kFuse;
      if (fused && r.one == l) {
        return std::any_of(r.many.begin(), r.many.end(),
                           [&](LoopId part) { return comes_from(st, part, axis); });
      }
      if (!fused && std::find(r.many.begin(), r.many.end(), l) != r.many.end())
        return comes_from(st, r.one, axis);
    }
    return false;
  }

  // ---- tensors --------------------------------------------------------------------------------------------------

  Touched read(const te::Access& a) const {
    Touched t{a.indices, {}, a.strides, static_cast<double>(a.tensor.dtype().bytes())};
    for (const int64_t e : a.tensor.shape()) t.shape.push_back(static_cast<double>(e));
    return t;
  }

  Touched written() const {
    Touched t{{}, {}, {}, static_cast<double>(st_.buffer.dtype().bytes())};
    t.strides.assign(axes_.size(), 0);
    int64_t stride = 1;
    for (size_t d = st_.op->axes.size(); d-- > 0;) {
      t.strides[d] = stride;
      stride *= st_.op->axes[d].extent;
    }
    for (size_t d = 0; d < st_.op->axes.size(); ++d) {
      t.indices.emplace_back(axes_[d].var);
      t.shape.push_back(static_cast<double>(axes_[d].extent));
    }
    return t;
  }

  bool depends(const Touched& t, const Term& term) const {
    for (size_t d = 0; d < axes_.size(); ++d) {
      if (term.moves[d] && t.strides[d] != 0) return true;
    }
    return false;
  }

  // How far an index goes while its axes run through `covered` each.
  double span(const ir::Expr& e, const std::vector<double>& covered) const {
    for (size_t d = 0; d < axes_.size(); ++d) {
      if (e.same_as(axes_[d].var))
        return std::min(covered[d], static_cast<double>(axes_[d].extent)) - 1;
    }
    if (ir::const_int(e)) return 0;
    const auto* b = e.as<ir::Binary>();
    if (b == nullptr) return kFar;
    const double x = span(b->a, covered), y = span(b->b, covered);
    const auto k = ir::const_int(b->b);
    const double by = k ? std::max(1.0, std::abs(static_cast<double>(*k))) : 1;
    switch (b->op) {
      case ir::BinaryOp::kAdd:
      case ir::BinaryOp::kSub:
        return x + y;
      case ir::BinaryOp::kMul:
        return k ? x * by : kFar;
      case ir::BinaryOp::kFloorDiv:
        return k ? std::ceil(x / by) : kFar;
      case ir::BinaryOp::kFloorMod:
        return k ? std::min(x, by - 1) : kFar;
      case ir::BinaryOp::kMin:
      case ir::BinaryOp::kMax:
        return std::max(x, y);
      default:
        return kFar;
    }
  }

  // Bytes that the loops from `first` on touch, in whole lines.
  double footprint(const Touched& t, size_t first) const {
    std::vector<double> covered(axes_.size(), 1);
    for (size_t i = first; i < terms_.size(); ++i) {
      for (size_t d = 0; d < axes_.size(); ++d) {
        if (terms_[i].moves[d]) covered[d] *= terms_[i].extent;
      }
    }
    double elements = 1, run = 1;
    for (size_t d = 0; d < t.shape.size(); ++d) {
      run = std::min(t.shape[d], 1 + span(t.indices[d], covered));
      elements *= run;
    }
    const double line = static_cast<double>(s_.target().cpu().line_bytes);
    return elements * t.bytes * std::max(1.0, line / (run * t.bytes));
  }

  // ---- instructions ---------------------------------------------------------------------------------------------

  // The loops that leave straight code: marked ones, and those that the limit of copies admits.
  void find_tile() {
    double copies = 1;
    tile_ = terms_.size();
    while (tile_ > 0) {
      const Term& t = terms_[tile_ - 1];
      const bool marked = t.loop->mark == Mark::kVectorize || t.loop->mark == Mark::kUnroll ||
                          t.loop->mark == Mark::kTensorize;
      if (t.loop->mark != Mark::kVectorize) copies *= t.extent;
      const bool small = copies <= static_cast<double>(st_.unroll_limit);
      if (!t.own || t.loop->mark == Mark::kParallel || !(marked || small || t.extent == 1)) return;
      --tile_;
    }
  }

  double loads(const Touched& t, double width) const {
    double n = 1;
    for (size_t i = tile_; i < terms_.size(); ++i) {
      if (!depends(t, terms_[i])) continue;
      const bool lanes = terms_[i].loop->mark == Mark::kVectorize;
      n *= lanes && has_unit_stride(t, terms_[i]) ? std::ceil(terms_[i].extent / width)
                                                  : terms_[i].extent;
    }
    return n;
  }

  bool has_unit_stride(const Touched& t, const Term& term) const {
    for (size_t d = 0; d < axes_.size(); ++d) {
      if (term.moves[d] && t.strides[d] > 1) return false;
    }
    return true;
  }

  double operations() const {
    double n = 0;
    ir::visit(st_.op->body, [&](const ir::Expr& e) {
      if (e.as<ir::Select>() != nullptr) n += kSelectCost;
      if (e.as<ir::Call>() != nullptr) n += kCallCost;
      const auto* b = e.as<ir::Binary>();
      if (b != nullptr && e.dtype().is_float()) n += 1;
    });
    return std::max(1.0, st_.op->is_reduction() ? n : 1 + n);
  }

  double compute_cycles() const {
    const target::Cpu& target = s_.target().cpu();
    const double width = target.lanes(st_.buffer.dtype().bytes());
    double copies = 1, sums = 1, turns = 1, chain = 1, lanes = 1;
    for (size_t i = 0; i < terms_.size(); ++i) {
      const Term& t = terms_[i];
      const bool vector = t.loop->mark == Mark::kVectorize;
      const double n = vector ? std::ceil(t.extent / width) : t.extent;
      if (i < tile_) {
        turns *= t.extent;
        continue;
      }
      if (vector) lanes = std::min(width, t.extent);
      copies *= n;
      (t.loop->kind == LoopKind::kReduce ? chain : sums) *= n;
    }
    const double per_vector =
        std::max(1.0, std::ceil(lanes * static_cast<double>(st_.buffer.dtype().bytes())) /
                          target.datapath_bytes);
    double loaded = 0;
    for (size_t i = 0; i + 1 < touched_.size(); ++i) loaded += loads(touched_[i], width);
    const bool held = !st_.op->is_reduction() || st_.scope == ir::Scope::kRegister;
    const double stored = !st_.op->is_reduction() ? copies : held ? 0 : copies;
    if (!held) loaded += copies;
    double cycles = std::max({copies * operations() * per_vector / kIssue,
                              loaded * per_vector / kIssue, stored * per_vector});
    if (st_.op->is_reduction())
      cycles = std::max(cycles, chain * (held ? kLatency : kMemoryLatency));
    const double code = 1 + std::max(0.0, copies - kCodeSteps) / (4 * kCodeSteps);
    return turns * (cycles * code + kLoopCycles);
  }

  // ---- caches ---------------------------------------------------------------------------------------------------

  double memory_cycles() const {
    const target::Cpu& t = s_.target().cpu();
    const double sizes[] = {static_cast<double>(t.l1d_bytes), static_cast<double>(t.l2_bytes),
                            t.l3_bytes > 0 ? static_cast<double>(t.l3_bytes) : kNoL3Bytes};
    double cycles = 0;
    for (size_t level = 0; level < 3; ++level)
      cycles += traffic(kUsable * sizes[level]) / kBytesPerCycle[level];
    return cycles;
  }

  // Bytes that move into a cache: what the inner loops that fit touch, for every turn of the loops around them but
  // those right outside that leave a tensor where it is.
  double traffic(double size) const {
    size_t first = terms_.size();
    while (first > 0 && all_bytes(first - 1) <= size) --first;
    double total = 0;
    for (size_t t = 0; t < touched_.size(); ++t) {
      double bytes = footprints_[first][t];
      bool stays = true;
      for (size_t i = first; i-- > 0;) {
        stays = stays && !depends(touched_[t], terms_[i]);
        if (!stays) bytes *= terms_[i].extent;
      }
      total += bytes;
    }
    return total;
  }

  double all_bytes(size_t first) const {
    double total = 0;
    for (const double bytes : footprints_[first]) total += bytes;
    return total;
  }

  const schedule::State& s_;
  const schedule::Bounds& b_;
  const Stage& st_;
  std::vector<te::Axis> axes_;
  std::vector<Term> terms_;  // outermost first
  std::vector<Touched> touched_;
  std::vector<std::vector<double>> footprints_;  // by first term, by tensor
  size_t tile_ = 0;                              // the first term of the straight code
};

}  // namespace

double pretend_seconds(const schedule::State& s, const schedule::Bounds& bounds, int threads) {
  if (!s.target().is_cpu()) return pretend_gpu_seconds(s, bounds);
  double total = 0;
  for (const StageId id : s.order()) {
    const Stage& st = s.stage(id);
    if (st.is_input() || st.place == schedule::Place::kInlined) continue;
    total += StageCost(s, bounds, st).seconds(threads);
  }
  return total;
}

}  // namespace tenon::measure
