// SPDX-License-Identifier: Apache-2.0
#include "lower/emit.h"

#include <algorithm>
#include <set>
#include <span>

#include "arith/simplify.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "lower/barriers.h"
#include "lower/copy.h"
#include "lower/virtual_threads.h"
#include "schedule/combined.h"
#include "schedule/program.h"
#include "schedule/rules.h"

namespace tenon::lower {

namespace {

using schedule::LoopId;
using schedule::LoopKind;
using schedule::Mark;
using schedule::Place;
using schedule::Stage;
using schedule::StageBounds;
using schedule::StageId;

ir::ForKind for_kind(Mark m) {
  switch (m) {
    case Mark::kNone:
      return ir::ForKind::kSerial;
    case Mark::kParallel:
      return ir::ForKind::kParallel;
    case Mark::kVectorize:
    case Mark::kTensorize:  // of two loops inside each other, the inner one
      return ir::ForKind::kVectorized;
    case Mark::kUnroll:
      return ir::ForKind::kUnrolled;
    case Mark::kThread:
      return ir::ForKind::kThread;
  }
  return ir::ForKind::kSerial;
}

// Integer division by zero and shifts by too much.
bool may_be_undefined(const ir::Binary& b) {
  switch (b.op) {
    case ir::BinaryOp::kDiv:
    case ir::BinaryOp::kFloorDiv:
    case ir::BinaryOp::kFloorMod:
      return b.dtype.is_int() && ir::const_int(b.b).value_or(0) == 0;
    case ir::BinaryOp::kShl:
    case ir::BinaryOp::kShr:
      return !ir::const_int(b.b);
    default:
      return false;
  }
}

// Padding may be computed and ignored when that cannot fault: accesses stay inside their buffers.
bool is_safe_on_padding(const te::ComputeOp& op) {
  const arith::Ranges ranges = op.ranges();
  bool safe = true;
  ir::visit(op.body, [&](const ir::Expr& e) {
    if (const auto* b = e.as<ir::Binary>()) safe = safe && !may_be_undefined(*b);
    const auto* l = e.as<ir::Load>();
    if (l == nullptr) return;
    for (size_t d = 0; d < l->indices.size(); ++d) {
      const arith::Interval at = arith::interval_of(l->indices[d], ranges);
      safe = safe && at.lo >= 0 && at.hi < l->buffer.shape()[d];
    }
  });
  return safe;
}

class Emitter {
 public:
  Emitter(const schedule::State& s, const schedule::Bounds& b) : s_(s), b_(b), buffers_(s.size()) {
    for (const StageId id : s.order()) buffers_[static_cast<size_t>(id)] = storage_of(s.stage(id));
  }

  ir::Function run() {
    ir::Function f;
    f.name = s_.dag().name;
    std::vector<ir::Stmt> nests;
    std::vector<ir::Buffer> workspace;
    for (const StageId id : s_.order()) {
      const Stage& st = s_.stage(id);
      if (st.is_input() || st.place != Place::kRoot) continue;
      if (!st.output) workspace.push_back(buffer(id));
      nests.push_back(nest(st));
    }
    for (size_t i = 0; i < s_.dag().inputs.size(); ++i) {
      if (s_.stage(static_cast<StageId>(i)).stored_in < 0)
        f.params.push_back(buffer(static_cast<StageId>(i)));
    }
    f.num_inputs = f.params.size();
    for (const te::Tensor& t : s_.dag().outputs) f.params.push_back(buffer(output_stage(t)));
    std::set<const ir::BufferNode*> twice;
    for (const StageId id : s_.order()) {
      if (schedule::is_stored_twice(s_, s_.stage(id))) twice.insert(buffer(id).get());
    }
    f.body = insert_barriers(expand_virtual_threads(ir::block(std::move(nests))), twice);
    for (const ir::Buffer& b : workspace) f.body = ir::allocate(b, f.body);
    return f;
  }

 private:
  const StageBounds& bounds(StageId id) const { return b_.stages[static_cast<size_t>(id)]; }
  const ir::Buffer& buffer(StageId id) const { return buffers_[static_cast<size_t>(id)]; }

  StageId output_stage(const te::Tensor& t) const {
    for (size_t i = 0; i < s_.dag().ops.size(); ++i) {
      if (s_.dag().ops[i]->output.same_as(t))
        return static_cast<StageId>(s_.dag().inputs.size() + i);
    }
    TENON_CHECK(false) << "output " << t.name() << " is not computed";
    return -1;
  }

  ir::Buffer storage_of(const Stage& st) const {
    if (st.is_input() || st.place == Place::kInlined) return st.buffer;
    std::vector<int64_t> shape;
    if (schedule::is_stored_twice(s_, st)) shape.push_back(2);
    for (const auto& a : bounds(st.id).axes) shape.push_back(a.extent);
    const ir::Scope scope = st.place == Place::kAt ? st.scope : ir::Scope::kGlobal;
    if (st.output) return st.buffer;
    if (scope == ir::Scope::kRegister && s_.target().is_cpu()) return in_registers(st, shape);
    if (st.align_dim < 0) return ir::Buffer::make(st.name, st.buffer.dtype(), shape, scope);
    std::vector<int64_t> strides = ir::row_major_strides(shape);
    const size_t parts =
        shape.size() - bounds(st.id).axes.size();  // in front of its own dimensions
    for (size_t d = static_cast<size_t>(st.align_dim) + parts + 1; d-- > 0;) {
      const int64_t dense = strides[d + 1] * shape[d + 1];
      strides[d] = d < parts ? dense : schedule::aligned_stride(st, d - parts, dense);
    }
    return ir::Buffer::make_strided(st.name, st.buffer.dtype(), shape, strides, scope);
  }

  // Rows are whole vectors, so that the last vector of one, some of whose lanes a mask leaves out,
  // does not reach into the next: each vector is a value of its own.
  ir::Buffer in_registers(const Stage& st, const std::vector<int64_t>& shape) const {
    std::vector<int64_t> strides = ir::row_major_strides(shape);
    const auto lanes = static_cast<int64_t>(s_.target().cpu().lanes(st.buffer.dtype().bytes()));
    for (size_t d = shape.size(); d-- > 1;) {
      int64_t row = strides[d] * shape[d];
      if (d + 1 == shape.size() && row > lanes) row = arith::ceil_div(row, lanes) * lanes;
      strides[d - 1] = row;
    }
    return ir::Buffer::make_strided(st.name, st.buffer.dtype(), shape, strides,
                                    ir::Scope::kRegister);
  }

  // The op's body over loop variables, reading the buffers that are really there.
  ir::Expr body_of(const Stage& st) const {
    const te::ComputeOp& op = *st.op;
    ir::Expr body = op.body;
    if (st.holds.defined() && (st.zero_padding || !is_safe_on_padding(op))) {
      const ir::Expr rest = op.is_reduction() ? ir::identity_of(*op.combiner, body.dtype())
                                              : ir::zero_of(body.dtype());
      body = ir::select(st.holds, body, rest);
    }
    body = localize(ir::substitute(body, axis_values(st, bounds(st.id))));
    if (bounds(st.id).inside.empty() || reads_boxes_only(st)) return body;
    return ir::select(conjunction(bounds(st.id).inside), body,
                      op.is_reduction() ? ir::identity_of(*op.combiner, body.dtype())
                                        : ir::zero_of(body.dtype()));
  }

  // A sum over what fills its boxes may run on beyond the tensor: nobody reads what comes of it. A
  // box that is the whole tensor for another reader does not reach as far.
  bool reads_boxes_only(const Stage& st) const {
    bool only = st.op->is_reduction();
    const ir::VarMap axes = axis_values(st, bounds(st.id));
    // Guards keep the axes of the sum inside, however its loops run.
    ir::VarMap spatial;
    arith::Ranges summed = b_.ranges;
    for (const te::Axis& a : st.op->axes) spatial[a.var.node()] = axes.at(a.var.node());
    for (const te::Axis& a : st.op->reduce_axes) summed.bind(a.var, {0, a.extent - 1});
    ir::visit_loads(st.op->body, [&](const ir::Load& l) {
      const Stage& from = s_.stage(s_.owner(l.buffer));
      only = only && schedule::computes_whole_box(s_, from);
      for (size_t d = 0; d < l.indices.size() && only; ++d) {
        const schedule::AxisBounds& box = bounds(from.id).axes[d];
        only = is_inside(ir::substitute(l.indices[d], axes), box, b_.ranges) ||
               is_inside(ir::substitute(l.indices[d], spatial), box, summed);
      }
    });
    return only;
  }

  static bool is_inside(const ir::Expr& index, const schedule::AxisBounds& box,
                        const arith::Ranges& ranges) {
    const arith::Interval r = arith::interval_of(arith::simplify(index - box.min, ranges), ranges);
    return r.lo >= 0 && r.hi < box.extent;
  }

  ir::Expr localize(const ir::Expr& body) const {
    return ir::rewrite(body, [&](const ir::Expr& e) {
      const auto* l = e.as<ir::Load>();
      if (l == nullptr) return e;
      const StageId id = s_.owner(l->buffer);
      TENON_CHECK(id >= 0) << "a read of " << l->buffer.name() << ", which no stage owns";
      std::vector<ir::Expr> indices = part_of(s_.stage(id));
      const bool attached = s_.stage(id).place == Place::kAt;
      for (size_t d = 0; d < l->indices.size(); ++d) {
        const ir::Expr at = attached ? l->indices[d] - bounds(id).axes[d].min : l->indices[d];
        indices.push_back(arith::simplify(at, b_.ranges));
      }
      return ir::load(buffer(id), indices, l->predicate);
    });
  }

  static ir::Expr conjunction(const std::vector<ir::Expr>& all) {
    ir::Expr c = ir::make_bool(true);
    for (const ir::Expr& g : all) c = ir::logical_and(c, g);
    return c;
  }

  static ir::Stmt guarded(const std::vector<ir::Expr>& guards, ir::Stmt s) {
    return guards.empty() ? s : ir::make_if(conjunction(guards), std::move(s));
  }

  std::vector<ir::Expr> own_indices(const Stage& st) const {
    const StageBounds& sb = bounds(st.id);
    std::vector<ir::Expr> out = part_of(st);
    out.insert(out.end(), sb.values.begin(),
               sb.values.begin() + static_cast<std::ptrdiff_t>(st.op->axes.size()));
    return out;
  }

  // Of what is stored twice: the part that belongs to the iteration.
  std::vector<ir::Expr> part_of(const Stage& st) const {
    if (!schedule::is_stored_twice(s_, st)) return {};
    return {ir::floor_mod(bounds(st.at_stage).vars[static_cast<size_t>(st.at_loop)], 2)};
  }

  ir::Stmt loop(const Stage& st, LoopId l, Mark m, ir::Stmt body) const {
    const StageBounds& sb = bounds(st.id);
    const size_t i = static_cast<size_t>(l);
    return ir::make_for(sb.vars[i], 0, sb.extents[i], for_kind(m), std::move(body), st.loop(l).tag);
  }

  // The initial value for all spatial loops at or inside position `from`.
  ir::Stmt initial(const Stage& st, size_t from, const std::vector<Mark>& marks) const {
    const StageBounds& sb = bounds(st.id);
    ir::Stmt s =
        guarded(sb.spatial_guards, ir::store(buffer(st.id), own_indices(st),
                                             ir::identity_of(*st.op->combiner, st.buffer.dtype())));
    ir::VarMap fresh;
    for (size_t i = st.leaves.size(); i-- > from;) {
      const size_t l = static_cast<size_t>(st.leaves[i]);
      if (st.loop(st.leaves[i]).kind != LoopKind::kSpatial) continue;
      const ir::Var v(sb.vars[l].name());
      fresh[sb.vars[l].node()] = v;
      s = ir::make_for(v, 0, sb.extents[l], for_kind(marks[l]), s, st.loop(st.leaves[i]).tag);
    }
    return ir::substitute(s, fresh);
  }

  size_t initial_position(const Stage& st) const {
    for (size_t i = 0; i < st.leaves.size(); ++i) {
      if (st.leaves[i] == st.init_at || st.loop(st.leaves[i]).kind == LoopKind::kReduce) return i;
    }
    return st.leaves.size();
  }

  ir::Stmt nest(const Stage& st) const {
    const StageBounds& sb = bounds(st.id);
    const std::vector<Mark> marks = schedule::final_marks(s_, st, sb);
    const bool combined = schedule::combined_loop(st) >= 0;
    const bool reduces = st.op->is_reduction() && !combined;
    ir::Expr value = body_of(st);
    if (reduces)
      value = ir::make_binary(*st.op->combiner, ir::load(buffer(st.id), own_indices(st)), value);
    ir::Stmt s = combined ? combine(st, value)
                          : guarded(sb.guards, ir::store(buffer(st.id), own_indices(st), value));
    const size_t init = initial_position(st);
    if (reduces && init == st.leaves.size()) s = ir::block({initial(st, init, marks), s});
    for (size_t i = st.leaves.size(); i-- > 0;) {
      s = st.leaves[i] == st.pipelined
              ? pipelined(st, st.leaves[i], s)
              : loop(st, st.leaves[i], marks[static_cast<size_t>(st.leaves[i])],
                     loop_body(st, st.leaves[i], s));
      if (reduces && i == init) s = ir::block({initial(st, i, marks), s});
    }
    return s;
  }

  // Each thread has one element of the sum, and all of them the result. All come there, whatever the
  // guards say.
  ir::Stmt combine(const Stage& st, const ir::Expr& value) const {
    const StageBounds& sb = bounds(st.id);
    const ir::BinaryOp op = *st.op->combiner;
    const ir::DType type = st.buffer.dtype();
    const ir::Expr none = ir::identity_of(op, type);
    const auto k = static_cast<size_t>(schedule::combined_loop(st));
    const int64_t threads = sb.extents[k], warp = s_.target().gpu().warp_threads;
    const ir::Buffer sum = ir::Buffer::make(st.name + ".sum", type, {}, ir::Scope::kRegister);
    const ir::Expr mine =
        sb.guards.empty() ? value : ir::select(conjunction(sb.guards), value, none);
    std::vector<ir::Stmt> steps = {ir::store(sum, {}, ir::make_binary(op, none, mine)),
                                   ir::combine(op, sum, std::min(threads, warp))};
    if (threads > warp) steps.push_back(meet(st, sum));
    // What threads share is written by one of them.
    const bool own = st.place == Place::kAt && st.scope != ir::Scope::kShared;
    std::vector<ir::Expr> guards = sb.spatial_guards;
    if (!own) guards.push_back(ir::eq(sb.vars[k], 0));
    steps.push_back(guarded(guards, ir::store(buffer(st.id), own_indices(st), ir::load(sum, {}))));
    return ir::allocate(sum, ir::block(std::move(steps)));
  }

  // One thread of each warp leaves what the warp has found, and every thread adds that up.
  ir::Stmt meet(const Stage& st, const ir::Buffer& sum) const {
    const auto k = static_cast<size_t>(schedule::combined_loop(st));
    const ir::Expr thread = bounds(st.id).vars[k];
    const int64_t warp = s_.target().gpu().warp_threads, warps = bounds(st.id).extents[k] / warp;
    std::vector<int64_t> shape;
    std::vector<ir::Expr> at;
    for (const schedule::RowLoop& row : schedule::rows_of(s_, st)) {
      shape.push_back(bounds(row.stage).extents[static_cast<size_t>(row.loop)]);
      at.push_back(bounds(row.stage).vars[static_cast<size_t>(row.loop)]);
    }
    shape.push_back(warps);
    at.push_back(ir::floor_div(thread, warp));
    const ir::Buffer found =
        ir::Buffer::make(st.name + ".warps", sum.dtype(), shape, ir::Scope::kShared);
    const ir::Stmt leave = ir::make_if(ir::eq(ir::floor_mod(thread, warp), 0),
                                       ir::store(found, at, ir::load(sum, {})));
    at.back() = ir::Expr(0);
    const ir::Stmt first = ir::store(sum, {}, ir::load(found, at));
    const ir::Var w(st.name + ".warp");
    at.back() = w + ir::Expr(1);
    const ir::Expr more = ir::make_binary(*st.op->combiner, ir::load(sum, {}), ir::load(found, at));
    const ir::Stmt others =
        ir::make_for(w, 0, warps - 1, ir::ForKind::kUnrolled, ir::store(sum, {}, more));
    return ir::allocate(found, ir::block({leave, first, others}));
  }

  // What the first iteration reads is fetched in front of the loop, and in each iteration what the
  // next one reads. Nobody fetches before all have read what lay there.
  ir::Stmt pipelined(const Stage& st, LoopId l, ir::Stmt s) const {
    const ir::Var k = bounds(st.id).vars[static_cast<size_t>(l)];
    const int64_t extent = bounds(st.id).extents[static_cast<size_t>(l)];
    std::vector<ir::Stmt> fetches;
    std::vector<ir::Buffer> twice;
    for (const StageId id : s_.attached_to(st.id, l)) {
      if (!schedule::is_stored_twice(s_, s_.stage(id))) continue;
      fetches.push_back(nest(s_.stage(id)));
      twice.push_back(buffer(id));
    }
    const ir::Stmt fetch = ir::block(std::move(fetches));
    const ir::Stmt next =
        ir::make_if(ir::lt(k + ir::Expr(1), extent),
                    fresh_copy(ir::substitute(fetch, {{k.node(), k + ir::Expr(1)}})));
    const ir::Stmt body = ir::block({ir::barrier(), next, loop_body(st, l, s)});
    ir::Stmt out = ir::block({ir::substitute(fetch, {{k.node(), ir::Expr(0)}}),
                              ir::make_for(k, 0, extent, ir::ForKind::kSerial, body)});
    if (is_repeated(st, l)) out = ir::block({ir::barrier(), out});
    for (const ir::Buffer& b : twice) out = ir::allocate(b, out);
    return out;
  }

  // The loop runs several times for each thread.
  bool is_repeated(const Stage& st, LoopId l) const {
    const Stage* at = &st;
    for (LoopId inner = l;;) {
      for (int i = at->position(inner); i-- > 0;) {
        const LoopId outer = at->leaves[static_cast<size_t>(i)];
        if (repeats(*at, outer)) return true;
      }
      if (at->place != Place::kAt) return false;
      inner = at->at_loop;
      at = &s_.stage(at->at_stage);
      if (repeats(*at, inner)) return true;
    }
  }
  bool repeats(const Stage& st, LoopId l) const {
    const bool once = st.loop(l).mark == Mark::kThread && st.loop(l).tag != ir::ThreadTag::kVThread;
    return !once && bounds(st.id).extents[static_cast<size_t>(l)] > 1;
  }

  ir::Stmt loop_body(const Stage& st, LoopId l, ir::Stmt s) const {
    const auto attached = s_.attached_to(st.id, l);
    for (auto it = attached.rbegin(); it != attached.rend(); ++it) {
      if (schedule::is_stored_twice(s_, s_.stage(*it))) continue;
      s = ir::allocate(buffer(*it), ir::block({nest(s_.stage(*it)), s}));
    }
    for (const auto& p : st.prefetches) {
      if (p.loop == l) s = ir::block({prefetch_of(st, p), s});
    }
    return s;
  }

  ir::Stmt prefetch_of(const Stage& st, const schedule::PrefetchNote& p) const {
    const StageBounds& sb = bounds(st.id);
    ir::VarMap at;
    at[sb.vars[static_cast<size_t>(p.loop)].node()] =
        sb.vars[static_cast<size_t>(p.loop)] + ir::Expr(p.distance);
    for (size_t i = static_cast<size_t>(st.position(p.loop)) + 1; i < st.leaves.size(); ++i) {
      at[sb.vars[static_cast<size_t>(st.leaves[i])].node()] = ir::Expr(0);
    }
    ir::Stmt out = ir::no_op();
    if (s_.stage(p.tensor).place == Place::kAt) return out;  // computed right there
    const ir::Expr body = localize(ir::substitute(st.op->body, axis_values(st, sb)));
    ir::visit_loads(body, [&](const ir::Load& l) {
      if (!l.buffer.same_as(buffer(p.tensor)) || !ir::is_no_op(out)) return;
      // An index that is itself read is not known ahead.
      const auto is_read = [](const ir::Expr& i) { return i.loads(); };
      if (std::any_of(l.indices.begin(), l.indices.end(), is_read)) return;
      out = prefetch_each(st, l, at, unrolled_inside(st, p.loop, l));
    });
    return out;
  }

  // Unrolled loops inside `outer` in which the read moves on, as far as they have few turns together.
  std::vector<LoopId> unrolled_inside(const Stage& st, LoopId outer, const ir::Load& l) const {
    constexpr int64_t kMostTurns = 8;
    const StageBounds& sb = bounds(st.id);
    std::vector<LoopId> loops;
    int64_t turns = 1;
    for (auto i = static_cast<size_t>(st.position(outer)) + 1; i < st.leaves.size(); ++i) {
      const auto loop = static_cast<size_t>(st.leaves[i]);
      const bool moves = std::any_of(l.indices.begin(), l.indices.end(), [&](const ir::Expr& e) {
        return ir::uses_var(e, sb.vars[loop].node());
      });
      if (!moves || st.loop(st.leaves[i]).mark != Mark::kUnroll) continue;
      if (turns * sb.extents[loop] > kMostTurns) continue;
      turns *= sb.extents[loop];
      loops.push_back(st.leaves[i]);
    }
    return loops;
  }

  // One for each turn of `loops`, all of which `at` gives a place.
  ir::Stmt prefetch_each(const Stage& st, const ir::Load& l, ir::VarMap at,
                         std::span<const LoopId> loops) const {
    if (loops.empty()) {
      std::vector<ir::Expr> indices;
      for (const ir::Expr& i : l.indices) indices.push_back(ir::substitute(i, at));
      return ir::prefetch(l.buffer, indices);
    }
    const StageBounds& sb = bounds(st.id);
    const auto loop = static_cast<size_t>(loops[0]);
    std::vector<ir::Stmt> turns;
    for (int64_t i = 0; i < sb.extents[loop]; ++i) {
      at[sb.vars[loop].node()] = ir::Expr(i);
      turns.push_back(prefetch_each(st, l, at, loops.subspan(1)));
    }
    return ir::block(turns);
  }

  const schedule::State& s_;
  const schedule::Bounds& b_;
  std::vector<ir::Buffer> buffers_;
};

}  // namespace

ir::Function emit_loops(const schedule::State& s, const schedule::Bounds& b) {
  return Emitter(s, b).run();
}

}  // namespace tenon::lower
