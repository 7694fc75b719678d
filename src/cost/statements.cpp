// SPDX-License-Identifier: Apache-2.0
#include "cost/statements.h"

#include <cmath>

#include "ir/visit.h"
#include "schedule/program.h"
#include "schedule/rules.h"

namespace tenon::cost {

namespace {

using schedule::LoopId;
using schedule::Mark;
using schedule::Place;
using schedule::Stage;
using schedule::StageBounds;
using schedule::StageId;

size_t column_of(ir::BinaryOp op) {
  switch (op) {
    case ir::BinaryOp::kAdd:
    case ir::BinaryOp::kSub:
      return kAddSub;
    case ir::BinaryOp::kMul:
      return kMul;
    case ir::BinaryOp::kDiv:
    case ir::BinaryOp::kFloorDiv:
    case ir::BinaryOp::kFloorMod:
      return kDivMod;
    case ir::BinaryOp::kMin:
    case ir::BinaryOp::kMax:
    case ir::BinaryOp::kMinimum:
    case ir::BinaryOp::kMaximum:
    case ir::BinaryOp::kEq:
    case ir::BinaryOp::kNe:
    case ir::BinaryOp::kLt:
    case ir::BinaryOp::kLe:
      return kCompare;
    case ir::BinaryOp::kAnd:
    case ir::BinaryOp::kOr:
      return kLogic;
    default:
      return kOtherOp;
  }
}

void count(OpCounts& ops, size_t column, ir::DType type) {
  if (type.is_bool() || column == kLogic) {
    ++ops[kLogic];
  } else {
    ++ops[column + (type.is_float() ? 0 : static_cast<size_t>(kIntOps))];
  }
}

void count_node(OpCounts& ops, const ir::Expr& e) {
  if (const auto* b = e.as<ir::Binary>()) {
    count(ops, column_of(b->op), b->a.dtype());
  } else if (const auto* u = e.as<ir::Unary>()) {
    count(ops, u->op == ir::UnaryOp::kNeg ? kAddSub : kOtherOp, u->dtype);
  } else if (const auto* c = e.as<ir::Call>()) {
    count(ops, c->fn == ir::Intrinsic::kFma ? kMulAdd : kMath, c->args[0].dtype());
  } else if (e.as<ir::Select>() != nullptr) {
    ++ops[kSelects];
  }
}

// A loop that became a part of a vector instruction runs in lanes, as the loop around it does.
Mark seen_as(Mark m) { return m == Mark::kTensorize ? Mark::kVectorize : m; }

class Walker {
 public:
  Walker(const schedule::State& s, const schedule::Bounds& b, FunctionRef<void(Statement&)> fn,
         UnitLoops units)
      : s_(s), b_(b), fn_(fn), shortest_(units == UnitLoops::kKept ? 1 : 2) {}

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
    const size_t depth = loops_.size();
    std::vector<Mark> marks;
    if (st.unroll_limit > 0) marks = schedule::final_marks(s_, st, sb);
    for (const LoopId l : st.leaves) {
      const size_t i = static_cast<size_t>(l);
      const schedule::Loop& loop = st.loop(l);
      if (sb.extents[i] >= shortest_) {
        loops_.push_back({next_id_++, sb.extents[i], loop.kind,
                          seen_as(marks.empty() ? loop.mark : marks[i]), loop.tag,
                          sb.vars[i].node()});
      }
      for (const Stage* a : attached_) {
        if (a->at_stage == st.id && a->at_loop == l) walk(*a);
      }
    }
    emit(st, sb, depth);
    loops_.resize(depth);
  }

  void emit(const Stage& st, const StageBounds& sb, size_t depth) {
    out_.stage = &st;
    out_.loops = loops_;
    out_.ops = {};
    out_.uses.clear();
    out_.dims.clear();
    out_.accesses.clear();
    out_.indices.clear();
    out_.distinct.clear();
    name_variables(st, sb);
    store(st);
    scan(st.op->body);
    out_.allocates = !st.output;
    out_.alloc_depth = st.place == Place::kAt ? depth : 0;
    out_.alloc_elements = 1;
    for (const auto& a : sb.axes) out_.alloc_elements *= static_cast<double>(a.extent);
    fn_(out_);
  }

  void name_variables(const Stage& st, const StageBounds& sb) {
    extents_.clear();
    for (const NestLoop& l : loops_) extents_.push_back(l.extent);
    out_.forms.reset(extents_);
    for (size_t i = 0; i < loops_.size(); ++i) out_.forms.name_loop(loops_[i].var, i);
    const size_t rank = st.op->axes.size();
    for (size_t d = 0; d < rank; ++d) {
      const FormId f = out_.forms.compile_sum(sb.axes[d].min, sb.values[d]);
      out_.forms.name_form(st.op->axes[d].var.node(), f);
      out_.indices.push_back(f);
    }
    for (size_t d = 0; d < st.op->reduce_axes.size(); ++d) {
      out_.forms.name_form(st.op->reduce_axes[d].var.node(),
                           out_.forms.compile(sb.values[rank + d]));
    }
  }

  // Its indices are the axes, already compiled.
  void store(const Stage& st) {
    const size_t u = use_of(st.buffer);
    out_.uses[u].written = true;
    out_.accesses.push_back({u, 0});
    for (size_t d = 0; d < out_.uses[u].rank; ++d) {
      add_index(out_.uses[u].first_dim + d, nullptr, out_.indices[d]);
    }
    if (st.op->is_reduction()) {
      out_.uses[u].read = true;
      count(out_.ops, column_of(*st.op->combiner), st.buffer.dtype());
    }
  }

  void scan(const ir::Expr& e) {
    if (const auto* load = e.as<ir::Load>()) return add_read(*load);
    count_node(out_.ops, e);
    ir::for_each_child(e, [&](const ir::Expr& c) { scan(c); });
  }

  // Index arithmetic is not counted, but what it reads is read.
  void find_reads(const ir::Expr& e) {
    if (const auto* load = e.as<ir::Load>()) return add_read(*load);
    ir::for_each_child(e, [&](const ir::Expr& c) { find_reads(c); });
  }

  void add_read(const ir::Load& load) {
    const size_t u = use_of(load.buffer);
    out_.uses[u].read = true;
    out_.accesses.push_back({u, out_.indices.size()});
    for (size_t d = 0; d < load.indices.size(); ++d) {
      out_.indices.push_back(form_of(out_.uses[u].first_dim + d, load.indices[d]));
    }
    for (const ir::Expr& i : load.indices) {
      if (i.loads()) find_reads(i);
    }
  }

  // An index that the dimension was accessed by before is not compiled again.
  FormId form_of(size_t dim, const ir::Expr& index) {
    for (int32_t i = out_.dims[dim].first_index; i >= 0;) {
      const Index& known = out_.distinct[static_cast<size_t>(i)];
      if (known.expr == index.get()) return known.form;
      i = known.next;
    }
    const FormId form = out_.forms.compile(index);
    add_index(dim, index.get(), form);
    return form;
  }

  void add_index(size_t dim, const ir::ExprNode* expr, FormId form) {
    int32_t& first = out_.dims[dim].first_index;
    out_.distinct.push_back({expr, form, first});
    first = static_cast<int32_t>(out_.distinct.size()) - 1;
  }

  size_t use_of(const ir::Buffer& b) {
    for (size_t u = 0; u < out_.uses.size(); ++u) {
      if (out_.uses[u].buffer == b.get()) return u;
    }
    out_.uses.push_back({b.get(), false, false, static_cast<double>(b.dtype().bytes()), b.rank(),
                         out_.dims.size()});
    add_dims(b);
    return out_.uses.size() - 1;
  }

  void add_dims(const ir::Buffer& b) {
    const StageId owner = s_.owner(b);
    const Stage* st = owner < 0 ? nullptr : &s_.stage(owner);
    const bool own = st != nullptr && !st->is_input() && !st->output;
    int64_t stride = 1;
    const size_t first = out_.dims.size();
    out_.dims.resize(first + b.rank());
    for (size_t d = b.rank(); d-- > 0;) {
      const int64_t held = own ? bounds(owner).axes[d].extent : b.shape()[d];
      if (own) stride = schedule::aligned_stride(*st, d, stride);
      out_.dims[first + d] = {static_cast<double>(b.shape()[d]), static_cast<double>(held),
                              static_cast<double>(own ? stride : b->strides[d])};
      stride *= held;
    }
  }

  const schedule::State& s_;
  const schedule::Bounds& b_;
  FunctionRef<void(Statement&)> fn_;
  int64_t shortest_;  // of the loops that are kept
  std::vector<const Stage*> attached_;
  std::vector<NestLoop> loops_;
  std::vector<int64_t> extents_;
  int32_t next_id_ = 0;
  Statement out_;
};

}  // namespace

void for_each_statement(const schedule::State& s, const schedule::Bounds& b,
                        FunctionRef<void(Statement&)> fn, UnitLoops units) {
  Walker(s, b, fn, units).run();
}

double iterations(std::span<const NestLoop> loops) {
  double n = 1;
  for (const NestLoop& l : loops) n *= static_cast<double>(l.extent);
  return n;
}

double arithmetic(const OpCounts& ops) {
  double floats = 0, ints = 0;
  for (size_t i = 0; i < kIntOps; ++i) {
    floats += ops[i];
    ints += ops[i + kIntOps];
  }
  return floats > 0 ? floats : ints;
}

double stride_of(const Statement& s, const Access& a, size_t loop) {
  const Use& u = s.uses[a.use];
  double far = 0, near = 0;
  for (size_t d = 0; d < u.rank; ++d) {
    const FormId f = s.indices[a.first + d];
    if (!s.forms.uses(f, loop)) continue;
    far += s.forms.step(f, loop) * s.dims[u.first_dim + d].stride;
    near = s.dims[u.first_dim + d].stride;  // of the innermost dimension that it moves
  }
  // A quotient or an index that is read may stay where it is at first.
  return near > 0 && far != 0 ? std::abs(far) : near;
}

}  // namespace tenon::cost
