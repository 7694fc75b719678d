// SPDX-License-Identifier: Apache-2.0
#include "cost/nest.h"

#include <algorithm>

#include "ir/visit.h"
#include "schedule/program.h"

namespace tenon::cost {
namespace {

using schedule::LoopId;
using schedule::Mark;
using schedule::Place;
using schedule::Stage;
using schedule::StageBounds;
using schedule::StageId;

constexpr double kCallOps = 16;   // a polynomial and what is around it
constexpr double kDivideOps = 8;  // a division keeps its unit busy for so long
constexpr double kSelectOps = 2;  // a comparison and a blend

class Walker {
 public:
  Walker(const schedule::State& s, const schedule::Bounds& b,
         FunctionRef<void(const DraftNest&)> fn)
      : s_(s), b_(b), fn_(fn), allocated_(s.size(), 0) {
    constexpr size_t kUsual = 32;  // more than most programs need
    attached_.reserve(s.size());
    out_.loops.reserve(kUsual);
    out_.accesses.reserve(kUsual);
    out_.dims.reserve(kUsual);
    extents_.reserve(kUsual);
    reads_.reserve(kUsual);
  }

  void run() {
    for (const StageId id : s_.order()) {
      const Stage& st = s_.stage(id);
      if (!st.is_input() && st.place == Place::kAt) attached_.push_back(&st);
    }
    for (const StageId id : s_.order()) {
      const Stage& st = s_.stage(id);
      if (!st.is_input() && st.place == Place::kRoot) walk(st);
    }
  }

 private:
  const StageBounds& bounds(StageId id) const { return b_.stages[static_cast<size_t>(id)]; }

  void walk(const Stage& st) {
    const StageBounds& sb = bounds(st.id);
    const size_t depth = out_.loops.size();
    allocated_[static_cast<size_t>(st.id)] = depth;
    std::vector<Mark> marks;
    if (st.unroll_limit > 0) marks = schedule::final_marks(s_, st, sb);
    for (const LoopId l : st.leaves) {
      const size_t i = static_cast<size_t>(l);
      const schedule::Loop& loop = st.loop(l);
      if (sb.extents[i] > 1) {
        out_.loops.push_back(
            {static_cast<double>(sb.extents[i]), marks.empty() ? loop.mark : marks[i],
             loop.kind == schedule::LoopKind::kReduce, loop.tag, sb.vars[i].node()});
      }
      for (const Stage* a : attached_) {
        if (a->at_stage == st.id && a->at_loop == l) walk(*a);
      }
    }
    emit(st, sb, depth);
    out_.loops.resize(depth);
  }

  void emit(const Stage& st, const StageBounds& sb, size_t depth) {
    out_.stage = &st;
    out_.own = depth;
    out_.ops = 0;
    out_.accesses.clear();
    out_.dims.clear();
    reads_.clear();
    name_variables(st, sb);
    add_access(st.buffer, true);
    for (const te::Axis& a : st.op->axes) add_dim(out_.reach.of(a.var));
    scan(st.op->body);
    if (st.op->is_reduction() && !fused()) ++out_.ops;
    out_.ops = std::max(out_.ops, 1.0);
    fn_(out_);
  }

  void name_variables(const Stage& st, const StageBounds& sb) {
    extents_.clear();
    for (const DraftLoop& l : out_.loops) extents_.push_back(l.extent);
    ReachTable& reach = out_.reach;
    reach.reset(extents_);
    for (size_t i = 0; i < out_.loops.size(); ++i) reach.name_loop(out_.loops[i].var, i);
    const size_t rank = st.op->axes.size();
    for (size_t d = 0; d < rank; ++d) {
      reach.name_row(st.op->axes[d].var.node(), reach.of_sum(sb.axes[d].min, sb.values[d]));
    }
    for (size_t d = 0; d < st.op->reduce_axes.size(); ++d) {
      reach.name_row(st.op->reduce_axes[d].var.node(), reach.of(sb.values[rank + d]));
    }
  }

  // The product of a sum of products is added by the same instruction.
  bool fused() const {
    const auto* b = out_.stage->op->body.as<ir::Binary>();
    return b != nullptr && b->op == ir::BinaryOp::kMul && has_fma() &&
           *out_.stage->op->combiner == ir::BinaryOp::kAdd;
  }
  bool has_fma() const { return !s_.target().is_cpu() || s_.target().cpu().has_fma; }

  void scan(const ir::Expr& e) {
    if (const auto* load = e.as<ir::Load>()) return add_read(*load);
    if (const auto* s = e.as<ir::Select>()) return scan_select(*s);
    if (const auto* b = e.as<ir::Binary>()) {
      out_.ops += b->op == ir::BinaryOp::kDiv ? kDivideOps : 1;
    } else if (const auto* c = e.as<ir::Call>()) {
      out_.ops += c->fn == ir::Intrinsic::kFma ? 1 : kCallOps;
    } else if (e.as<ir::Unary>() != nullptr || e.as<ir::Cast>() != nullptr) {
      ++out_.ops;
    }
    ir::for_each_child(e, [&](const ir::Expr& c) { scan(c); });
  }

  // A choice of constants is an entry of a matrix, which is known once loops are unrolled.
  void scan_select(const ir::Select& s) {
    const bool entry =
        s.on_true.as<ir::FloatImm>() != nullptr &&
        (s.on_false.as<ir::FloatImm>() != nullptr || s.on_false.as<ir::Select>() != nullptr);
    if (entry) return scan(s.on_false);
    out_.ops += kSelectOps;
    scan(s.on_true);
    scan(s.on_false);
  }

  void add_read(const ir::Load& load) {
    for (const ir::Load* seen : reads_) {
      if (same(*seen, load)) return;
    }
    reads_.push_back(&load);
    add_access(load.buffer, false);
    for (const ir::Expr& i : load.indices) add_dim(out_.reach.of(i));
  }

  static bool same(const ir::Load& a, const ir::Load& b) {
    return a.buffer.same_as(b.buffer) &&
           std::equal(a.indices.begin(), a.indices.end(), b.indices.begin(), b.indices.end(),
                      [](const ir::Expr& x, const ir::Expr& y) { return x.same_as(y); });
  }

  // Its dimensions have to follow, one by one.
  void add_access(const ir::Buffer& b, bool written) {
    const StageId owner = s_.owner(b);
    const Stage* of = owner < 0 ? nullptr : &s_.stage(owner);
    const bool own = of != nullptr && !of->is_input() && !of->output;
    const bool in_registers = own && of->scope == ir::Scope::kRegister;
    out_.accesses.push_back({b.get(), static_cast<double>(b.dtype().bytes()), written, in_registers,
                             own, own ? of->scope : ir::Scope::kGlobal,
                             own ? allocated_[static_cast<size_t>(owner)] : 0, out_.dims.size(),
                             out_.dims.size() + b.rank()});
    double stride = 1;
    out_.dims.resize(out_.dims.size() + b.rank());
    for (size_t d = b.rank(); d-- > 0;) {
      DraftDim& dim = out_.dims[out_.accesses.back().first + d];
      dim.extent = static_cast<double>(own ? bounds(owner).axes[d].extent : b.shape()[d]);
      dim.stride = own ? stride : static_cast<double>(b->strides[d]);
      stride *= dim.extent;
    }
    next_dim_ = out_.accesses.back().first;
  }
  void add_dim(ReachTable::Row row) { out_.dims[next_dim_++].row = row; }

  const schedule::State& s_;
  const schedule::Bounds& b_;
  FunctionRef<void(const DraftNest&)> fn_;
  std::vector<const Stage*> attached_;
  std::vector<size_t> allocated_;  // by stage: loops around its buffer
  std::vector<double> extents_;
  std::vector<const ir::Load*> reads_;  // of the statement
  size_t next_dim_ = 0;
  DraftNest out_;
};

}  // namespace

void for_each_nest(const schedule::State& s, const schedule::Bounds& b,
                   FunctionRef<void(const DraftNest&)> fn) {
  Walker(s, b, fn).run();
}

}  // namespace tenon::cost
