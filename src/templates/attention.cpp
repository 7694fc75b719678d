// SPDX-License-Identifier: Apache-2.0
// softmax(Q K^T) V: a few rows at a time, so that scores never leave the cache. Per product of a
// batch (a head) K is packed into panels of columns and V is copied together; then, for each block
// of rows, the scores of the block, the work on its rows, and the block of the result. Both
// products have register tiles of all rows of a block.
#include "te/attention.h"

#include <algorithm>

#include "templates/anchor.h"
#include "templates/edges.h"
#include "templates/loops.h"
#include "templates/template.h"
#include "templates/write.h"

namespace tenon::templates {

namespace {

using space::Builder;
using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;
using te::Attention;
using te::ComputeOp;

constexpr int64_t kUnrolled = 16;  // vectors of a row
constexpr int64_t kMostVectors = 4;
constexpr int64_t kLoops = 1, kCopies = 2;  // how short rows are worked on

class Writer {
 public:
  Writer(const Attention& a, Builder& b, const Request& request)
      : b_(b), request_(request), a_(a), t_(b.target().cpu()), out_(b.stage(a.final->name())) {
    find_block();
  }

  void run() {
    const StageRef result = b_.stage(a_.result->name()), scores = b_.stage(a_.scores->name());
    result_ = b_.cache_write(result, ir::Scope::kRegister);
    for (const ComputeOp* op : a_.after) b_.compute_inline(b_.stage(op->name()));
    if (a_.final != a_.result) b_.compute_inline(result);
    scores_ = b_.cache_write(scores, ir::Scope::kRegister);
    inline_cheap();
    store_fixed_inputs(b_, request_);
    const StageRef k = own_copy(a_.k, scores_), v = own_copy(a_.v, result_);
    ask_sizes();
    store_columns(k);
    for (Kept& kept : kept_) {
      if (kept.op->is_reduction()) reduce(kept);
    }
    tile_output();
    attach(v);
    place_rows();
    tile_scores();
    attach(k);
    copy_columns(k);
    copy_values(v);
  }

 private:
  struct Kept {
    const ComputeOp* op;
    StageRef factored;  // partial results of its sum; none: it has no such stage
  };

  bool full(const ComputeOp& op) const {
    return op.axes.size() == a_.scores->axes.size() &&
           op.axes.back().extent == a_.scores->axes.back().extent;
  }

  // What is repeated for its only reader rather than stored.
  bool cheap(const ComputeOp& op) const {
    const auto readers = b_.dag().readers(op.output);
    return !op.is_reduction() && full(op) && &op != a_.rows.back() && !has_call(op) &&
           readers.size() == 1 && !readers[0]->is_reduction();
  }

  // Scores are stored once the cheap work behind the product (a scale, a mask) is done.
  void find_block() {
    block_ = a_.scores;
    while (true) {
      const auto readers = b_.dag().readers(block_->output);
      if (readers.size() != 1 || readers[0]->is_reduction() || readers[0] == a_.rows.back() ||
          !full(*readers[0]) || has_call(*readers[0]))
        return;
      block_ = readers[0];
      in_block_.push_back(block_);
    }
  }

  bool is_in_block(const ComputeOp* op) const {
    return std::find(in_block_.begin(), in_block_.end(), op) != in_block_.end();
  }

  void inline_cheap() {
    const auto drop = [&](const ComputeOp* op) { b_.compute_inline(b_.stage(op->name())); };
    for (const ComputeOp* op : a_.moves) {
      if (op->output.same_as(a_.q.tensor)) drop(op);
    }
    if (block_ != a_.scores) drop(a_.scores);
    for (const ComputeOp* op : a_.rows) {
      if (op == block_) continue;
      if (is_in_block(op) || cheap(*op)) {
        drop(op);
      } else {
        kept_.push_back({op, {}});
      }
    }
  }

  void ask_sizes() {
    const int64_t columns = a_.scores->axes.back().extent;
    const int64_t rows = a_.scores->axes[a_.row_axis()].extent;
    const int64_t width = a_.result->axes.back().extent;
    const int64_t bytes = a_.result->output.dtype().bytes();
    // A loop cannot be cut into parts that are longer than it is.
    v_ = std::min(columns, choose_lanes(columns, bytes, t_));
    dv_ = std::min(width, choose_lanes(width, bytes, t_));
    const int64_t vectors = arith::ceil_div(columns, v_), d_vectors = arith::ceil_div(width, dv_);
    const RegisterTile result = choose_tile(d_vectors, rows, 1, t_);
    nd_ = ask_vectors(out_, "nd", result.kb, d_vectors);
    in_ = b_.ask({HoleKind::kParts, out_.id, 0}, "in", parts_in_registers(rows, nd_, result.xn, t_),
                 result.xn);
    const int64_t rows_at_once = arith::ceil_div(rows, in_.value);
    const RegisterTile scores = choose_round_tile(vectors, t_.vector_bytes, rows_at_once, t_);
    const int64_t fits = (t_.vector_registers - 1) / (rows_at_once + 1);
    const int64_t rule = std::max<int64_t>(1, std::min(scores.kb, fits));
    nb_ = ask_vectors(b_.stage(block_->name()), "nb", rule, vectors);
    jv_ = nb_ * v_;
    jn_ = arith::ceil_div(vectors, nb_.value);
    ask_rows();
  }

  // Copies of the work on each vector are faster than a loop, and another program for each length of rows.
  void ask_rows() {
    const bool any = std::any_of(kept_.begin(), kept_.end(), [&](const Kept& kept) {
      const Row row = row_of(*kept.op);
      return has_vectors(*kept.op, row) && row.extent <= kUnrolled * row.lanes;
    });
    if (!any) return;
    rows_ =
        b_.ask({HoleKind::kSwitch, out_.id, 0}, "rows", Domain::range(kLoops, kCopies), kCopies);
  }

  struct Row {
    int64_t lanes, extent;
  };
  Row row_of(const ComputeOp& op) const {
    return {t_.lanes(op.output.dtype().bytes()),
            (op.is_reduction() ? op.reduce_axes[0] : op.axes.back()).extent};
  }

  bool has_vectors(const ComputeOp& op, const Row& row) const {
    if (row.lanes < 2) return false;
    return op.is_reduction() ? row.extent >= 2 * row.lanes : full(op) && row.extent >= row.lanes;
  }

  bool is_unrolled(const Row& row) const {
    return rows_ == kCopies && row.extent <= kUnrolled * row.lanes;
  }

  // Vectors of a register tile.
  Value ask_vectors(StageRef stage, std::string_view name, int64_t rule, int64_t vectors) {
    const int64_t most = std::max(rule, std::min(vectors, kMostVectors));
    return b_.ask({HoleKind::kFactor, stage.id, 0}, name, Domain::range(1, most), rule);
  }

  // The stage that holds an operand packed: the op that moves it, or a copy.
  StageRef own_copy(const te::Access& a, StageRef reader) {
    const StageRef tensor = b_.stage(a.tensor.name());
    return a_.is_moved(a.tensor) ? tensor : b_.cache_read(tensor, {reader}, ir::Scope::kLocal);
  }

  // K -> .., panel of columns, steps of the sum, column in the panel
  void store_columns(StageRef k) {
    const auto dim = static_cast<int64_t>(a_.k_dim);
    b_.layout_split(k, dim, {jn_, jv_});
    const auto moved = [&](size_t d) { return static_cast<int64_t>(d > a_.k_dim ? d + 1 : d); };
    std::vector<int64_t> perm;
    for (size_t d = 0; d < a_.k.tensor.rank(); ++d) {
      if (d != a_.k_dim && d != a_.k_sum) perm.push_back(moved(d));
    }
    perm.insert(perm.end(), {dim, moved(a_.k_sum), dim + 1});
    b_.layout_reorder(k, perm);
    b_.layout_split(scores_, static_cast<int64_t>(a_.scores->axes.size()) - 1, {jn_, jv_});
  }

  // Partial results in the lanes of a vector, then across them.
  void reduce(Kept& kept) {
    const size_t rank = kept.op->axes.size();
    const Row row = row_of(*kept.op);
    if (!has_vectors(*kept.op, row)) return;
    const StageRef stage = b_.stage(kept.op->name());
    const auto lanes = b_.split<2>(b_.axis(stage, rank), {row.lanes})[1];
    kept.factored = b_.rfactor(lanes, static_cast<int64_t>(rank));
    b_.vectorize(b_.axis(stage, rank));
    const Loop partial = b_.axis(kept.factored, rank), sum = b_.axis(kept.factored, rank + 1);
    b_.reorder({sum, partial});
    b_.vectorize(partial);
    if (is_unrolled(row)) b_.unroll(sum);
  }

  // batch.., blocks of rows, panels of columns, the tile
  void tile_output() {
    const std::vector<te::Axis>& axes = a_.final->axes;
    const size_t row_dim = a_.place[a_.row_axis()], column_dim = a_.place.back();
    const auto [columns, vectors, lanes] = b_.split<3>(b_.axis(out_, column_dim), {nd_, dv_});
    const auto [rows, row] = b_.parts(b_.axis(out_, row_dim), in_);
    std::vector<Loop> heads, order;
    int64_t pieces = 1;
    for (const bool alone : {false, true}) {  // loops of one step stand inside
      for (size_t at = 0; at < axes.size(); ++at) {
        if (at == row_dim || at == column_dim || (axes[at].extent == 1) != alone) continue;
        order.push_back(b_.axis(out_, at));
        pieces *= axes[at].extent;
        if (!alone) heads.push_back(order.back());
      }
    }
    order.insert(order.end(), {rows, columns, row, vectors, lanes});
    b_.reorder(order);
    b_.unroll(row);
    b_.unroll(vectors);
    b_.vectorize(lanes);
    share_out(heads, rows, !heads.empty() && balance(pieces, t_.cores) >= 0.75);
    b_.compute_at(result_, columns);
    tile_result();
  }

  // Over heads where there are enough of them, so that a core packs what it reads; over blocks of
  // rows too otherwise.
  void share_out(std::vector<Loop> heads, Loop rows, bool enough) {
    rows_loop_ = rows;
    if (!enough) heads.push_back(rows);
    const Loop shared = b_.fuse(heads);
    b_.parallel(shared);
    if (enough) {
      head_loop_ = shared;
    } else {
      rows_loop_ = shared;
    }
  }

  void tile_result() {
    const size_t rank = a_.result->axes.size();
    const Loop row = b_.axis(result_, a_.row_axis());
    const auto [vectors, lanes] = b_.split<2>(b_.axis(result_, rank - 1), {dv_});
    b_.reorder({b_.axis(result_, rank), row, vectors, lanes});
    b_.unroll(row);
    b_.unroll(vectors);
    b_.vectorize(lanes);
  }

  // Row by row behind the block of scores.
  void place_rows() {
    const StageRef last = b_.stage(a_.rows.back()->name());
    const Loop row = b_.axis(last, a_.row_axis());
    b_.compute_at(last, rows_loop_);
    for (auto it = kept_.rbegin(); it != kept_.rend(); ++it) {
      const StageRef stage = b_.stage(it->op->name());
      if (stage != last) b_.compute_at(stage, row);
      if (!it->op->is_reduction() && full(*it->op)) row_vectors(stage, *it->op);
      if (it->factored.id >= 0) b_.compute_at(it->factored, row);
    }
  }

  void row_vectors(StageRef stage, const ComputeOp& op) {
    const Row row = row_of(op);
    if (!has_vectors(op, row)) return;
    const auto [outer, lanes] = b_.split<2>(b_.axis(stage, op.axes.size() - 1), {row.lanes});
    b_.vectorize(lanes);
    if (is_unrolled(row)) b_.unroll(outer);
  }

  void tile_scores() {
    const StageRef block = b_.stage(block_->name());
    const size_t rank = a_.scores->axes.size();
    const Loop row = b_.axis(block, a_.row_axis());
    b_.compute_at(block, rows_loop_);
    const auto [columns, vectors, lanes] = b_.split<3>(b_.axis(block, rank - 1), {nb_, v_});
    b_.reorder({columns, row, vectors, lanes});
    b_.unroll(row);
    b_.unroll(vectors);
    b_.vectorize(lanes);
    b_.compute_at(scores_, columns);
    const Loop i = b_.axis(scores_, a_.row_axis()), sum = b_.axis(scores_, rank + 1);
    const auto [j, j_lanes] = b_.split<2>(b_.axis(scores_, rank), {v_});
    b_.reorder({sum, i, j, j_lanes});
    b_.unroll(i);
    b_.unroll(j);
    b_.vectorize(j_lanes);
  }

  // Packed per head by the core that reads it; by all of them beforehand where a head is shared.
  void attach(StageRef packed) {
    if (head_loop_) b_.compute_at(packed, *head_loop_);
  }

  // Vectors along the columns; where K is stored row by row, tiles of it are turned in registers.
  void copy_columns(StageRef k) {
    if (b_.refused()) return;
    const size_t rank = b_.now(k).axes.size();
    const auto [vectors, lanes] = b_.split<2>(b_.axis(k, rank - 1), {v_});
    b_.vectorize(lanes);
    int64_t steps = a_.k.tensor.dtype().bytes() == 4 && row_by_row() ? 16 : 1;
    while (steps > 1 && a_.scores->reduce_axes[0].extent % steps != 0) steps /= 2;
    if (steps > 1) {
      const auto [sum, turned] = b_.split<2>(b_.axis(k, rank - 2), {steps});
      b_.reorder({vectors, sum, turned, lanes});
      b_.unroll(turned);
    } else {
      b_.unroll(vectors);
    }
    if (!head_loop_) share_copy(k);
  }

  // The steps of the sum lie side by side where K comes from.
  bool row_by_row() const {
    if (!a_.is_moved(a_.k.tensor)) return a_.k_sum + 1 == a_.k.tensor.rank();
    return te::accesses(*b_.dag().producer(a_.k.tensor))[0].strides[a_.k_sum] == 1;
  }

  void copy_values(StageRef v) {
    if (b_.refused()) return;
    b_.vectorize(b_.split<2>(b_.axis(v, b_.now(v).axes.size() - 1), {dv_})[1]);
    if (!head_loop_) share_copy(v);
  }

  void share_copy(StageRef stage) {
    const size_t rank = b_.now(stage).axes.size();
    std::vector<Loop> outer;
    int64_t work = 1;
    for (const te::Axis& a : b_.now(stage).axes) work *= a.extent;
    for (size_t d = 0; d + 2 < rank; ++d) outer.push_back(b_.axis(stage, d));
    deal_out(b_, outer, work / v_);
  }

  Builder& b_;
  const Request& request_;
  const Attention& a_;
  const target::Cpu& t_;
  const ComputeOp* block_ = nullptr;        // stores the scores
  std::vector<const ComputeOp*> in_block_;  // behind S, up to the block
  std::vector<Kept> kept_;                  // rows that are stored, without the block
  StageRef out_, result_, scores_;          // the last two in registers
  Loop rows_loop_;                          // over blocks of rows
  std::optional<Loop> head_loop_;
  Value nd_ = 1, nb_ = 1, in_ = 1;  // vectors of a tile: of the result, of scores; blocks of rows
  int64_t rows_ = kCopies;
  int64_t v_ = 1, dv_ = 1;   // lanes: of scores, of the result
  int64_t jv_ = 1, jn_ = 1;  // columns of a panel, panels
};

}  // namespace

std::optional<Written> write_attention(Builder& b, const Request& request) {
  const auto a = te::find_attention(b.dag());
  if (!a || !may_be_plain(request, a->final->output)) return std::nullopt;
  if (a->place[a->row_axis()] == Attention::kNone || a->place.back() == Attention::kNone)
    return std::nullopt;
  Writer(*a, b, request).run();
  return Written{};
}

}  // namespace tenon::templates
