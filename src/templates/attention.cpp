// SPDX-License-Identifier: Apache-2.0
// softmax(Q K^T) V: a few rows at a time, so that scores never leave the cache. Per product of a batch (a head) K is
// packed into panels of columns and V is copied together; then, for each block of rows, the scores of the block, the
// work on its rows, and the block of the result. Both products have register tiles of all rows of a block.
#include "te/attention.h"

#include <algorithm>

#include "ir/visit.h"
#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/loops.h"

namespace tenon::templates {

namespace {

using te::Attention;
using te::ComputeOp;

constexpr int64_t kUnrolled = 16;  // vectors of a row
constexpr int64_t kMostVectors = 4;

bool has_call(const ComputeOp& op) {
  bool found = false;
  ir::visit(op.body, [&](const ir::Expr& e) { found = found || e.as<ir::Call>() != nullptr; });
  return found;
}

class Writer : private PlanWriter {
 public:
  Writer(const Attention& a, const schedule::State& initial, const Request& request)
      : PlanWriter(initial, request), a_(a), t_(initial.target()) {
    scores_ = a.scores->name();
    out_ = a.final->name();
    find_block();
  }

  Plan run() {
    size_knobs();
    line("cache_write {} register", a_.result->name());
    for (const ComputeOp* op : a_.after) line("compute_inline {}", op->name());
    if (a_.final != a_.result) line("compute_inline {}", a_.result->name());
    line("cache_write {} register", scores_);
    inline_cheap();
    store_fixed_inputs();
    const std::string k = own_copy(a_.k, scores_ + ".cache");
    const std::string v = own_copy(a_.v, a_.result->name() + ".cache");
    store_columns(k);
    for (const ComputeOp* op : kept_) {
      if (op->is_reduction()) reduce(*op);
    }
    tile_output();
    attach(v);
    place_rows();
    tile_scores();
    attach(k);
    copy_columns(k);
    copy_values(v);
    return take();
  }

 private:
  bool full(const ComputeOp& op) const {
    return op.axes.size() == a_.scores->axes.size() &&
           op.axes.back().extent == a_.scores->axes.back().extent;
  }

  // What is repeated for its only reader rather than stored.
  bool cheap(const ComputeOp& op) const {
    return !op.is_reduction() && full(op) && &op != a_.rows.back() && !has_call(op) &&
           dag().readers(op.output).size() == 1 && !dag().readers(op.output)[0]->is_reduction();
  }

  // Scores are stored once the cheap work behind the product (a scale, a mask) is done.
  void find_block() {
    block_ = a_.scores;
    while (true) {
      const auto readers = dag().readers(block_->output);
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
    for (const ComputeOp* op : a_.moves) {
      if (op->output.same_as(a_.q.tensor)) line("compute_inline {}", op->name());
    }
    if (block_ != a_.scores) line("compute_inline {}", scores_);
    for (const ComputeOp* op : a_.rows) {
      if (op == block_) continue;
      if (is_in_block(op) || cheap(*op)) {
        line("compute_inline {}", op->name());
      } else {
        kept_.push_back(op);
      }
    }
  }

  void size_knobs() {
    const int64_t columns = a_.scores->axes.back().extent;
    const int64_t rows = a_.scores->axes[a_.row_axis()].extent;
    const int64_t width = a_.result->axes.back().extent;
    const int64_t bytes = a_.result->output.dtype().bytes();
    // A loop cannot be cut into parts that are longer than it is.
    const int64_t v = std::min(columns, choose_lanes(columns, bytes, t_));
    const int64_t dv = std::min(width, choose_lanes(width, bytes, t_));
    const int64_t vectors = arith::ceil_div(columns, v), d_vectors = arith::ceil_div(width, dv);
    const RegisterTile result = choose_tile(d_vectors, rows, 1, t_);
    const int64_t nd = choice("nd", result.kb, std::min(d_vectors, kMostVectors));
    const int64_t in = choice("in", result.xn, rows);
    const RegisterTile scores = choose_round_tile(vectors, arith::ceil_div(rows, in), t_);
    const int64_t fits = (t_.vector_registers - 1) / (arith::ceil_div(rows, in) + 1);
    const int64_t nb = choice("nb", std::max<int64_t>(1, std::min(scores.kb, fits)),
                              std::min(vectors, kMostVectors));
    knobs() = {{"v", v},
               {"dv", dv},
               {"nd", nd},
               {"nb", nb},
               {"in", in},
               {"jv", nb * v},
               {"jn", arith::ceil_div(vectors, nb)}};
  }

  // The stage that holds an operand packed: the op that moves it, or a copy.
  std::string own_copy(const te::Access& a, const std::string& reader) {
    if (a_.is_moved(a.tensor)) return a.tensor.name();
    line("cache_read {} [{}] local", a.tensor.name(), reader);
    return a.tensor.name() + ".read";
  }

  // K -> .., panel of columns, steps of the sum, column in the panel
  void store_columns(const std::string& k) {
    line("layout_split {} {} [$jn, $jv]", k, a_.k_dim);
    const auto moved = [&](size_t d) { return std::to_string(d > a_.k_dim ? d + 1 : d); };
    std::vector<std::string> perm;
    for (size_t d = 0; d < a_.k.tensor.rank(); ++d) {
      if (d != a_.k_dim && d != a_.k_sum) perm.push_back(moved(d));
    }
    perm.insert(perm.end(),
                {std::to_string(a_.k_dim), moved(a_.k_sum), std::to_string(a_.k_dim + 1)});
    line("layout_reorder {} [{}]", k, comma(perm));
    line("layout_split {}.cache {} [$jn, $jv]", scores_, a_.scores->axes.size() - 1);
  }

  // Partial results in the lanes of a vector, then across them.
  void reduce(const ComputeOp& op) {
    const std::string j = op.reduce_axes[0].var.name();
    const int64_t v = t_.lanes(op.output.dtype().bytes());
    const int64_t extent = op.reduce_axes[0].extent;
    if (v < 2 || extent < 2 * v) return;
    knobs()["rv"] = v;
    line("split {} {} [$rv]", op.name(), j);
    line("rfactor {} {}.1 {}", op.name(), j, op.axes.size());
    line("vectorize {} {}.1", op.name(), j);
    line("reorder {}.rf [{}.0, {}.1]", op.name(), j, j);
    line("vectorize {}.rf {}.1", op.name(), j);
    if (extent <= kUnrolled * v) line("unroll {}.rf {}.0", op.name(), j);
    factored_.push_back(op.name());
  }

  // batch.., blocks of rows, panels of columns, the tile
  void tile_output() {
    const std::vector<te::Axis>& axes = a_.final->axes;
    const size_t row = a_.place[a_.row_axis()], column = a_.place.back();
    const std::string i = axes[row].var.name(), d = axes[column].var.name();
    line("split {} {} [$nd, $dv]", out_, d);
    line("split {} {} [$in] parts", out_, i);
    std::vector<std::string> heads, order;
    int64_t pieces = 1;
    for (size_t at = 0; at < axes.size(); ++at) {
      if (at == row || at == column || axes[at].extent == 1) continue;
      heads.push_back(axes[at].var.name());
      pieces *= axes[at].extent;
    }
    order = heads;
    for (size_t at = 0; at < axes.size(); ++at) {
      if (at != row && at != column && axes[at].extent == 1) order.push_back(axes[at].var.name());
    }
    order.insert(order.end(), {i + ".0", d + ".0", i + ".1", d + ".1", d + ".2"});
    line("reorder {} [{}]", out_, comma(order));
    line("unroll {} {}.1", out_, i);
    line("unroll {} {}.1", out_, d);
    line("vectorize {} {}.2", out_, d);
    rows_loop_ = i + ".0";
    share_out(heads, !heads.empty() && balance(pieces, t_.cores) >= 0.75);
    line("compute_at {}.cache {} {}.0", a_.result->name(), out_, d);
    tile_result();
  }

  // Over heads where there are enough of them, so that a core packs what it reads; over blocks of rows too otherwise.
  void share_out(std::vector<std::string> heads, bool enough) {
    if (!enough) heads.push_back(rows_loop_);
    std::string joined = heads[0];
    for (size_t at = 1; at < heads.size(); ++at) joined += "@" + heads[at];
    if (heads.size() > 1) line("fuse {} [{}]", out_, comma(heads));
    line("parallel {} {}", out_, joined);
    (enough ? head_loop_ : rows_loop_) = joined;
  }

  void tile_result() {
    const ComputeOp& o = *a_.result;
    const std::string i = o.axes[a_.row_axis()].var.name(), d = o.axes.back().var.name();
    line("split {}.cache {} [$dv]", o.name(), d);
    line("reorder {}.cache [{}, {}, {}.0, {}.1]", o.name(), o.reduce_axes[0].var.name(), i, d, d);
    line("unroll {}.cache {}", o.name(), i);
    line("unroll {}.cache {}.0", o.name(), d);
    line("vectorize {}.cache {}.1", o.name(), d);
  }

  // Row by row behind the block of scores.
  void place_rows() {
    const ComputeOp& last = *a_.rows.back();
    const std::string row = last.axes[a_.row_axis()].var.name();
    line("compute_at {} {} {}", last.name(), out_, rows_loop_);
    for (auto it = kept_.rbegin(); it != kept_.rend(); ++it) {
      const ComputeOp& op = **it;
      if (&op != &last) line("compute_at {} {} {}", op.name(), last.name(), row);
      if (!op.is_reduction() && full(op)) row_vectors(op);
      if (std::find(factored_.begin(), factored_.end(), op.name()) != factored_.end())
        line("compute_at {}.rf {} {}", op.name(), last.name(), row);
    }
  }

  void row_vectors(const ComputeOp& op) {
    const std::string j = op.axes.back().var.name();
    const int64_t v = t_.lanes(op.output.dtype().bytes());
    if (v < 2 || op.axes.back().extent < v) return;
    knobs()["rv"] = v;
    line("split {} {} [$rv]", op.name(), j);
    line("vectorize {} {}.1", op.name(), j);
    if (op.axes.back().extent <= kUnrolled * v) line("unroll {} {}.0", op.name(), j);
  }

  void tile_scores() {
    const std::string i = block_->axes[a_.row_axis()].var.name(),
                      j = block_->axes.back().var.name();
    line("compute_at {} {} {}", block_->name(), out_, rows_loop_);
    line("split {} {} [$nb, $v]", block_->name(), j);
    line("reorder {} [{}.0, {}, {}.1, {}.2]", block_->name(), j, i, j, j);
    line("unroll {} {}", block_->name(), i);
    line("unroll {} {}.1", block_->name(), j);
    line("vectorize {} {}.2", block_->name(), j);
    const ComputeOp& s = *a_.scores;
    const std::string si = s.axes[a_.row_axis()].var.name(), sj = s.axes.back().var.name();
    line("compute_at {}.cache {} {}.0", scores_, block_->name(), j);
    line("split {}.cache {}_1 [$v]", scores_, sj);
    line("reorder {}.cache [{}, {}, {}_1.0, {}_1.1]", scores_, s.reduce_axes[0].var.name(), si, sj,
         sj);
    line("unroll {}.cache {}", scores_, si);
    line("unroll {}.cache {}_1.0", scores_, sj);
    line("vectorize {}.cache {}_1.1", scores_, sj);
  }

  // Packed per head by the core that reads it; by all of them beforehand where a head is shared.
  void attach(const std::string& packed) {
    if (!head_loop_.empty()) line("compute_at {} {} {}", packed, out_, head_loop_);
  }

  // Vectors along the columns; where K is stored row by row, tiles of it are turned in registers.
  void copy_columns(const std::string& k) {
    const std::vector<te::Axis> axes = now(k).axes;
    const std::string lanes = axes.back().var.name();
    line("split {} {} [$v]", k, lanes);
    line("vectorize {} {}.1", k, lanes);
    int64_t steps = a_.k.tensor.dtype().bytes() == 4 && row_by_row() ? 16 : 1;
    while (steps > 1 && a_.scores->reduce_axes[0].extent % steps != 0) steps /= 2;
    if (steps > 1) {
      const std::string n = axes[axes.size() - 2].var.name();
      knobs()["kt"] = steps;
      line("split {} {} [$kt]\nreorder {} [{}.0, {}.0, {}.1, {}.1]", k, n, k, lanes, n, n, lanes);
      line("unroll {} {}.1", k, n);
    } else {
      line("unroll {} {}.0", k, lanes);
    }
    if (head_loop_.empty()) share_copy(k);
  }

  // The steps of the sum lie side by side where K comes from.
  bool row_by_row() const {
    if (!a_.is_moved(a_.k.tensor)) return a_.k_sum + 1 == a_.k.tensor.rank();
    return te::accesses(*dag().producer(a_.k.tensor))[0].strides[a_.k_sum] == 1;
  }

  void copy_values(const std::string& v) {
    const te::Axis last = now(v).axes.back();
    line("split {} {} [$dv]", v, last.var.name());
    line("vectorize {} {}.1", v, last.var.name());
    if (head_loop_.empty()) share_copy(v);
  }

  void share_copy(const std::string& stage) {
    const te::ComputeOp op = now(stage);
    std::vector<NamedLoop> outer;
    int64_t work = 1;
    for (const te::Axis& a : op.axes) work *= a.extent;
    for (size_t d = 0; d + 2 < op.axes.size(); ++d)
      outer.push_back({op.axes[d].var.name(), op.axes[d].extent});
    deal_out(*this, stage, outer, work / knobs()["v"]);
  }

  const Attention& a_;
  const target::Target& t_;
  const ComputeOp* block_ = nullptr;        // stores the scores
  std::vector<const ComputeOp*> in_block_;  // behind S, up to the block
  std::vector<const ComputeOp*> kept_;      // rows that are stored, without the block
  std::vector<std::string> factored_;
  std::string scores_, out_, head_loop_, rows_loop_;
};

}  // namespace

std::optional<Plan> plan_attention(const schedule::State& initial, const Request& request) {
  const auto a = te::find_attention(initial.dag());
  if (!a || !may_be_plain(request, a->final->output)) return std::nullopt;
  if (a->place[a->row_axis()] == Attention::kNone || a->place.back() == Attention::kNone)
    return std::nullopt;
  return Writer(*a, initial, request).run();
}

}  // namespace tenon::templates
