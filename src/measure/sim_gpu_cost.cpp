// SPDX-License-Identifier: Apache-2.0
#include "measure/sim_gpu_cost.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/visit.h"
#include "te/access.h"

namespace tenon::measure {
namespace {

using ir::ThreadTag;
using schedule::LoopId;
using schedule::Mark;
using schedule::Stage;
using schedule::StageId;

constexpr double kCycle_s = 0.55e-9;
constexpr double kLaunch_s = 2e-6;
constexpr double kLanes = 128;        // instructions of single threads in a cycle
constexpr double kBytes = 24;         // from far memory for one multiprocessor, in a cycle
constexpr double kNearBytes = 128;    // from shared memory
constexpr double kHiddenBy = 512;     // threads on a multiprocessor
constexpr double kApart = 8;          // times the bytes, where neighbours read far apart
constexpr double kTurnsInCode = 256;  // more turns of unrolled loops cost more than they save
constexpr double kLoopCost = 2;       // instructions in each turn
constexpr size_t kTags = 8;

class StageCost {
 public:
  StageCost(const schedule::State& s, const schedule::Bounds& b, const Stage& st)
      : s_(s), b_(b), st_(st) {
    bound_.fill(1);
    add_loops(st);
  }

  double seconds() const {
    const target::Gpu& gpu = s_.target().gpu();
    const double blocks = along(ThreadTag::kBlockX, ThreadTag::kBlockZ);
    const double threads = along(ThreadTag::kThreadX, ThreadTag::kThreadZ);
    const double rounds = std::ceil(blocks / gpu.multiprocessors);
    const double warps = std::ceil(threads / gpu.warp_threads) * gpu.warp_threads;
    const double shared = std::max(1.0, kHiddenBy / warps / std::min(rounds, 4.0));
    const double instructions = turns_ * (copies_ * operations() + kLoopCost) * code();
    const double compute = rounds * warps * instructions / kLanes;
    const double memory = rounds * threads * turns_ * copies_ * bytes();
    return (std::max(compute, memory) * shared) * kCycle_s;
  }

 private:
  double along(ThreadTag first, ThreadTag last) const {
    double n = 1;
    for (auto t = static_cast<size_t>(first); t <= static_cast<size_t>(last); ++t) n *= bound_[t];
    return n;
  }
  double code() const { return 1 + std::max(0.0, copies_ - kTurnsInCode) / kTurnsInCode; }

  void add_loops(const Stage& st, LoopId until = -1) {
    if (st.place == schedule::Place::kAt) add_loops(s_.stage(st.at_stage), st.at_loop);
    const schedule::StageBounds& sb = b_.stages[static_cast<size_t>(st.id)];
    for (const LoopId l : st.leaves) {
      const schedule::Loop& loop = st.loop(l);
      const double extent =
          static_cast<double>(std::max<int64_t>(1, sb.extents[static_cast<size_t>(l)]));
      if (loop.mark == Mark::kThread && loop.tag != ThreadTag::kVThread) {
        bound_[static_cast<size_t>(loop.tag)] = extent;
        if (loop.tag == ThreadTag::kThreadX) neighbour_ = {&st, l};
      } else if (loop.mark == Mark::kUnroll || loop.mark == Mark::kVectorize ||
                 loop.mark == Mark::kThread) {
        copies_ *= extent;
      } else {
        turns_ *= extent;
      }
      if (l == until) return;
    }
  }

  double operations() const {
    double n = 1;
    ir::visit(st_.op->body, [&](const ir::Expr& e) {
      if (e.as<ir::Binary>() != nullptr && e.dtype().is_float()) n += 1;
      if (e.as<ir::Call>() != nullptr) n += 12;
    });
    return n;
  }

  // Cycles that one thread's accesses take from those of all others.
  double bytes() const {
    double cycles = 0;
    for (const te::Access& a : te::accesses(*st_.op)) {
      const StageId owner = s_.owner(a.tensor);
      const ir::Scope scope = owner < 0 ? ir::Scope::kGlobal : s_.stage(owner).scope;
      const double each = static_cast<double>(a.tensor.dtype().bytes());
      if (scope == ir::Scope::kShared) cycles += each / kNearBytes;
      if (scope == ir::Scope::kGlobal) cycles += each / kBytes * apart(a);
    }
    return cycles / std::sqrt(std::max(1.0, copies_));
  }

  double apart(const te::Access& a) const {
    if (neighbour_.stage != &st_) return 1;
    const auto axis = static_cast<size_t>(axis_of(neighbour_.loop));
    const int64_t stride = axis < a.strides.size() ? a.strides[axis] : 0;
    return stride == 0 ? 1.0 / kApart : stride == 1 ? 1 : kApart;
  }

  // The axis that the innermost part of a loop belongs to.
  LoopId axis_of(LoopId l) const {
    for (const schedule::Relation& r : st_.relations) {
      const bool fused = r.kind == schedule::RelationKind::kFuse;
      if (fused && r.one == l) return axis_of(r.many.back());
      if (!fused && std::find(r.many.begin(), r.many.end(), l) != r.many.end())
        return axis_of(r.one);
    }
    return l;
  }

  struct Neighbour {
    const Stage* stage = nullptr;
    LoopId loop = -1;
  };

  const schedule::State& s_;
  const schedule::Bounds& b_;
  const Stage& st_;
  std::array<double, kTags> bound_{};
  double turns_ = 1, copies_ = 1;
  Neighbour neighbour_;  // the loop whose iterations are threads side by side
};

}  // namespace

double pretend_gpu_seconds(const schedule::State& s, const schedule::Bounds& bounds) {
  double total = 0;
  for (const StageId id : s.order()) {
    const Stage& st = s.stage(id);
    if (st.is_input() || st.place == schedule::Place::kInlined) continue;
    total += StageCost(s, bounds, st).seconds();
    if (st.place == schedule::Place::kRoot) total += kLaunch_s;
  }
  return total;
}

}  // namespace tenon::measure
