// SPDX-License-Identifier: Apache-2.0
#include "schedule/program.h"

#include <algorithm>

#include "arith/linear.h"
#include "arith/simplify.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "schedule/gpu_program.h"
#include "schedule/rules.h"

namespace tenon::schedule {

std::vector<Mark> final_marks(const State& s, const Stage& st, const StageBounds& sb) {
  std::vector<Mark> marks;
  for (const Loop& l : st.loops) marks.push_back(l.mark);
  int64_t copies = 1;
  for (auto it = st.leaves.rbegin(); it != st.leaves.rend() && st.unroll_limit > 0; ++it) {
    const size_t l = static_cast<size_t>(*it);
    const bool copied =
        marks[l] != Mark::kVectorize && marks[l] != Mark::kTensorize && marks[l] != Mark::kThread;
    if (!copied) continue;
    if (marks[l] != Mark::kNone && marks[l] != Mark::kUnroll) break;
    copies *= sb.extents[l];
    if (copies > st.unroll_limit || !s.attached_to(st.id, *it).empty()) break;
    marks[l] = Mark::kUnroll;
  }
  return marks;
}

namespace {

bool is_register_mark(Mark m) { return m == Mark::kUnroll || m == Mark::kVectorize; }

class ProgramChecker {
 public:
  ProgramChecker(const State& s, const Bounds& b) : s_(s), b_(b) {
    marks_.resize(s.size());
    for (const StageId id : s.order()) {
      const Stage& st = s.stage(id);
      if (!st.is_input() && st.place != Place::kInlined) {
        marks_[static_cast<size_t>(id)] = final_marks(s, st, bounds(id));
      }
    }
  }

  Result<void> run() const {
    for (const StageId id : s_.order()) {
      const Stage& st = s_.stage(id);
      if (st.is_input() || st.place == Place::kInlined) continue;
      TENON_TRY(check_copies(st));
      TENON_TRY(check_lanes(st));
      if (st.place == Place::kAt) TENON_TRY(check_size(st));
      if (st.scope == ir::Scope::kRegister) TENON_TRY(check_registers(st));
    }
    return {};
  }

 private:
  const target::Limits& limits() const { return s_.target().limits; }
  const StageBounds& bounds(StageId id) const { return b_.stages[static_cast<size_t>(id)]; }
  Mark mark(StageId id, LoopId l) const {
    return marks_[static_cast<size_t>(id)][static_cast<size_t>(l)];
  }
  int64_t extent(StageId id, LoopId l) const { return bounds(id).extents[static_cast<size_t>(l)]; }

  struct LoopOf {
    StageId stage;
    LoopId loop;
  };

  // The loops around the body of a stage, those of its hosts included, innermost first.
  std::vector<LoopOf> loops_around(const Stage& st) const {
    std::vector<LoopOf> out;
    const Stage* at = &st;
    size_t depth = st.leaves.size();
    for (;;) {
      while (depth > 0) out.push_back({at->id, at->leaves[--depth]});
      if (at->place != Place::kAt) return out;
      const Stage& host = s_.stage(at->at_stage);
      depth = static_cast<size_t>(host.position(at->at_loop)) + 1;
      at = &host;
    }
  }

  Result<void> check_copies(const Stage& st) const {
    int64_t copies = 1;
    for (const LoopOf& l : loops_around(st)) {
      const bool is_virtual = s_.stage(l.stage).loop(l.loop).tag == ir::ThreadTag::kVThread;
      if (mark(l.stage, l.loop) != Mark::kUnroll && !is_virtual) continue;
      copies *= extent(l.stage, l.loop);
      if (copies <= limits().unrolled_program) continue;
      return Illegal{.code = IllegalCode::kUnrollTooLarge,
                     .stage = l.stage,
                     .loop = l.loop,
                     .value = copies,
                     .limit = limits().unrolled_program};
    }
    return {};
  }

  Result<void> check_lanes(const Stage& st) const {
    for (const LoopId l : st.leaves) {
      if (mark(st.id, l) == Mark::kVectorize && extent(st.id, l) > limits().lanes) {
        return Illegal{.code = IllegalCode::kBadLanes,
                       .stage = st.id,
                       .loop = l,
                       .value = extent(st.id, l),
                       .limit = limits().lanes};
      }
    }
    return {};
  }

  int64_t elements(const Stage& st) const {
    int64_t n = 1;
    for (const AxisBounds& a : bounds(st.id).axes) n *= a.extent;
    return n;
  }

  Result<void> check_size(const Stage& st) const {
    const int64_t bytes = elements(st) * st.buffer.dtype().bytes();
    if (bytes <= limits().local_bytes) return {};
    return Illegal{.code = IllegalCode::kLocalTooLarge,
                   .stage = st.id,
                   .value = bytes,
                   .limit = limits().local_bytes};
  }

  Result<void> check_registers(const Stage& st) const {
    if (st.place != Place::kAt) {
      return Illegal{.code = IllegalCode::kRegisterRoot, .stage = st.id};
    }
    for (const LoopId l : st.leaves) {
      if (st.loop(l).kind == LoopKind::kSpatial && extent(st.id, l) > 1 &&
          !is_register_mark(mark(st.id, l))) {
        return Illegal{
            .code = IllegalCode::kRegisterDynamic, .stage = st.id, .loop = l, .other = st.id};
      }
    }
    const auto& values = bounds(st.id).values;
    TENON_TRY(check_neighbours(
        st, st,
        {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(st.op->axes.size())}));
    for (const StageId r : s_.readers(st.id)) TENON_TRY(check_reader(st, s_.stage(r)));
    if (!s_.target().is_cpu()) return {};  // check_gpu_program counts its registers
    const int64_t needed = tile_registers(st) + operand_registers(st);
    if (needed > s_.target().cpu().vector_registers) {
      return Illegal{.code = IllegalCode::kRegisterPressure,
                     .stage = st.id,
                     .value = needed,
                     .limit = s_.target().cpu().vector_registers};
    }
    return {};
  }

  // Loops around a reader that index the tile must have constant values, and none between the two is parallel.
  Result<void> check_reader(const Stage& st, const Stage& reader) const {
    const std::vector<ir::Expr> indices = tile_indices(st, reader);
    if (std::any_of(indices.begin(), indices.end(), [](const ir::Expr& i) { return i.loads(); })) {
      return Illegal{.code = IllegalCode::kRegisterGather, .stage = st.id, .other = reader.id};
    }
    const auto rank = static_cast<std::ptrdiff_t>(st.op->axes.size());
    for (auto read = indices.begin(); read != indices.end() && rank > 0; read += rank) {
      TENON_TRY(check_neighbours(st, reader, {read, read + rank}));
    }
    bool inside = true;
    for (const LoopOf& l : loops_around(reader)) {
      inside = inside && !(l.stage == st.at_stage && l.loop == st.at_loop);
      const Mark m = mark(l.stage, l.loop);
      if (inside && (m == Mark::kParallel || m == Mark::kThread)) {
        return Illegal{
            .code = IllegalCode::kRegisterShared, .stage = st.id, .loop = l.loop, .other = l.stage};
      }
      const ir::VarNode* v = bounds(l.stage).vars[static_cast<size_t>(l.loop)].node();
      const bool used = std::any_of(indices.begin(), indices.end(),
                                    [&](const ir::Expr& i) { return ir::uses_var(i, v); });
      if (used && extent(l.stage, l.loop) > 1 && !is_register_mark(m)) {
        return Illegal{.code = IllegalCode::kRegisterDynamic,
                       .stage = st.id,
                       .loop = l.loop,
                       .other = l.stage};
      }
    }
    return {};
  }

  // Lanes of a vectorised loop must be neighbours in the tile (or all the same element): one access of it, given by
  // `indices`, is linear in the loop.
  Result<void> check_neighbours(const Stage& st, const Stage& user,
                                const std::vector<ir::Expr>& indices) const {
    ir::Expr offset(0);
    for (size_t d = 0; d < indices.size(); ++d) {
      offset = offset * ir::Expr(bounds(st.id).axes[d].extent) + indices[d];
    }
    const arith::Linear form = arith::to_linear(arith::simplify(offset, b_.ranges));
    for (const LoopId l : user.leaves) {
      if (mark(user.id, l) != Mark::kVectorize) continue;
      const ir::VarNode* v = bounds(user.id).vars[static_cast<size_t>(l)].node();
      for (const auto& [atom, factor] : form.terms) {
        if (atom.as<ir::VarNode>() != nullptr || !ir::uses_var(atom, v)) continue;
        return Illegal{
            .code = IllegalCode::kRegisterLanes, .stage = st.id, .loop = l, .other = user.id};
      }
    }
    return {};
  }

  // Every index by which `reader` reads the tile, as it is emitted: over loop variables, from the tile's corner.
  std::vector<ir::Expr> tile_indices(const Stage& st, const Stage& reader) const {
    const ir::VarMap axes = axis_values(reader, bounds(reader.id));
    std::vector<ir::Expr> out;
    ir::visit_loads(reader.op->body, [&](const ir::Load& load) {
      if (!load.buffer.same_as(st.buffer)) return;
      for (size_t d = 0; d < load.indices.size(); ++d) {
        const ir::Expr at = ir::substitute(load.indices[d], axes) - bounds(st.id).axes[d].min;
        out.push_back(arith::simplify(at, b_.ranges));
      }
    });
    return out;
  }

  int64_t lanes(const Stage& st) const {
    for (const LoopId l : st.leaves) {
      if (mark(st.id, l) == Mark::kVectorize) return extent(st.id, l);
    }
    return 1;
  }

  int64_t registers_per_vector(const Stage& st) const {
    const int64_t bytes = lanes(st) * st.buffer.dtype().bytes();
    return (bytes + s_.target().cpu().vector_bytes - 1) / s_.target().cpu().vector_bytes;
  }

  // All register tiles that live at the same place.
  int64_t tile_registers(const Stage& st) const {
    int64_t sum = 0;
    for (const StageId id : s_.attached_to(st.at_stage, st.at_loop)) {
      const Stage& other = s_.stage(id);
      if (other.scope != ir::Scope::kRegister) continue;
      const int64_t n = lanes(other);
      sum += (elements(other) + n - 1) / n * registers_per_vector(other);
    }
    return sum;
  }

  // While a tile accumulates: the vectors of the operand that is held, and one for the other operand.
  int64_t operand_registers(const Stage& st) const {
    if (!st.op->is_reduction()) return 0;
    int64_t held = -1;
    ir::visit_loads(st.op->body, [&](const ir::Load& load) {
      int64_t copies = 1;
      bool vector = false;
      for (const LoopId l : st.leaves) {
        const ir::VarNode* v = bounds(st.id).vars[static_cast<size_t>(l)].node();
        if (!reads_along(load, st, v)) continue;
        // Copies along a reduction come one after the other.
        const bool spatial = st.loop(l).kind == LoopKind::kSpatial;
        if (spatial && mark(st.id, l) == Mark::kUnroll) copies *= extent(st.id, l);
        vector |= mark(st.id, l) == Mark::kVectorize;
      }
      if (vector && (held < 0 || copies < held)) held = copies;
    });
    return (held < 0 ? 1 : std::min<int64_t>(held, 4) * registers_per_vector(st)) + 1;
  }

  bool reads_along(const ir::Load& load, const Stage& st, const ir::VarNode* v) const {
    const StageBounds& sb = bounds(st.id);
    for (const ir::Expr& i : load.indices) {
      for (size_t d = 0; d < st.op->axes.size() + st.op->reduce_axes.size(); ++d) {
        const te::Axis& a =
            d < st.op->axes.size() ? st.op->axes[d] : st.op->reduce_axes[d - st.op->axes.size()];
        if (ir::uses_var(i, a.var.node()) && ir::uses_var(sb.values[d], v)) return true;
      }
    }
    return false;
  }

  const State& s_;
  const Bounds& b_;
  std::vector<std::vector<Mark>> marks_;
};

}  // namespace

Result<void> check_program(const State& s, const Bounds& b) {
  TENON_TRY(ProgramChecker(s, b).run());
  return s.target().is_cpu() ? Result<void>() : check_gpu_program(s, b);
}

}  // namespace tenon::schedule
