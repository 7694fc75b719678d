// SPDX-License-Identifier: Apache-2.0
// Softmax, normalisation and their like: reductions over some dimensions and element-wise work around them. One row (what
// is left when the other dimensions are fixed) at a time, everything computed at the loop over rows of the output.
// Cheap element-wise ops are inlined, so that a row is walked through once per reduction and once at the end.
//
// The last dimension reduced: a reduction runs in u vectors of partial results that are combined across lanes once per
// row. Another one reduced: a vector of neighbouring rows at a time.
#include "templates/rows.h"

#include <algorithm>

#include "ir/visit.h"
#include "templates/anchor.h"
#include "templates/families.h"

namespace tenon::templates {

namespace {

constexpr int64_t kMaxRowBytes = 256 << 10;
constexpr int64_t kUnrolled = 8;  // vectors of a short row
constexpr int64_t kAlone = 1024;  // elements of a row that one core does not sum alone

bool has_call(const te::ComputeOp& op) {
  bool found = false;
  ir::visit(op.body, [&](const ir::Expr& e) { found = found || e.as<ir::Call>() != nullptr; });
  return found;
}

// Dimension d of every op is that of the last one, and what ops read of each other is read there in place.
bool passes_through(const te::ComputeDag& dag, const te::ComputeOp& last, size_t d) {
  for (const te::OpRef& op : dag.ops) {
    if (op->axes.size() <= d || op->axes[d].extent != last.axes[d].extent) return false;
    bool in_place = true;
    ir::visit(op->body, [&](const ir::Expr& e) {
      const auto* l = e.as<ir::Load>();
      if (l == nullptr || dag.producer(l->buffer) == nullptr) return;
      in_place = in_place && (l->indices[d].same_as(op->axes[d].var) || op->axes[d].extent == 1);
    });
    if (!in_place) return false;
  }
  return true;
}

// Every read either walks through all dimensions of a row in their order, or does not depend on them.
bool can_join(const te::ComputeDag& dag, size_t first) {
  for (const te::OpRef& op : dag.ops) {
    std::vector<ir::Expr> row;
    for (size_t d = first; d < op->axes.size(); ++d) {
      if (op->axes[d].extent > 1) row.emplace_back(op->axes[d].var);
    }
    if (op->is_reduction() && !row.empty()) return false;
    for (const te::Axis& a : op->reduce_axes) row.emplace_back(a.var);
    for (const te::Access& a : te::accesses(*op)) {
      size_t used = 0;
      for (const ir::Expr& v : row) {
        const auto uses = [&](const ir::Expr& i) { return ir::uses_var(i, v.as<ir::VarNode>()); };
        used += std::any_of(a.indices.begin(), a.indices.end(), uses) ? 1 : 0;
      }
      if (used == 0) continue;
      if (used != row.size() || a.indices.size() != first + row.size()) return false;
      for (size_t d = 0; d < row.size(); ++d) {
        if (!a.indices[first + d].same_as(row[d])) return false;
      }
    }
  }
  return true;
}

// A sum of products where each operand is reused along an axis of the output wants tiles, not rows.
bool reuses_both(const te::ComputeDag& dag, const te::ComputeOp& op) {
  auto parts = find_contraction(dag, op, true);
  if (!parts) parts = find_contraction(dag, op);
  if (!parts) return false;
  const auto reused = [&](const te::Access& a) {
    for (size_t d = 0; d < op.axes.size(); ++d) {
      if (a.reused[d]) return true;
    }
    return false;
  };
  return reused(parts->x) && reused(parts->w);
}

std::optional<Rows> match(const te::ComputeDag& dag, const Request& request) {
  if (dag.outputs.size() != 1) return std::nullopt;
  for (const te::OpRef& op : dag.ops) {
    if (op->is_reduction() && reuses_both(dag, *op)) return std::nullopt;
  }
  Rows r;
  r.ops = dag.ops;
  r.last = dag.producer(dag.outputs[0]);
  size_t reduced = 0;
  for (const te::OpRef& op : dag.ops) {
    if (op->is_reduction()) reduced = std::max(reduced, op->reduce_axes.size());
  }
  if (reduced == 0) return std::nullopt;
  for (size_t d = 0; d < r.last->axes.size(); ++d) {
    if (passes_through(dag, *r.last, d)) r.outer.push_back(d);
  }
  if (r.outer.empty()) return std::nullopt;
  // Reduced dimensions that were kept with extent 1 belong to the row.
  while (r.outer.size() > 1 && r.last->axes[r.outer.back()].extent == 1) r.outer.pop_back();
  for (const te::OpRef& op : dag.ops) {
    if (r.length(*op) * op->output.dtype().bytes() > kMaxRowBytes) return std::nullopt;
  }
  // A reduction that is the last op has no row of its own: its operand tells where the row lies.
  const size_t rank = r.last->axes.size();
  r.across = r.outer.size() > 1 && r.is_outer(rank - 1) && r.length(*r.last) > 1;
  const bool leading = r.outer.back() == r.outer.size() - 1;
  if (!leading && !r.across) return std::nullopt;
  if (leading && !r.across && (reduced > 1 || rank > r.outer.size() + 1)) {
    r.joined = can_join(dag, r.outer.size());
    for (const te::Input& in : dag.inputs)
      r.joined = r.joined && (in.constant || may_be_plain(request, in.tensor));
  }
  return r;
}

}  // namespace

bool Rows::is_outer(size_t d) const {
  return std::find(outer.begin(), outer.end(), d) != outer.end();
}

int64_t Rows::length(const te::ComputeOp& op) const {
  int64_t n = 1;
  for (size_t d = 0; d < op.axes.size(); ++d) n *= is_outer(d) ? 1 : op.axes[d].extent;
  return n;
}

std::optional<Rows> rows_before(const te::RowOperand& operand) {
  Rows r;
  r.ops = operand.rows;
  r.last = r.ops.back().get();
  for (size_t d = 0; d + 1 < r.last->axes.size(); ++d) r.outer.push_back(d);
  for (const te::OpRef& op : r.ops) {
    if (r.length(*op) * op->output.dtype().bytes() > kMaxRowBytes) return std::nullopt;
  }
  return r;
}

RowsWriter::RowsWriter(PlanWriter& plan, const Rows& rows, std::string prefix)
    : p_(plan), rows_(rows), t_(plan.target()), last_(*rows.last), prefix_(std::move(prefix)) {}

void RowsWriter::inline_cheap() {
  for (const te::OpRef& op : rows_.ops) {
    const bool full = rows_.length(*op) > 1;
    const bool cheap = !has_call(*op) || p_.dag().readers(op->output).size() == 1;
    if (op.get() != &last_ && !op->is_reduction() && full && cheap) {
      p_.line("compute_inline {}", op->name());
    } else {
      kept_.push_back(op);
    }
  }
}

void RowsWriter::cut_sums(bool alone) {
  if (rows_.joined) join_row();
  pairs_ = alone && takes_pairs();
  if (rows_.across) return;
  for (const te::OpRef& op : kept_) {
    if (op->is_reduction()) reduce(op->name());
  }
}

void RowsWriter::place_alone() {
  row_loop();
  place_all();
}

void RowsWriter::place_at(const std::string& stage, const std::string& loop) {
  p_.line("compute_at {} {} {}", last_.name(), stage, loop);
  row_ = last_.axes[rows_.outer.back()].var.name();
  place_all();
}

void RowsWriter::attach(const std::string& stage) {
  p_.line("compute_at {} {} {}", stage, last_.name(), row_);
}

std::string RowsWriter::knob(const char* name, int64_t value) {
  p_.knobs()[prefix_ + name] = value;
  return "$" + prefix_ + name;
}

// From the last to the first: a stage may be attached once its readers are.
void RowsWriter::place_all() {
  for (auto it = kept_.rbegin(); it != kept_.rend() && !p_.refused(); ++it) place(**it);
}

// All dimensions of a row become one.
void RowsWriter::join_row() {
  const size_t first = rows_.outer.size();
  const auto join = [&](const te::Tensor& t) {
    if (t.rank() > first + 1) p_.line("layout_fuse {} {} {}", t.name(), first, t.rank() - first);
  };
  for (const te::Input& in : p_.dag().inputs) {
    if (reads_whole_row(in.tensor)) join(in.tensor);
  }
  for (const te::OpRef& op : kept_) join(op->output);
  for (const te::OpRef& op : kept_) {
    if (op->reduce_axes.size() < 2) continue;
    std::vector<std::string> names;
    for (const te::Axis& a : op->reduce_axes) names.push_back(a.var.name());
    p_.line("fuse {} [{}]", op->name(), comma(names));
  }
}

bool RowsWriter::reads_whole_row(const te::Tensor& t) const {
  for (const te::ComputeOp* op : p_.dag().readers(t)) {
    for (const te::Access& a : te::accesses(*op)) {
      if (!a.tensor.same_as(t) || a.indices.size() <= rows_.outer.size() + 1) continue;
      const ir::Expr& i = a.indices.back();
      if (!ir::const_int(i)) return true;
    }
  }
  return false;
}

// Two long rows at a time hide each other's latencies and share what is read for both.
bool RowsWriter::takes_pairs() const {
  if (rows_.across || rows_.outer.size() != 1 || last_.axes[0].extent % (2 * t_.cores) != 0 ||
      last_.axes.size() != 2)
    return false;
  for (const te::OpRef& op : kept_) {
    const int64_t v = t_.lanes(op->output.dtype().bytes());
    if (op->axes.size() > 2 || (op->is_reduction() && op->reduce_axes.size() > 1)) return false;
    if (op->is_reduction() && (v < 2 || op->reduce_axes[0].extent < 16 * v)) return false;
  }
  return true;
}

void RowsWriter::place(const te::ComputeOp& op) {
  const std::string& n = op.name();
  if (&op != &last_) attach(n);
  if (rows_.across) {
    place_across(n);
  } else if (rows_.length(op) > 1) {
    const te::Axis& a = p_.now(n).axes.back();
    vectors(n, a, op.output.dtype(), &op == &last_ ? inner_ : op.axes[0].var.name());
  } else if (pairs_ && &op != &last_) {
    p_.line("unroll {} {}", n, op.axes[0].var.name());
  }
  if (std::find(factored_.begin(), factored_.end(), n) == factored_.end()) return;
  attach(n + ".rf");
  if (pairs_) p_.line("unroll {}.rf {}", n, op.axes[0].var.name());
}

// A vector of rows: the lanes are innermost in every stage.
void RowsWriter::place_across(const std::string& n) {
  const te::ComputeOp op = p_.now(n);
  if (n == last_.name()) return;
  const std::string lanes = op.axes.back().var.name();
  std::vector<std::string> order;
  for (const te::Axis& a : op.reduce_axes) order.push_back(a.var.name());
  order.push_back(lanes);
  if (order.size() > 1) p_.line("reorder {} [{}]", n, comma(order));
  p_.line("vectorize {} {}", n, lanes);  // attached, its extent is that of the vector
}

void RowsWriter::vectors(const std::string& stage, const te::Axis& a, ir::DType type,
                         const std::string& row) {
  const int64_t v = t_.lanes(type.bytes());
  const std::string name = a.var.name();
  if (v < 2 || a.extent < v) return;
  const int64_t extent = a.extent;
  p_.line("split {} {} [{}]", stage, name, knob("v", v));
  p_.line("vectorize {} {}.1", stage, name);
  if (extent <= kUnrolled * v) p_.line("unroll {} {}.0", stage, name);
  if (pairs_) {
    p_.line("reorder {} [{}.0, {}, {}.1]", stage, name, row, name);
    p_.line("unroll {} {}", stage, row);
  }
}

// S = sum(j): partial results in u*v lanes, then across lanes. Outer reduced dimensions stay outside.
void RowsWriter::reduce(const std::string& n) {
  const te::ComputeOp op = p_.now(n);
  std::string j;
  int64_t extent = 1;
  std::string outside;
  for (const te::Axis& a : op.reduce_axes) {
    if (rows_.joined) {
      j += (j.empty() ? "" : "@") + a.var.name();
      extent *= a.extent;
      continue;
    }
    if (!j.empty()) outside += j + ", ";
    j = a.var.name();
    extent = a.extent;
  }
  const int64_t v = t_.lanes(op.output.dtype().bytes());
  if (v < 2 || extent < 2 * v) return;
  const int64_t u = extent >= 16 * v ? std::min<int64_t>(4, 64 / v) : 1;
  const std::string lane = j + ".1";
  p_.line("split {} {} [{}]", n, j, knob(u > 1 ? "uv" : "v", u * v));
  p_.line("rfactor {} {} {}", n, lane, op.axes.size());
  p_.line("vectorize {} {}", n, lane);
  if (u > 1) {
    p_.line("split {}.rf {} [{}]", n, lane, knob("v", v));
    const std::string row = pairs_ ? op.axes[0].var.name() + ", " : "";
    p_.line("reorder {}.rf [{}{}.0, {}{}.0, {}.1]", n, outside, j, row, lane, lane);
    p_.line("unroll {}.rf {}.0", n, lane);
    p_.line("vectorize {}.rf {}.1", n, lane);
  } else {
    p_.line("reorder {}.rf [{}{}.0, {}]", n, outside, j, lane);
    p_.line("vectorize {}.rf {}", n, lane);
    if (extent <= kUnrolled * v && outside.empty()) p_.line("unroll {}.rf {}.0", n, j);
  }
  factored_.push_back(n);
}

void RowsWriter::row_loop() {
  std::vector<std::string> names;
  int64_t rows = 1;
  const auto& axes = p_.now(last_.name()).axes;
  std::vector<std::string> order;
  for (const size_t d : rows_.outer) {
    names.push_back(axes[d].var.name());
    rows *= axes[d].extent;
  }
  if (rows_.across) {
    const std::string lanes = names.back();
    int64_t v = t_.lanes(last_.output.dtype().bytes());
    while (v > 1 && v > last_.axes.back().extent) v /= 2;
    p_.line("split {} {} [{}]", last_.name(), lanes, knob("v", v));
    names.back() += ".0";
    order = names;
    for (size_t d = 0; d < last_.axes.size(); ++d) {
      if (!rows_.is_outer(d)) order.push_back(last_.axes[d].var.name());
    }
    p_.line("reorder {} [{}, {}.1]", last_.name(), comma(order), lanes);
    p_.line("vectorize {} {}.1", last_.name(), lanes);
  }
  row_ = names[0];
  if (pairs_) {
    p_.line("split {} {} [{}]", last_.name(), row_, knob("rows", 2));
    inner_ = row_ + ".1";
    row_ += ".0";
  }
  if (names.size() > 1) {
    p_.line("fuse {} [{}]", last_.name(), comma(names));
    for (size_t d = 1; d < names.size(); ++d) row_ += "@" + names[d];
  }
  if (rows > 1) p_.line("parallel {} {}", last_.name(), row_);
}

std::optional<Plan> plan_rows(const schedule::State& initial, const Request& request) {
  const te::ComputeDag& dag = initial.dag();
  const auto r = match(dag, request);
  if (!r || !may_be_plain(request, dag.outputs[0])) return std::nullopt;
  int64_t rows = 1;
  for (const size_t d : r->outer) rows *= r->last->axes[d].extent;
  int64_t longest = 1;
  for (const te::OpRef& op : dag.ops) {
    int64_t n = r->length(*op);
    for (const te::Axis& a : op->reduce_axes) n *= a.extent;
    longest = std::max(longest, n);
  }
  const auto reductions = std::count_if(dag.ops.begin(), dag.ops.end(),
                                        [](const te::OpRef& op) { return op->is_reduction(); });
  if (rows < std::max(2, initial.target().cores) && longest >= kAlone && reductions == 1)
    return std::nullopt;
  PlanWriter plan(initial, request);
  RowsWriter rows_of(plan, *r, "");
  rows_of.inline_cheap();
  plan.store_fixed_inputs();
  rows_of.cut_sums(true);
  rows_of.place_alone();
  return plan.take();
}

}  // namespace tenon::templates
