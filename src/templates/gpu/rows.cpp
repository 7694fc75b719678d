// SPDX-License-Identifier: Apache-2.0
// Reductions of rows and what is computed from them: softmax, norms, means. A block has a few rows
// and some threads for each (row_nests.h). Elements that are needed again once a reduction is known
// (exp(x - max), x - mean) are kept in shared memory, and what the last step alone reads (a scale, a
// residual) is fetched there while the reductions are computed.
#include <algorithm>
#include <map>
#include <set>

#include "ir/visit.h"
#include "te/access.h"
#include "templates/anchor.h"
#include "templates/gpu/kernels.h"
#include "templates/gpu/row_nests.h"

namespace tenon::templates {

using space::Builder;
using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;

namespace {

using gpu::kLanes;

constexpr int64_t kLeastLength = 48;  // shorter rows are one thread's work
constexpr int64_t kShare = 16;        // elements of a row for a thread
constexpr int64_t kBlock = 128;       // threads

struct RowsOf {
  const te::ComputeOp* out = nullptr;
  std::vector<const te::ComputeOp*> reductions;
  std::set<const te::ComputeOp*> kept;  // element by element, in shared memory
  int64_t rows = 1;
  int64_t length = 1;   // of what is reduced, the longest
  size_t row_axes = 0;  // leading axes of the output that tell rows apart
  bool lanes = true;    // everything along a row comes in whole lanes
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

// What is computed from a reduction, is dear, or is read in many places is not computed twice.
bool is_dear(const te::ComputeOp& op, const te::ComputeDag& dag) {
  int64_t loads = 0;
  bool behind = false;
  const auto look = [&](const te::ComputeOp& at, const auto& again) -> void {
    ir::visit_loads(at.body, [&](const ir::Load& l) {
      ++loads;
      const te::ComputeOp* from = dag.producer(l.buffer);
      if (from == nullptr) return;
      behind = behind || from->is_reduction();
      if (!from->is_reduction()) again(*from, again);
    });
  };
  look(op, look);
  return behind || loads > 2 || has_call(op);
}

bool same_axes(const te::ComputeOp& a, const te::ComputeOp& b) {
  return std::equal(a.axes.begin(), a.axes.end(), b.axes.begin(), b.axes.end(),
                    [](const te::Axis& x, const te::Axis& y) { return x.extent == y.extent; });
}

// From the last op backwards: who reads an element again, after it was read once.
void find_kept(const te::ComputeDag& dag, RowsOf& r) {
  std::map<const te::ComputeOp*, std::set<const te::ComputeOp*>>
      into;  // the nests that it is part of
  for (auto it = dag.ops.rbegin(); it != dag.ops.rend(); ++it) {
    const te::ComputeOp* op = it->get();
    if (op == r.out || op->is_reduction()) continue;
    for (const te::ComputeOp* reader : dag.readers(op->output)) {
      if (reader == r.out || reader->is_reduction() || r.kept.contains(reader)) {
        into[op].insert(reader);
      } else {
        into[op].insert(into[reader].begin(), into[reader].end());
      }
    }
    if (into[op].size() > 1 && same_axes(*op, *r.out) && is_dear(*op, dag)) r.kept.insert(op);
  }
}

void count_row_axes(RowsOf& r) {
  int64_t leading = 1;
  const std::vector<te::Axis>& axes = r.out->axes;
  while (r.row_axes < axes.size() && (leading < r.rows || axes[r.row_axes].extent == 1))
    leading *= axes[r.row_axes++].extent;
  if (leading != r.rows) r.row_axes = 0;
  if (r.row_axes < axes.size()) r.lanes = r.lanes && axes.back().extent % kLanes == 0;
}

std::optional<RowsOf> find_rows(const te::ComputeDag& dag) {
  RowsOf r;
  if (dag.outputs.size() != 1) return std::nullopt;
  r.out = dag.producer(dag.outputs[0]);
  for (const te::OpRef& op : dag.ops) {
    if (!op->is_reduction()) continue;
    if (te::has_data_reuse(*op)) return std::nullopt;
    const int64_t rows = elements(op->axes);
    if (!r.reductions.empty() && rows != r.rows) return std::nullopt;
    r.rows = rows;
    r.length = std::max(r.length, elements(op->reduce_axes));
    r.lanes = r.lanes && op->reduce_axes.back().extent % kLanes == 0;
    for (const te::ComputeOp* before : r.reductions) {
      if (!stays_in_row(*op, *before)) return std::nullopt;
    }
    r.reductions.push_back(op.get());
  }
  if (r.reductions.empty() || r.length < kLeastLength) return std::nullopt;
  count_row_axes(r);
  if (r.row_axes == 0) return std::nullopt;
  find_kept(dag, r);
  return r;
}

// A block may keep so many rows.
bool fits(const RowsOf& r, size_t rows, const target::Gpu& gpu) {
  const int64_t bytes = r.out->output.dtype().bytes() * r.length;
  return bytes * static_cast<int64_t>(rows) <= gpu.shared_bytes_per_block / 2;
}

class Writer {
 public:
  Writer(const RowsOf& r, Builder& b) : r_(r), b_(b), out_(b.stage(r.out->name())) {}

  void run() {
    for (const te::OpRef& op : b_.dag().ops) {
      if (op.get() != r_.out && !op->is_reduction() && !r_.kept.contains(op.get()))
        b_.compute_inline(b_.stage(op->name()));
    }
    ask();
    gpu::RowNests nests(b_, threads_, rows_, lanes(), exchange_ == 1);
    for (const te::OpRef& op : b_.dag().ops) {
      const StageRef stage = b_.stage(op->name());
      if (op->is_reduction())
        nests.add_sum(op.get() == r_.out ? b_.cache_write(stage, ir::Scope::kShared) : stage);
      if (r_.kept.contains(op.get())) nests.add_kept(stage, r_.row_axes);
    }
    const std::vector<StageRef> ahead = fetched_ahead();
    const Loop block = bind_rows(nests);
    for (const StageRef stage : ahead) {
      b_.compute_shared(stage, block);
      gpu::fetch_together(b_, stage, {.x = threads_, .y = rows_for(stage)}, lanes());
    }
    nests.place(block);
  }

 private:
  int64_t lanes() const { return r_.lanes ? kLanes : 1; }

  void ask() {
    const int64_t most = std::max<int64_t>(1, r_.length / lanes());
    int64_t threads = 32;
    while (threads < 256 && threads * kShare <= r_.length) threads *= 2;
    std::vector<int64_t> sizes;
    for (int64_t t = 4; t <= std::min<int64_t>(most, 512); t *= 2) sizes.push_back(t);
    const Domain domain = Domain::of(std::move(sizes));
    threads_ = b_.ask({HoleKind::kFactor, out_.id, 0}, "threads", domain, domain.nearest(threads));
    last_ = r_.row_axes - 1;
    while (last_ > 0 && r_.out->axes[last_].extent == 1) --last_;
    const int64_t busy = 2 * int64_t{b_.target().gpu().multiprocessors};
    int64_t rows = std::max<int64_t>(1, kBlock / threads_);
    while (rows > 1 && r_.rows < rows * busy) rows /= 2;
    std::vector<int64_t> counts;
    for (int64_t n = 1; n <= 16 && n <= r_.out->axes[last_].extent && n * threads_ <= 1024; n *= 2)
      counts.push_back(n);
    const Domain several = Domain::of(std::move(counts));
    rows_ = b_.ask({HoleKind::kFactor, out_.id, 1}, "rows", several, several.nearest(rows));
    const bool exchanges =
        std::all_of(r_.reductions.begin(), r_.reductions.end(),
                    [](const te::ComputeOp* op) { return op->output.dtype().bytes() == 4; });
    if (exchanges) exchange_ = gpu::ask_exchange(b_, out_);
  }

  // Inputs that only the last step reads, at its own axes.
  std::vector<StageRef> fetched_ahead() {
    std::vector<StageRef> found;
    if (b_.refused() || r_.row_axes == r_.out->axes.size()) return found;
    for (const te::Input& in : b_.dag().inputs) {
      const StageRef tensor = b_.stage(in.tensor.name());
      const auto readers = b_.state().readers(tensor.id);
      if (readers.size() != 1 || readers[0] != out_.id || !is_read_in_place(in.tensor) ||
          !fits(r_, r_.kept.size() + found.size() + 1, b_.target().gpu()))
        continue;
      found.push_back(b_.cache_read(tensor, {out_}, ir::Scope::kShared));
    }
    return found;
  }

  // Threads of so many rows fetch it: a scale has fewer elements than all threads of a block.
  int64_t rows_for(StageRef stage) const {
    if (b_.refused()) return 1;
    return std::clamp<int64_t>(elements(b_.now(stage).axes) / (threads_ * lanes()), 1, rows_);
  }

  // Asked each time: a tensor that is fetched changes the op that reads it.
  bool is_read_in_place(const te::Tensor& t) const {
    const te::ComputeOp& op = b_.now(out_);
    bool ok = t.rank() > 0 && t.shape().back() == r_.out->axes.back().extent;
    ir::visit_loads(op.body, [&](const ir::Load& l) {
      if (!l.buffer.same_as(t)) return;
      for (const ir::Expr& i : l.indices)
        ok = ok && (plain_axis(i, op).has_value() || ir::const_int(i).has_value());
    });
    return ok;
  }

  // Blocks of rows; the elements of a row are dealt out to its threads. Returns the loop of blocks.
  Loop bind_rows(gpu::RowNests& nests) {
    if (b_.refused()) return {};
    std::vector<Loop> rows, columns;
    for (size_t d = 0; d < r_.out->axes.size(); ++d)
      (d < r_.row_axes ? rows : columns).push_back(b_.axis(out_, d));
    const auto [blocks, row, one] = b_.split<3>(rows[last_], {rows_, 1});
    rows[last_] = blocks;
    std::vector<Loop> order = rows;
    order.insert(order.end(), {row, one});
    b_.reorder(order);
    const Loop block = b_.fuse(rows);
    b_.bind(block, ir::ThreadTag::kBlockX);
    b_.bind(row, ir::ThreadTag::kThreadY);
    if (!columns.empty()) {
      nests.deal_out(out_, columns);
    } else {
      b_.bind(one, ir::ThreadTag::kThreadX);
      nests.set_thread(out_, one);
    }
    return block;
  }

  const RowsOf& r_;
  Builder& b_;
  StageRef out_;
  size_t last_ = 0;  // of the axes of rows, the one whose neighbours a block has
  Value threads_ = 1, rows_ = 1, exchange_ = 0;
};

}  // namespace

std::optional<Written> write_gpu_rows(Builder& b, const Request& request) {
  auto r = find_rows(b.dag());
  if (!r || !gpu::stores_plainly(request, r->out->output)) return std::nullopt;
  if (!fits(*r, r->kept.size(), b.target().gpu())) r->kept.clear();
  gpu::store_edges(b, request);
  Writer(*r, b).run();
  return Written{};
}

}  // namespace tenon::templates
