// SPDX-License-Identifier: Apache-2.0
// Windows that slide over positions, channel by channel or in small groups of them: depthwise and
// grouped convolutions, pooling. A thread computes a few neighbours, for which it reads what their
// windows cover once, into registers.
//
//   Y[c, y, x] = sum(r, s) P[c, y + r, x + s] * W[c, r, s]      3 taps, 4 columns for each thread
//     =>  P of 3 x 6 elements in registers, 36 products with them
#include <algorithm>

#include "arith/linear.h"
#include "schedule/algorithms/gemm.h"
#include "schedule/primitives/set_scope.h"
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

constexpr int64_t kMostTaps = 64;  // all of them are written out
constexpr int64_t kMostCopies = 400;
constexpr int64_t kThreads = 256;  // of a multiprocessor, that keep it busy

struct Windows {
  Chain chain;
  std::vector<size_t> taps, others;  // reduction axes: those of windows, and the rest
  int64_t all_taps = 1;
  bool along_columns = false, along_rows = false;  // windows slide along the last two axes
  const te::ComputeOp* padding = nullptr;          // that windows are read through
};

bool is_tap(const te::ComputeOp& op, const te::Axis& tap, const te::Axis& at) {
  for (const te::Access& a : te::accesses(op)) {
    for (const ir::Expr& i : a.indices) {
      const arith::Linear l = arith::to_linear(i);
      if (l.coefficient(at.var.node()) != 0 && l.coefficient(tap.var.node()) != 0) return true;
    }
  }
  return false;
}

// Neighbours along a dimension of what is read are taps of a window.
bool is_dense(const te::ComputeOp& op, const Windows& w, const te::Tensor& t) {
  for (const te::Access& a : te::accesses(op)) {
    if (!a.tensor.same_as(t)) continue;
    for (const ir::Expr& i : a.indices) {
      const arith::Linear l = arith::to_linear(i);
      for (const size_t d : w.taps) {
        if (const int64_t step = l.coefficient(op.reduce_axes[d].var.node()); step > 1)
          return false;
      }
    }
  }
  return true;
}

std::optional<Windows> find_windows(const schedule::State& s) {
  const auto chain = find_chain(s.dag());
  if (!chain) return std::nullopt;
  const te::ComputeOp& op = *chain->anchor;
  if (op.axes.size() < 2 || op.axes.back().extent < 2 || schedule::find_gemm(s, op))
    return std::nullopt;
  Windows w;
  w.chain = *chain;
  for (size_t r = 0; r < op.reduce_axes.size(); ++r) {
    const te::Axis& axis = op.reduce_axes[r];
    const bool column = is_tap(op, axis, op.axes.back());
    const bool row = is_tap(op, axis, op.axes[op.axes.size() - 2]);
    w.along_columns = w.along_columns || column;
    w.along_rows = w.along_rows || row;
    (row || column ? w.taps : w.others).push_back(r);
    if (row || column) w.all_taps *= axis.extent;
  }
  if (!w.along_columns || w.all_taps > kMostTaps) return std::nullopt;
  for (const te::Access& a : te::accesses(op)) {
    const auto padding = find_padding(s.dag(), a.tensor, true);
    if (padding && is_dense(op, w, a.tensor)) w.padding = padding->op;
  }
  return w;
}

class Writer {
 public:
  Writer(const Windows& w, Builder& b)
      : w_(w), b_(b), op_(*w.chain.anchor), out_(b.stage(w.chain.final->name())) {}

  void run() {
    sum_ = b_.stage(op_.name());
    if (w_.chain.final == w_.chain.anchor) sum_ = b_.cache_write(sum_, ir::Scope::kRegister);
    for (const te::ComputeOp* op : w_.chain.inlined) {
      if (op != w_.chain.anchor && op != w_.padding) b_.compute_inline(b_.stage(op->name()));
    }
    if (b_.refused()) return;
    const Loop thread = tile();
    keep(sum_, thread);
    const Loop inner = order_sum(thread);
    if (w_.padding == nullptr || b_.refused()) return;
    const StageRef padded = b_.stage(w_.padding->name());
    keep(padded, inner);
    if (b_.refused()) return;
    for (const Loop& l : b_.leaves(padded)) b_.unroll(l);
  }

 private:
  // Sizes of which the last tile is whole.
  Value ask(int number, const char* name, int64_t extent, int64_t most, int64_t rule) {
    std::vector<int64_t> sizes;
    for (const int64_t n : {1, 2, 4, 7, 8}) {
      if (n <= most && extent % n == 0) sizes.push_back(n);
    }
    const Domain domain = Domain::of(std::move(sizes));
    return b_.ask({HoleKind::kFactor, out_.id, number}, name, domain, domain.nearest(rule));
  }

  // Returns the loop of the threads.
  Loop tile() {
    const size_t rank = op_.axes.size();
    const int64_t width = op_.axes[rank - 1].extent, height = op_.axes[rank - 2].extent;
    const int64_t most = std::max<int64_t>(1, kMostCopies / w_.all_taps);
    const int64_t by_rule = width % 4 == 0 ? 4 : width % 2 == 0 ? 2 : 1;
    const Value columns = ask(1, "columns", width, most, by_rule);
    const int64_t most_rows = w_.along_rows ? most / columns : 1;
    const Value rows = ask(2, "rows", height, most_rows, rows_by_rule(height, columns));
    std::vector<Loop> outer;
    for (size_t d = 0; d < rank; ++d) outer.push_back(b_.axis(out_, d));
    const auto [y0, y1] = b_.split<2>(outer[rank - 2], {rows});
    const auto [x0, x1] = b_.split<2>(outer[rank - 1], {columns});
    outer[rank - 2] = y0;
    outer[rank - 1] = x0;
    std::vector<Loop> order = outer;
    order.insert(order.end(), {y1, x1});
    b_.reorder(order);
    b_.unroll(y1);
    b_.unroll(x1);
    return gpu::bind_loops(b_, out_, outer);
  }

  // Rows share what they read, as long as threads are many.
  int64_t rows_by_rule(int64_t height, int64_t columns) const {
    int64_t elements = 1;
    for (const te::Axis& a : op_.axes) elements *= a.extent;
    const int64_t least = kThreads * b_.target().gpu().multiprocessors;
    int64_t rows = 1;
    while (rows < 4 && height % (2 * rows) == 0 && elements / (columns * 2 * rows) >= least)
      rows *= 2;
    return rows;
  }

  void keep(StageRef stage, Loop at) {
    b_.compute_at(stage, at);
    if (!b_.refused()) b_.add(schedule::SetScope{stage, ir::Scope::kRegister});
  }

  // Channels of a group, taps, elements. Returns the loop inside of which only taps and elements
  // are.
  Loop order_sum(Loop thread) {
    if (b_.refused()) return {};
    const size_t rank = b_.now(sum_).axes.size();
    std::vector<Loop> order, written_out;
    for (const size_t r : w_.others) order.push_back(b_.axis(sum_, rank + r));
    const Loop inner = order.empty() ? thread : order.back();
    for (const size_t r : w_.taps) written_out.push_back(b_.axis(sum_, rank + r));
    for (size_t d = 0; d < rank; ++d) written_out.push_back(b_.axis(sum_, d));
    order.insert(order.end(), written_out.begin(), written_out.end());
    b_.reorder(order);
    for (const Loop& l : written_out) b_.unroll(l);
    return inner;
  }

  const Windows& w_;
  Builder& b_;
  const te::ComputeOp& op_;
  StageRef out_, sum_;
};

}  // namespace

std::optional<Written> write_gpu_windows(Builder& b, const Request& request) {
  const auto w = find_windows(b.state());
  if (!w || !gpu::store_edges_of_plain(b, request, *w->chain.final)) return std::nullopt;
  Writer(*w, b).run();
  return Written{};
}

}  // namespace tenon::templates
