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

constexpr int64_t kDepth = 16;                        // of a sum, written out
constexpr int64_t kLeastDepth = 16, kMostDepth = 64;  // of a piece of V, by rule
constexpr int64_t kBlock = 128;                       // threads

class Writer {
 public:
  Writer(const Attention& a, Builder& b) : b_(b), a_(a), out_(b.stage(a.final->name())) {
    find_block();
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
    ask_sizes();
    if (turned()) lay_out_columns(k);
    gpu::RowNests rows(b_, threads_, row_threads_, columns() % kLanes == 0 ? kLanes : 1);
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

  Value ask(int number, const char* name, std::vector<int64_t> values, int64_t rule) {
    const Domain domain = Domain::of(std::move(values));
    return b_.ask({HoleKind::kFactor, out_.id, number}, name, domain, domain.nearest(rule));
  }

  static std::vector<int64_t> up_to(std::vector<int64_t> sizes, int64_t most) {
    std::erase_if(sizes, [&](int64_t n) { return n > most; });
    if (sizes.empty()) sizes.push_back(most);
    return sizes;
  }

  void ask_sizes() {
    const int64_t quads = width() % kLanes == 0 ? kLanes : 1;
    int64_t rule = quads;
    while (arith::ceil_div(width(), rule) > 16) rule *= 2;
    std::vector<int64_t> widths;
    for (int64_t w = quads; w <= width() && w <= 16; w *= 2) {
      if (arith::ceil_div(width(), w) <= 64) widths.push_back(w);
    }
    width_ = ask(1, "width", widths, rule);
    threads_ = arith::ceil_div(width(), width_.value);
    int64_t rows = std::max<int64_t>(1, std::min(length(), kBlock / threads_));
    while (rows > 1 && !fits(rows, 1, kLeastDepth)) rows /= 2;
    rows_ = ask(2, "rows", up_to({1, 2, 4, 8}, length()), rows_by_rule(rows));
    const int64_t most = arith::ceil_div(length(), rows_.value);
    row_threads_ = ask(3, "row_threads", up_to({1, 2, 4, 6, 8, 12, 16, 32}, most), rows);
    int64_t columns_of = kLanes;
    while (columns_of > 1 && !fits(rows_ * row_threads_, columns_of, kLeastDepth)) columns_of /= 2;
    columns_ = ask(4, "columns", up_to({1, 2, 4, 8}, columns()), columns_of);
    depth_ = ask(5, "depth", depths(), depth_by_rule());
    const auto shown = [](const schedule::Trace& trace) -> std::optional<int64_t> {
      return std::any_of(trace.begin(), trace.end(), [](const schedule::Step& s) {
        return std::holds_alternative<schedule::Pipeline>(s);
      });
    };
    pipeline_ =
        b_.ask({HoleKind::kSwitch, out_.id, 0}, "pipeline", Domain::range(0, 1), 1, nullptr, shown);
  }

  // Rows of a piece of V: whole pieces need no guards.
  std::vector<int64_t> depths() const {
    std::vector<int64_t> all = up_to({8, 16, 32, 64, 128}, columns());
    for (int64_t d = 9; d <= std::min<int64_t>(columns(), 128); ++d) {
      if (columns() % d == 0 && std::find(all.begin(), all.end(), d) == all.end()) all.push_back(d);
    }
    return all;
  }
  int64_t depth_by_rule() const {
    int64_t most = kMostDepth;
    while (most > kLeastDepth && !fits(rows_ * row_threads_, columns_, most)) most /= 2;
    if (columns() <= 2 * most && fits(rows_ * row_threads_, columns_, columns() / 2)) {
      return columns() % most == 0 ? most : columns();
    }
    const int64_t whole = divisor(columns(), most);
    return whole >= kLeastDepth ? whole : most;
  }

  // About what a block of so many rows needs, with pieces of K and V of these sizes.
  bool fits(int64_t rows, int64_t columns_of, int64_t depth) const {
    const int64_t sum = depth_of_scores() + kLanes;
    const int64_t kept = rows * (3 * (columns() + kLanes) + sum);
    const int64_t pieces = 2 * (threads_ * columns_of * sum + depth * width());
    return a_.result->output.dtype().bytes() * (kept + pieces) <=
           b_.target().gpu().shared_bytes_per_block;
  }

  // Rows of a thread: more of them read less, fewer of them fill the card.
  int64_t rows_by_rule(int64_t threads) const {
    constexpr int64_t kFixed = 2;  // of a block's time, in those of a row
    int64_t heads = 1, best = 1, least = 0;
    for (size_t d = 0; d < a_.row_axis(); ++d) heads *= a_.scores->axes[d].extent;
    for (const int64_t rows : {1, 2, 4}) {
      if (rows > 1 && !fits(rows * threads, kLanes, kMostDepth)) break;
      const int64_t blocks = heads * arith::ceil_div(length(), rows * threads);
      const int64_t time =
          arith::ceil_div(blocks, int64_t{b_.target().gpu().multiprocessors}) * (kFixed + rows);
      if (least != 0 && time >= least) continue;
      least = time;
      best = rows;
    }
    return best;
  }

  // K -> .., column of a thread, threads, steps of the sum: threads read from banks of their own.
  void lay_out_columns(StageRef k) {
    const auto dim = static_cast<int64_t>(a_.k_dim),
               rank = static_cast<int64_t>(a_.k.tensor.rank());
    b_.layout_split(k, dim, {arith::ceil_div(columns(), columns_.value), columns_.value});
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
        b_.split<3>(b_.axis(out_, row_dim), {row_threads_, rows_});
    const auto [thread, column] = b_.split<2>(b_.axis(out_, column_dim), {width_});
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
    const Value depth = values ? depth_ : Value(divisor(depth_of_scores(), kDepth));
    auto [steps, inner] = b_.split<2>(b_.axis(sum, rank), {depth});
    std::vector<Loop> order;
    for (size_t d = 0; d + 2 < rank; ++d) order.push_back(b_.axis(sum, d));
    order.push_back(steps);
    if (values) {
      steps_ = steps;
      if (pipeline_ == 1) b_.add(schedule::Pipeline{steps.stage, steps.id});
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
        b_.split<3>(b_.axis(scores, rank - 2), {row_threads_, rows_});
    const auto [pieces, thread, column] = b_.split<3>(
        b_.axis(scores, rank - 1), {std::min<int64_t>(threads_, most_threads()), columns_});
    b_.reorder({all, pieces, row_thread, thread, row, column});
    bind_tile(row_thread, thread, row, column, columns());
    pieces_ = pieces;
    if (pipeline_ == 1) b_.add(schedule::Pipeline{pieces.stage, pieces.id});
    sum_up(scores_, thread);
  }

  // A loop cannot be cut into parts that are longer than it is.
  int64_t most_threads() const { return arith::ceil_div(columns(), columns_.value); }

  void fetch(StageRef stage, Loop at, bool quads) {
    b_.compute_shared(stage, at);
    const int64_t rows = std::min<int64_t>(row_threads_, arith::ceil_div(length(), rows_.value));
    gpu::fetch_together(b_, stage, {.x = threads_, .y = rows}, quads ? kLanes : 1);
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
  // Elements of a thread: columns of the result, rows, columns of the scores.
  Value width_ = 1, rows_ = 1, columns_ = 1;
  Value row_threads_ = 1, depth_ = 1, pipeline_ = 0;
  int64_t threads_ = 1;
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
