// SPDX-License-Identifier: Apache-2.0
// Softmax, normalisation and their like: reductions over some dimensions and element-wise work
// around them. One row (what is left when the other dimensions are fixed) at a time, everything
// computed at the loop over rows of the output. Cheap element-wise ops are inlined, so that a row
// is walked through once per reduction and once at the end.
//
// The last dimension reduced: a reduction runs in u vectors of partial results that are combined
// across lanes once per row. Another one reduced: a vector of neighbouring rows at a time.
#include "templates/rows.h"

#include <algorithm>

#include "templates/anchor.h"
#include "templates/edges.h"
#include "templates/template.h"
#include "templates/write.h"

namespace tenon::templates {

using space::Loop;
using space::StageRef;

namespace {

constexpr int64_t kUnrolled = 8;  // vectors of a short row
constexpr int64_t kFewLanes = 4;  // that are faster than one sum after the other
constexpr int64_t kAlone = 1024;  // elements of a row that one core does not sum alone

// `count` axes of a stage, from `first` on.
std::vector<Loop> axes_from(const space::Builder& b, StageRef stage, size_t first, size_t count) {
  std::vector<Loop> out;
  for (size_t d = 0; d < count; ++d) out.push_back(b.axis(stage, first + d));
  return out;
}

}  // namespace

RowsWriter::RowsWriter(space::Builder& b, const Rows& rows)
    : b_(b),
      rows_(rows),
      t_(b.target().cpu()),
      last_(*rows.last),
      out_(b.stage(rows.last->name())) {}

void RowsWriter::inline_cheap() {
  for (const te::OpRef& op : rows_.ops) {
    const StageRef stage = b_.stage(op->name());
    const bool full = rows_.length(*op) > 1;
    const bool cheap = !has_call(*op) || b_.dag().readers(op->output).size() == 1;
    if (op.get() != &last_ && !op->is_reduction() && full && cheap) {
      b_.compute_inline(stage);
    } else {
      kept_.push_back({op.get(), stage, {}, {}});
    }
  }
}

void RowsWriter::cut_sums(bool alone) {
  if (rows_.joined) join_row();
  pairs_ = alone && takes_pairs();
  if (rows_.across) return;
  for (Kept& k : kept_) {
    if (k.op->is_reduction()) reduce(k);
  }
}

void RowsWriter::place_alone() {
  row_loop();
  place_all();
}

void RowsWriter::place_at(Loop loop) {
  b_.compute_at(out_, loop);
  row_ = b_.axis(out_, rows_.outer.back());
  place_all();
}

// One number for all that is computed of a row: that of the widest type.
int64_t RowsWriter::common_lanes() const {
  int64_t bytes = 1;
  for (const Kept& k : kept_) bytes = std::max<int64_t>(bytes, k.op->output.dtype().bytes());
  return t_.lanes(bytes);
}

int64_t RowsWriter::lanes_of_row(int64_t extent) const {
  int64_t v = common_lanes();
  while (v > extent) v /= 2;
  return v;
}

void RowsWriter::attach(StageRef stage) { b_.compute_at(stage, row_); }

// From the last to the first: a stage may be attached once its readers are.
void RowsWriter::place_all() {
  for (auto it = kept_.rbegin(); it != kept_.rend() && !b_.refused(); ++it) place(*it);
}

// All dimensions of a row become one.
void RowsWriter::join_row() {
  const size_t first = rows_.outer.size();
  const auto join = [&](const te::Tensor& t) {
    if (t.rank() <= first + 1) return;
    b_.layout_fuse(b_.stage(t.name()), static_cast<int64_t>(first),
                   static_cast<int64_t>(t.rank() - first));
  };
  for (const te::Input& in : b_.dag().inputs) {
    if (reads_whole_row(in.tensor)) join(in.tensor);
  }
  for (const Kept& k : kept_) join(k.op->output);
  for (Kept& k : kept_) {
    const size_t sums = k.op->reduce_axes.size(), rank = b_.now(k.stage).axes.size();
    if (sums > 0) k.sums = {b_.fuse(axes_from(b_, k.stage, rank, sums))};
  }
}

bool RowsWriter::reads_whole_row(const te::Tensor& t) const {
  for (const te::ComputeOp* op : b_.dag().readers(t)) {
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
  for (const Kept& k : kept_) {
    const te::ComputeOp& op = *k.op;
    const int64_t v = t_.lanes(op.output.dtype().bytes());
    if (op.axes.size() > 2 || (op.is_reduction() && op.reduce_axes.size() > 1)) return false;
    if (op.is_reduction() && (v < 2 || op.reduce_axes[0].extent < 16 * v)) return false;
  }
  return true;
}

void RowsWriter::place(const Kept& k) {
  const bool last = k.op == &last_;
  if (!last) attach(k.stage);
  if (rows_.across) {
    place_across(k);
  } else if (rows_.length(*k.op) > 1) {
    vectors(k);
  } else if (pairs_ && !last) {
    b_.unroll(b_.axis(k.stage, 0));
  }
  if (k.factored.id < 0) return;
  attach(k.factored);
  if (pairs_) b_.unroll(b_.axis(k.factored, 0));
}

// A vector of rows: the lanes are innermost in every stage.
void RowsWriter::place_across(const Kept& k) {
  if (k.op == &last_) return;
  const te::ComputeOp& op = b_.now(k.stage);
  const size_t rank = op.axes.size();
  const Loop lanes = b_.axis(k.stage, rank - 1);
  std::vector<Loop> order = axes_from(b_, k.stage, rank, op.reduce_axes.size());
  order.push_back(lanes);
  if (order.size() > 1) b_.reorder(order);
  b_.vectorize(lanes);  // attached, its extent is that of the vector
}

void RowsWriter::vectors(const Kept& k) {
  const int64_t full = t_.lanes(k.op->output.dtype().bytes());
  const Loop elements = b_.axis(k.stage, b_.now(k.stage).axes.size() - 1);
  const int64_t extent = b_.extent(elements), v = lanes_of_row(extent);
  if (full < 2 || v < 2) return;
  const auto [outer, lanes] = b_.split<2>(elements, {v});
  b_.vectorize(lanes);
  if (extent <= kUnrolled * full) b_.unroll(outer);
  if (!pairs_) return;
  const Loop row = k.op == &last_ ? inner_ : b_.axis(k.stage, 0);
  b_.reorder({outer, row, lanes});
  b_.unroll(row);
}

// S = sum(j): partial results in u*v lanes, then across lanes. Outer reduced dimensions stay
// outside.
void RowsWriter::reduce(Kept& k) {
  const te::ComputeOp op = b_.now(k.stage);
  const size_t rank = op.axes.size();
  const auto sums = k.sums.empty() ? axes_from(b_, k.stage, rank, op.reduce_axes.size()) : k.sums;
  const int64_t extent = b_.extent(sums.back());
  const int64_t full = t_.lanes(op.output.dtype().bytes());
  const int64_t v = lanes_of_row(extent < 2 * full ? extent - 1 : extent);  // two vectors at least
  if (full < 2 || v < kFewLanes) return;
  const int64_t u = extent >= 16 * full ? std::min<int64_t>(4, 64 / v) : 1;
  const auto lanes = b_.split<2>(sums.back(), {u * v})[1];
  k.factored = b_.rfactor(lanes, static_cast<int64_t>(rank));
  b_.vectorize(b_.axis(k.stage, rank));
  std::vector<Loop> order =
      axes_from(b_, k.factored, rank + 1, sums.size());  // what is left to sum
  if (u > 1) return unroll_lanes(k.factored, order, v);
  const Loop vectors = order.back(), partial = b_.axis(k.factored, rank);
  order.push_back(partial);
  b_.reorder(order);
  b_.vectorize(partial);
  if (extent <= kUnrolled * full && sums.size() == 1) b_.unroll(vectors);
}

// Several vectors of partial results.
void RowsWriter::unroll_lanes(StageRef factored, std::vector<Loop> sums, int64_t v) {
  if (b_.refused()) return;
  const auto [unrolled, lanes] =
      b_.split<2>(b_.axis(factored, b_.now(factored).axes.size() - 1), {v});
  if (pairs_) sums.push_back(b_.axis(factored, 0));
  sums.insert(sums.end(), {unrolled, lanes});
  b_.reorder(sums);
  b_.unroll(unrolled);
  b_.vectorize(lanes);
}

// The loops over rows, the last one over vectors of them.
std::vector<Loop> RowsWriter::vectors_of_rows(std::vector<Loop> outer) {
  int64_t v = t_.lanes(last_.output.dtype().bytes());
  while (v > 1 && v > last_.axes.back().extent) v /= 2;
  const auto [vectors, lanes] = b_.split<2>(outer.back(), {v});
  outer.back() = vectors;
  std::vector<Loop> order = outer;
  for (size_t d = 0; d < last_.axes.size(); ++d) {
    if (!rows_.is_outer(d)) order.push_back(b_.axis(out_, d));
  }
  order.push_back(lanes);
  b_.reorder(order);
  b_.vectorize(lanes);
  return outer;
}

void RowsWriter::row_loop() {
  std::vector<Loop> outer;
  int64_t rows = 1;
  for (const size_t d : rows_.outer) {
    outer.push_back(b_.axis(out_, d));
    rows *= b_.extent(outer.back());
  }
  if (rows_.across) outer = vectors_of_rows(std::move(outer));
  if (pairs_) {
    const auto [pairs, of_pair] = b_.split<2>(outer[0], {2});
    outer[0] = pairs;
    inner_ = of_pair;
  }
  row_ = b_.fuse(outer);
  if (rows > 1) b_.parallel(row_);
}

namespace {

// Sums of a few elements each, many side by side: vectors of sums are better.
bool is_short(const Rows& r, int64_t longest, const target::Cpu& t) {
  const int64_t lanes = t.lanes(r.last->output.dtype().bytes());
  const size_t last = r.last->axes.size() - 1;
  return !r.across && r.is_outer(last) && r.last->axes[last].extent >= lanes && longest < lanes;
}

}  // namespace

std::optional<Written> write_rows(space::Builder& b, const Request& request) {
  const te::ComputeDag& dag = b.dag();
  const auto r = find_rows(dag, request, b.target().cpu());
  if (!r || !may_be_plain(request, dag.outputs[0])) return std::nullopt;
  int64_t rows = 1;
  for (const size_t d : r->outer) rows *= r->last->axes[d].extent;
  int64_t longest = 1;
  for (const te::OpRef& op : dag.ops) {
    int64_t n = r->length(*op);
    for (const te::Axis& a : op->reduce_axes) n *= a.extent;
    longest = std::max(longest, n);
  }
  if (is_short(*r, longest, b.target().cpu())) return std::nullopt;
  const auto reductions = std::count_if(dag.ops.begin(), dag.ops.end(),
                                        [](const te::OpRef& op) { return op->is_reduction(); });
  if (rows < std::max(2, b.target().cpu().cores) && longest >= kAlone && reductions == 1)
    return std::nullopt;
  RowsWriter rows_of(b, *r);
  rows_of.inline_cheap();
  store_fixed_inputs(b, request);
  rows_of.cut_sums(true);
  rows_of.place_alone();
  return Written{};
}

}  // namespace tenon::templates
