// SPDX-License-Identifier: Apache-2.0
// Reductions of long rows and what is computed from them, a block of threads for each row: softmax,
// norms, means. Each thread reduces its share of the row, a few of them what all have found, and one
// of them what these have.
//
//   C[i] = sum(k) A[i, k]  =>  C.rf[i, t] = sum(k.0) A[i, k.0*128 + t] by thread t;
//                              C.rf.2[i, u] = sum(t.0) C.rf[i, t.0*16 + u]; C[i] = sum(u) C.rf.2[i, u]
#include <algorithm>

#include "ir/visit.h"
#include "templates/anchor.h"
#include "templates/gpu/kernels.h"

namespace tenon::templates {

using space::Builder;
using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;

namespace {

constexpr int64_t kAtLast = 16;       // parts that one thread adds up
constexpr int64_t kLeastLength = 48;  // shorter rows are one thread's work

struct RowsOf {
  const te::ComputeOp* out = nullptr;
  std::vector<const te::ComputeOp*> reductions;
  int64_t rows = 1;
  int64_t length = 1;   // of what is reduced, the longest
  size_t row_axes = 0;  // leading axes of the output that tell rows apart
};

int64_t elements(const std::vector<te::Axis>& axes) {
  int64_t n = 1;
  for (const te::Axis& a : axes) n *= a.extent;
  return n;
}

// A reduction that other rows read, too, is not part of one row.
bool stays_in_row(const te::ComputeOp& op, const te::ComputeOp& reduction) {
  const size_t rows =
      static_cast<size_t>(std::count_if(reduction.axes.begin(), reduction.axes.end(),
                                        [](const te::Axis& a) { return a.extent > 1; }));
  bool ok = true;
  ir::visit_loads(op.body, [&](const ir::Load& l) {
    if (!l.buffer.same_as(reduction.output)) return;
    size_t own = 0;
    for (const ir::Expr& i : l.indices) {
      const auto axis = plain_axis(i, op);
      own += axis && *axis < op.axes.size() && op.axes[*axis].extent > 1 ? 1 : 0;
    }
    ok = ok && own == rows;
  });
  return ok;
}

std::optional<RowsOf> find_rows(const te::ComputeDag& dag) {
  RowsOf r;
  if (dag.outputs.size() != 1) return std::nullopt;
  r.out = dag.producer(dag.outputs[0]);
  for (const te::OpRef& op : dag.ops) {
    if (!op->is_reduction()) continue;
    const int64_t rows = elements(op->axes);
    if (!r.reductions.empty() && rows != r.rows) return std::nullopt;
    r.rows = rows;
    r.length = std::max(r.length, elements(op->reduce_axes));
    for (const te::ComputeOp* before : r.reductions) {
      if (!stays_in_row(*op, *before)) return std::nullopt;
    }
    r.reductions.push_back(op.get());
  }
  if (r.reductions.empty() || r.length < kLeastLength || r.out->axes.empty()) return std::nullopt;
  int64_t leading = 1;
  while (r.row_axes < r.out->axes.size() && leading < r.rows) {
    leading *= r.out->axes[r.row_axes++].extent;
  }
  return leading == r.rows ? std::optional(r) : std::nullopt;
}

class Writer {
 public:
  Writer(const RowsOf& r, Builder& b) : r_(r), b_(b), out_(b.stage(r.out->name())) {}

  void run() {
    for (const te::OpRef& op : b_.dag().ops) {
      if (op.get() != r_.out && !op->is_reduction()) b_.compute_inline(b_.stage(op->name()));
    }
    int64_t rule = 32;
    while (rule * 4 < r_.length && rule < 256) rule *= 2;
    threads_ = b_.ask({HoleKind::kFactor, out_.id, 0}, "threads", threads(), rule);
    std::vector<StageRef> sums, parts;
    for (const te::ComputeOp* op : r_.reductions) {
      // What is reduced last is a copy of its sum then, and can be attached like the others.
      StageRef sum = b_.stage(op->name());
      if (op == r_.out) sum = b_.cache_write(sum, ir::Scope::kShared);
      parts.push_back(share_out(sum, threads_));
      if (threads_ > 2 * kAtLast) parts.push_back(share_out(sum, kAtLast));
      sums.push_back(sum);
    }
    const Loop row = bind_rows();
    const size_t each = parts.size() / sums.size();
    for (size_t i = sums.size(); i-- > 0;) {
      attach(sums[i], row, 0);
      for (size_t p = (i + 1) * each; p-- > i * each;)
        attach(parts[p], row, b_.refused() ? 0 : b_.now(parts[p]).axes.size() - 1);
    }
  }

 private:
  // More than a row has elements would be the same program again.
  Domain threads() const {
    const int64_t most = std::max(r_.length, elements(r_.out->axes) / r_.rows);
    std::vector<int64_t> sizes{32};
    for (int64_t t = 64; t <= 512 && t / 2 < most; t *= 2) sizes.push_back(t);
    return Domain::of(std::move(sizes));
  }

  // A part of the sum for each of so many threads.
  StageRef share_out(StageRef sum, int64_t threads) {
    if (b_.refused()) return {};
    std::vector<Loop> loops;
    const size_t rank = b_.now(sum).axes.size();
    for (size_t d = 0; d < b_.now(sum).reduce_axes.size(); ++d)
      loops.push_back(b_.axis(sum, rank + d));
    const Loop all = b_.fuse(loops);
    const int64_t t = std::min<int64_t>(threads, b_.extent(all));
    const auto [steps, thread] = b_.split<2>(all, {t});
    return b_.rfactor(thread, static_cast<int64_t>(rank));
  }

  // Rows are blocks; the elements of a row are dealt out to its threads.
  Loop bind_rows() {
    if (b_.refused()) return {};
    std::vector<Loop> rows, columns;
    for (size_t d = 0; d < r_.out->axes.size(); ++d)
      (d < r_.row_axes ? rows : columns).push_back(b_.axis(out_, d));
    if (rows.empty()) {
      b_.refuse({.code = IllegalCode::kNoReduction, .stage = out_.id});
      return {};
    }
    Loop row = b_.fuse(rows), thread = row;
    if (columns.empty()) {
      const auto cut = b_.split<2>(row, {1});
      row = cut[0];
      thread = cut[1];
    } else {
      thread = b_.fuse(columns);
      if (b_.extent(thread) > threads_) thread = b_.split<2>(thread, {threads_})[1];
    }
    b_.bind(row, ir::ThreadTag::kBlockX);
    b_.bind(thread, ir::ThreadTag::kThreadX);
    return row;
  }

  // Summed up in a register, and left where all threads of the row can read it.
  void attach(StageRef stage, Loop row, size_t axis) {
    const StageRef sum = b_.cache_write(stage, ir::Scope::kRegister);
    b_.compute_shared(stage, row);
    b_.bind(b_.axis(stage, axis), ir::ThreadTag::kThreadX);
    if (b_.refused()) return;
    b_.compute_at(sum, b_.leaves(stage).back());
    gpu::write_out_sums(b_, sum);
  }

  const RowsOf& r_;
  Builder& b_;
  StageRef out_;
  Value threads_ = 0;
};

}  // namespace

std::optional<Written> write_gpu_rows(Builder& b, const Request& request) {
  const auto r = find_rows(b.dag());
  if (!r) return std::nullopt;
  gpu::store_edges(b, request);
  Writer(*r, b).run();
  return Written{};
}

}  // namespace tenon::templates
