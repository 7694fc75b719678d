// SPDX-License-Identifier: Apache-2.0
// softmax(Q K^T) V as one kernel. A block has some rows of one product of a batch (a head): their
// scores, the work on them and their weights lie in shared memory, row by row; K and V come there in
// pieces, the next of which is fetched while one is used. Both products have tiles in registers.
//
//   for block of rows { Q; for piece of K { S = Q K^T }; P = softmax(S); for piece of V { O += P V } }
#include "te/attention.h"

#include <algorithm>

#include "arith/linear.h"
#include "schedule/primitives/set_scope.h"
#include "templates/anchor.h"
#include "templates/gpu/attention_sizes.h"
#include "templates/gpu/kernels.h"
#include "templates/gpu/row_nests.h"

namespace tenon::templates {

namespace {

using gpu::kLanes;
using space::Builder;
using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;
using te::Attention;
using te::ComputeOp;

constexpr int64_t kDepth = 16;  // of a sum, written out

class Writer {
 public:
  Writer(const Attention& a, Builder& b) : b_(b), a_(a), out_(b.stage(a.final->name())) {
    find_block();
    size_ = gpu::ask_sizes(b, a, out_);
  }

  void run() {
    const StageRef result = b_.stage(a_.result->name());
    result_ = b_.cache_write(result, ir::Scope::kRegister);
    for (const ComputeOp* op : a_.after) b_.compute_inline(b_.stage(op->name()));
    if (a_.final != a_.result) b_.compute_inline(result);
    scores_ = b_.cache_write(b_.stage(a_.scores->name()), ir::Scope::kRegister);
    inline_cheap();
    const StageRef q = own_copy(a_.q, scores_), k = own_copy(a_.k, scores_);
    const StageRef v = own_copy(a_.v, result_);
    if (turned()) lay_out_columns(k);
    gpu::RowNests rows(b_, size_.threads, size_.row_threads, columns() % kLanes == 0 ? kLanes : 1,
                       /*exchange=*/false);
    add_rows(rows);
    keep_apart(b_.stage(a_.rows.back()->name()), static_cast<int64_t>(a_.row_axis()));
    const auto [block, thread] = tile_output();
    sum_up(result_, thread);
    fetch_values(v);
    rows.place(block);
    tile_scores(block);
    fetch_columns(k);
    fetch_rows(q, block);
  }

 private:
  int64_t columns() const { return a_.scores->axes.back().extent; }
  int64_t length() const { return a_.scores->axes[a_.row_axis()].extent; }
  int64_t width() const { return a_.result->axes.back().extent; }
  int64_t depth_of_scores() const { return a_.scores->reduce_axes[0].extent; }

  bool full(const ComputeOp& op) const {
    return op.axes.size() == a_.scores->axes.size() && op.axes.back().extent == columns();
  }

  // Scores are stored once the cheap work behind the product (a scale, a mask) is done.
  void find_block() {
    block_ = a_.scores;
    for (;;) {
      const auto readers = b_.dag().readers(block_->output);
      if (readers.size() != 1 || readers[0]->is_reduction() || readers[0] == a_.rows.back() ||
          !full(*readers[0]) || has_call(*readers[0]))
        return;
      in_block_.push_back(block_);
      block_ = readers[0];
    }
  }

  // What each thread computes anew: a number of a row, and what its only reader reads once.
  bool is_cheap(const ComputeOp& op) const {
    if (op.is_reduction() || &op == a_.rows.back()) return false;
    const auto readers = b_.dag().readers(op.output);
    return !full(op) || (!has_call(op) && readers.size() == 1 && !readers[0]->is_reduction());
  }

  bool is_in_block(const ComputeOp* op) const {
    return std::find(in_block_.begin(), in_block_.end(), op) != in_block_.end();
  }

  void inline_cheap() {
    if (block_ != a_.scores) b_.compute_inline(b_.stage(a_.scores->name()));
    for (const ComputeOp* op : a_.rows) {
      if (op != block_ && (is_in_block(op) || is_cheap(*op)))
        b_.compute_inline(b_.stage(op->name()));
    }
  }

  void add_rows(gpu::RowNests& rows) {
    for (const ComputeOp* op : a_.rows) {
      if (op == block_ || is_in_block(op) || is_cheap(*op)) continue;
      const StageRef stage = b_.stage(op->name());
      op->is_reduction() ? rows.add_sum(stage) : rows.add_kept(stage, op->axes.size() - 1);
    }
  }

  // The stage that holds an operand: the op that moves it, or a copy.
  StageRef own_copy(const te::Access& a, StageRef reader) {
    const StageRef tensor = b_.stage(a.tensor.name());
    return a_.is_moved(a.tensor) ? tensor : b_.cache_read(tensor, {reader}, ir::Scope::kShared);
  }

  // Neighbours along a dimension of an operand lie side by side where it comes from.
  bool is_contiguous(const te::Access& a, size_t dim) const {
    if (!a_.is_moved(a.tensor)) return dim + 1 == a.tensor.rank();
    return te::accesses(*b_.dag().producer(a.tensor))[0].strides[dim] == 1;
  }

  // K is kept with the steps of the sum side by side, unless its columns are so.
  bool turned() const {
    return a_.k_dim + 1 != a_.k.tensor.rank() || !is_contiguous(a_.k, a_.k_dim);
  }

  // K -> .., column of a thread, threads, steps of the sum: threads read from banks of their own.
  void lay_out_columns(StageRef k) {
    const auto dim = static_cast<int64_t>(a_.k_dim),
               rank = static_cast<int64_t>(a_.k.tensor.rank());
    b_.layout_split(k, dim, {arith::ceil_div(columns(), size_.columns.value), size_.columns.value});
    const auto moved = [&](size_t d) { return static_cast<int64_t>(d > a_.k_dim ? d + 1 : d); };
    std::vector<int64_t> order;
    for (size_t d = 0; d < a_.k.tensor.rank(); ++d) {
      if (d != a_.k_dim && d != a_.k_sum) order.push_back(moved(d));
    }
    order.insert(order.end(), {dim + 1, dim, moved(a_.k_sum)});
    b_.layout_reorder(k, order);
    keep_apart(k, rank - 1);
  }

  // Rows begin in banks of their own, at whole quads.
  void keep_apart(StageRef stage, int64_t dim) { b_.storage_align(stage, dim, 2 * kLanes, kLanes); }

  // Blocks, threads along both sides, the tile of a thread. Returns the loops of both.
  std::array<Loop, 2> tile_output() {
    if (b_.refused()) return {};
    const size_t row_dim = a_.place[a_.row_axis()], column_dim = a_.place.back();
    const auto [blocks, row_thread, row] =
        b_.split<3>(b_.axis(out_, row_dim), {size_.row_threads, size_.rows});
    const auto [thread, column] = b_.split<2>(b_.axis(out_, column_dim), {size_.width});
    std::vector<Loop> outer;
    for (size_t d = 0; d < a_.final->axes.size(); ++d) {
      if (d != row_dim && d != column_dim) outer.push_back(b_.axis(out_, d));
    }
    outer.push_back(blocks);
    std::vector<Loop> order = outer;
    order.insert(order.end(), {row_thread, thread, row, column});
    b_.reorder(order);
    const Loop block = b_.fuse(outer);
    b_.bind(block, ir::ThreadTag::kBlockX);
    bind_tile(row_thread, thread, row, column, width());
    return {block, thread};
  }

  void bind_tile(Loop row_thread, Loop thread, Loop row, Loop column, int64_t extent) {
    if (b_.refused()) return;
    b_.bind(row_thread, ir::ThreadTag::kThreadY);
    b_.bind(thread, ir::ThreadTag::kThreadX);
    b_.unroll(row);
    if (b_.extent(column) % kLanes != 0 || extent % kLanes != 0) return b_.unroll(column);
    if (b_.extent(column) > kLanes) {
      const auto [quads, lanes] = b_.split<2>(column, {kLanes});
      b_.unroll(quads);
      column = lanes;
    }
    b_.vectorize(column);
  }

  // The tile of a thread, by steps of the sum. Returns the loop outside of what is written out.
  Loop sum_up(StageRef sum, Loop thread) {
    b_.compute_at(sum, thread);
    if (b_.refused()) return {};
    const size_t rank = b_.now(sum).axes.size();
    const bool values = sum == result_;
    const Value depth = values ? size_.depth : Value(divisor(depth_of_scores(), kDepth));
    auto [steps, inner] = b_.split<2>(b_.axis(sum, rank), {depth});
    std::vector<Loop> order;
    for (size_t d = 0; d + 2 < rank; ++d) order.push_back(b_.axis(sum, d));
    order.push_back(steps);
    if (values) {
      steps_ = steps;
      if (size_.pipeline == 1) b_.add(schedule::Pipeline{steps.stage, steps.id});
      const auto [rest, written] = b_.split<2>(inner, {divisor(depth, kDepth)});
      order.push_back(rest);
      inner = written;
    }
    order.insert(order.end(), {inner, b_.axis(sum, rank - 2), b_.axis(sum, rank - 1)});
    b_.reorder(order);
    for (const Loop& l : {inner, b_.axis(sum, rank - 2), b_.axis(sum, rank - 1)}) b_.unroll(l);
    // A register is named by a constant.
    for (size_t d = 0; d + 2 < rank; ++d) b_.unroll(b_.axis(sum, d));
    return steps;
  }

  void tile_scores(Loop block) {
    const StageRef scores = b_.stage(block_->name());
    const size_t rank = a_.scores->axes.size();
    b_.compute_shared(scores, block);
    if (b_.refused()) return;
    const auto [all, row_thread, row] =
        b_.split<3>(b_.axis(scores, rank - 2), {size_.row_threads, size_.rows});
    const auto [pieces, thread, column] =
        b_.split<3>(b_.axis(scores, rank - 1),
                    {std::min<int64_t>(size_.threads, most_threads()), size_.columns});
    b_.reorder({all, pieces, row_thread, thread, row, column});
    bind_tile(row_thread, thread, row, column, columns());
    pieces_ = pieces;
    if (size_.pipeline == 1) b_.add(schedule::Pipeline{pieces.stage, pieces.id});
    sum_up(scores_, thread);
  }

  // A loop cannot be cut into parts that are longer than it is.
  int64_t most_threads() const { return arith::ceil_div(columns(), size_.columns.value); }

  void fetch(StageRef stage, Loop at, bool quads) {
    b_.compute_shared(stage, at);
    const int64_t rows =
        std::min<int64_t>(size_.row_threads, arith::ceil_div(length(), size_.rows.value));
    gpu::fetch_together(b_, stage, {.x = size_.threads, .y = rows}, quads ? kLanes : 1);
  }

  void fetch_values(StageRef v) {
    const size_t last = a_.v.tensor.rank() - 1;
    fetch(v, steps_, is_contiguous(a_.v, last) && a_.v.tensor.shape()[last] % kLanes == 0);
  }

  void fetch_columns(StageRef k) {
    const size_t last = turned() ? a_.k_sum : a_.k_dim;
    fetch(k, pieces_, is_contiguous(a_.k, last) && a_.k.tensor.shape()[last] % kLanes == 0);
  }

  void fetch_rows(StageRef q, Loop block) {
    const size_t last = a_.q.tensor.rank() - 1;
    const int64_t elements = a_.q.tensor.shape()[last];
    if (last > 0) keep_apart(q, static_cast<int64_t>(last) - 1);
    fetch(q, block, is_contiguous(a_.q, last) && elements % kLanes == 0);
  }

  Builder& b_;
  const Attention& a_;
  const ComputeOp* block_ = nullptr;        // stores the scores
  std::vector<const ComputeOp*> in_block_;  // from S on, up to the block
  StageRef out_, result_, scores_;          // the last two in registers
  Loop steps_, pieces_;                     // over pieces of V, of K
  gpu::AttentionSizes size_;
};

}  // namespace

std::optional<Written> write_gpu_attention(Builder& b, const Request& request) {
  const auto a = te::find_attention(b.dag());
  if (!a || !gpu::stores_plainly(request, a->final->output)) return std::nullopt;
  if (a->place[a->row_axis()] == Attention::kNone || a->place.back() == Attention::kNone)
    return std::nullopt;
  gpu::store_edges(b, request);
  Writer(*a, b).run();
  return Written{};
}

}  // namespace tenon::templates
