// SPDX-License-Identifier: Apache-2.0
// Matrix multiplication, batched or not, either operand transposed or read through an affine map.
// The second operand is stored in panels of nb*v columns, one linear stream each: at compile time
// if it is constant, by a packing stage otherwise; it is read where it lies if few rows need it. The
// register tile is a few rows times nb vectors; rows are the longest axis that the second operand
// does not depend on. Work on rows in front of the first operand (a layer norm) is done for all rows
// beforehand, or for the rows of a tile before the columns are walked through.
#include "templates/matmul_match.h"

#include <algorithm>

#include "templates/algorithm_choice.h"
#include "templates/edges.h"
#include "templates/loops.h"
#include "templates/template.h"
#include "templates/write.h"

namespace tenon::templates {

using space::Builder;
using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;

namespace {

constexpr int64_t kMostVectors = 8;               // of columns in a tile
constexpr int64_t kBeforehand = 1, kByBlock = 2;  // where work on rows is done

class Writer {
 public:
  Writer(const Matmul& m, Builder& b, const Request& request, bool narrow,
         std::optional<schedule::Dot> dot)
      : b_(b),
        request_(request),
        m_(m),
        t_(b.target().cpu()),
        op_(*m.chain.anchor),
        out_(b.stage(m.chain.final->name())),
        narrow_(narrow),
        dot_(dot) {}

  void run() {
    const StageRef anchor = b_.stage(op_.name());
    if (narrow_) b_.variant(anchor, schedule::Algorithm::kBfloat16);
    acc_ = b_.cache_write(anchor, ir::Scope::kRegister);
    for (const te::ComputeOp* p : m_.chain.inlined) b_.compute_inline(b_.stage(p->name()));
    std::optional<RowsWriter> rows;
    if (m_.rows) rows.emplace(b_, *m_.rows);
    if (rows) rows->inline_cheap();
    store_fixed_inputs(b_, request_);
    ask_sizes();
    if (rows) rows->cut_sums(at_ == kBeforehand);
    if (dot_) {
      pack_groups();
    } else if (packed_) {
      pack_columns();
    }
    if (narrow_) loop_by_vectors(b_, made(b_, op_.name() + ".h"));
    if (packed_) b_.layout_split(acc_, dim(op_.axes.size() - 1), {jn_, jv_});
    tile_output();
    tile_sum();
    if (rows && at_ == kByBlock) rows->place_at(tile_loop_);
    if (rows && at_ == kBeforehand) rows->place_alone();
  }

 private:
  static int64_t dim(size_t d) { return static_cast<int64_t>(d); }

  // Tiles of rows that the cores share out have all weights read again for each: from the
  // second-level cache or not at all.
  int64_t ask_at() {
    if (!m_.rows || narrow_) return kBeforehand;
    int64_t tiles = in_;
    for (const size_t d : m_.shared) tiles *= op_.axes[d].extent;
    const int64_t bytes = op_.reduce_axes[0].extent * jn_ * jv_ * m_.w.tensor.dtype().bytes();
    const bool pays = balance(tiles, t_.cores) >= 0.9 && 4 * bytes <= 3 * t_.l2_bytes;
    return b_.ask({HoleKind::kSwitch, out_.id, 0}, "at", Domain::range(kBeforehand, kByBlock),
                  pays ? kByBlock : kBeforehand);
  }

  void ask_sizes() {
    const int64_t columns = op_.axes.back().extent;
    const int64_t rows = op_.axes[m_.row].extent;
    v_ = std::min(choose_lanes(columns, op_.output.dtype().bytes(), t_),
                  std::max<int64_t>(columns, 2));
    const int64_t kvecs = arith::ceil_div(columns, v_);
    // Rows that fall into one set of the first-level cache drive each other out.
    const int64_t limit = rows_in_first_cache(m_.row_stride_bytes, t_);
    RegisterTile r = choose_tile(kvecs, rows, 1, t_, limit);
    const int64_t bytes = v_ * op_.output.dtype().bytes();
    if (r.kb == 1 && kvecs > 1) r = choose_round_tile(kvecs, bytes, rows, t_, limit);
    r.kb = enough_panels(kvecs, r);
    const int64_t most = std::max(r.kb, std::min<int64_t>(kvecs, kMostVectors));
    nb_ = b_.ask({HoleKind::kFactor, out_.id, 0}, "nb", Domain::range(1, most), r.kb);
    in_ = b_.ask({HoleKind::kParts, out_.id, 0}, "in", parts_in_registers(rows, nb_, r.xn, t_),
                 parts_beside(r, rows));
    jv_ = nb_ * v_;
    jn_ = arith::ceil_div(kvecs, nb_.value);
    packed_ = ask_packed();
    at_ = ask_at();
  }

  // Whether each panel is copied; a panel that every row has for itself is read once.
  bool ask_packed() {
    if (dot_ || !lies_in_rows(m_, request_)) return true;
    const int64_t tiles = m_.w.strides[m_.row] == 0 ? in_ * tiles_of(m_.shared) : 1;
    return b_.ask({HoleKind::kSwitch, out_.id, 1}, "packed", Domain::range(0, 1),
                  pays_to_pack(m_, tiles, jv_, t_) ? 1 : 0) == 1;
  }

  // Tiles of rows by rule: those of the tile that was chosen, and more where somebody has asked for more vectors beside them.
  int64_t parts_beside(const RegisterTile& r, int64_t rows) const {
    if (nb_ <= r.kb) return r.xn;
    const int64_t most = std::max<int64_t>(1, (t_.vector_registers - nb_ - 1) / nb_);
    return std::max(r.xn, arith::ceil_div(rows, most));
  }

  // Whether all cores together are worth it, where there are more than two: with two, rows or columns are enough.
  bool fills_cores() const {
    int64_t work = op_.reduce_axes[0].extent;
    for (const te::Axis& a : op_.axes) work *= a.extent;
    return t_.cores > 2 && work / v_ >= t_.parallel_vectors * t_.cores;
  }

  int64_t tiles_of(const std::vector<size_t>& axes) const {
    int64_t n = 1;
    for (const size_t d : axes) n *= op_.axes[d].extent;
    return n;
  }

  // Vectors of a panel. A product of few rows (a dense layer of one item) has no more pieces than panels: they become
  // narrower until every core has one.
  int64_t enough_panels(int64_t kvecs, const RegisterTile& r) const {
    const int64_t others = r.xn * tiles_of(m_.batch) * tiles_of(m_.shared);
    const auto tiles = [&](int64_t kb) { return others * arith::ceil_div(kvecs, kb); };
    int64_t best = r.kb;
    if (!fills_cores() || tiles(r.kb) >= t_.cores) return best;
    for (int64_t kb = r.kb; kb >= 1; --kb) {
      if (balance(tiles(kb), t_.cores) > balance(tiles(best), t_.cores)) best = kb;
    }
    return best;
  }

  // Whether rows and columns are shared out together, since neither keeps the cores busy alone.
  bool shares_tiles(const std::vector<Loop>& outer) const {
    int64_t pieces = 1;
    for (size_t i = 0; i + 1 < outer.size(); ++i) pieces *= b_.extent(outer[i]);
    return fills_cores() && at_ == kBeforehand && balance(pieces, t_.cores) < 0.9 &&
           balance(pieces * b_.extent(outer.back()), t_.cores) > balance(pieces, t_.cores);
  }

  // Steps along k that are packed together: a transposed operand is contiguous there, and tiles of
  // it are turned in registers.
  int64_t turned_steps() const {
    const auto at = std::find_if(m_.w.indices.begin(), m_.w.indices.end(), [&](const ir::Expr& i) {
      return i.same_as(op_.reduce_axes[0].var);
    });
    const bool last = at != m_.w.indices.end() && at + 1 == m_.w.indices.end();
    if (!last || m_.w.strides[op_.axes.size()] != 1 || m_.w.tensor.dtype().bytes() != 4) return 1;
    int64_t steps = 16;
    while (op_.reduce_axes[0].extent % steps != 0) steps /= 2;
    return steps;
  }

  // w -> other dims.., column panel, k, column in panel
  void pack_columns() {
    StageRef w = b_.stage(m_.w.tensor.name());
    if (!m_.constant) w = b_.cache_read(w, {acc_}, ir::Scope::kGlobal);
    b_.layout_split(w, dim(m_.j_dim), {jn_, jv_});
    const auto moved = [&](size_t d) { return dim(d > m_.j_dim ? d + 1 : d); };
    std::vector<int64_t> perm;
    for (const size_t d : m_.other_dims) perm.push_back(moved(d));
    perm.insert(perm.end(), {dim(m_.j_dim), moved(m_.k_dim), dim(m_.j_dim) + 1});
    b_.layout_reorder(w, perm);
    if (!m_.constant) copy_columns(w);
  }

  void copy_columns(StageRef w) {
    const size_t panel = m_.other_dims.size();
    const auto [vectors, lanes] = b_.split<2>(b_.axis(w, panel + 2), {v_});
    b_.vectorize(lanes);
    if (const int64_t steps = turned_steps(); steps > 1) {
      const auto [k, turned] = b_.split<2>(b_.axis(w, panel + 1), {steps});
      b_.reorder({vectors, k, turned, lanes});
      b_.unroll(turned);
    } else {
      b_.unroll(vectors);
    }
    std::vector<Loop> outer;
    int64_t work = m_.w.tensor.shape()[m_.k_dim] * nb_;
    for (size_t d = 0; d <= panel; ++d) {
      outer.push_back(b_.axis(w, d));
      work *= b_.extent(outer.back());
    }
    deal_out(b_, outer, work);
  }

  // w -> other dims.., column panel, group along k, column in panel, which of the group
  void pack_groups() {
    const int64_t group = schedule::row_of(*dot_).group;
    const StageRef w = b_.stage(m_.w.tensor.name());
    b_.layout_split(w, dim(m_.j_dim), {jn_, jv_});
    const auto moved = [&](size_t d) { return d > m_.j_dim ? d + 1 : d; };
    const size_t k = moved(m_.k_dim);
    b_.layout_split(w, dim(k), {arith::ceil_div(op_.reduce_axes[0].extent, group), group});
    const auto place = [&](size_t d) { return dim(d > k ? d + 1 : d); };
    std::vector<int64_t> perm;
    for (const size_t d : m_.other_dims) perm.push_back(place(moved(d)));
    perm.insert(perm.end(), {place(m_.j_dim), dim(k), place(m_.j_dim + 1), dim(k + 1)});
    b_.layout_reorder(w, perm);
  }

  // Whether all columns of the second operand stay in the first-level cache while a tile of rows is multiplied. Then rows
  // of the result can be written one after the other, and nothing is read more often for it.
  bool keeps_columns() const {
    const int64_t bytes = op_.reduce_axes[0].extent * jn_ * jv_ * m_.w.tensor.dtype().bytes();
    return packed_ && 2 * bytes <= t_.l1d_bytes;
  }

  // The loops over tiles, those that the cores share out first.
  std::vector<Loop> order_tiles(Loop rows, Loop columns) const {
    std::vector<Loop> outer;
    for (const size_t d : m_.batch) outer.push_back(b_.axis(out_, d));
    const int64_t items = tiles_of(m_.batch);
    const bool by_row =
        keeps_columns() && balance(items * tiles_of(m_.shared) * in_, t_.cores) >= 0.9;
    const bool by_column = at_ == kBeforehand && !by_row && balance(items * jn_, t_.cores) >= 0.9;
    if (by_column) outer.push_back(columns);
    for (const size_t d : m_.shared) outer.push_back(b_.axis(out_, d));
    outer.push_back(rows);
    if (!by_column) outer.push_back(columns);
    return outer;
  }

  void tile_output() {
    const auto [columns, vectors, lanes] =
        b_.split<3>(b_.axis(out_, op_.axes.size() - 1), {nb_, v_});
    const auto [rows, row] = b_.parts(b_.axis(out_, m_.row), in_);
    std::vector<Loop> outer = order_tiles(rows, columns);
    std::vector<Loop> order = outer;
    order.insert(order.end(), {row, vectors, lanes});
    b_.reorder(order);
    b_.unroll(row);
    b_.unroll(vectors);
    b_.vectorize(lanes);
    const bool together = shares_tiles(outer);
    if (together) outer = {b_.fuse(outer)};
    b_.compute_at(acc_, outer.back());
    if (!together) outer.pop_back();
    // What is attached inside must know the loop that the cores share out.
    if (at_ == kByBlock) outer = {tile_loop_ = b_.fuse(outer)};
    int64_t work = op_.reduce_axes[0].extent;
    for (const te::Axis& a : op_.axes) work *= a.extent;
    deal_out(b_, outer, work / v_);
  }

  // Packed panels are whole, so that nothing is tested inside: what lies beyond the last column is not stored.
  void tile_sum() {
    const size_t rank = op_.axes.size() + (packed_ ? 1 : 0);  // with the dimension of panels
    const Loop row = b_.axis(acc_, m_.row), k = b_.axis(acc_, rank);
    const auto [vectors, lanes] = b_.split<2>(b_.axis(acc_, rank - 1), {v_});
    if (dot_) {
      const auto [groups, of_group] = b_.split<2>(k, {schedule::row_of(*dot_).group});
      b_.reorder({groups, row, vectors, lanes, of_group});
      b_.unroll(row);
      b_.unroll(vectors);
      b_.tensorize(lanes, of_group, *dot_);
    } else {
      b_.reorder({k, row, vectors, lanes});
      b_.unroll(row);
      b_.unroll(vectors);
      b_.vectorize(lanes);
    }
    fetch_weights(k);
  }

  // Weights that the second-level cache does not hold come from memory, each panel with its first tile of rows, and what
  // fetches ahead by itself stops at every page: those that a part of the first-level cache holds are on the way.
  void fetch_weights(Loop k) {
    constexpr int64_t kParts = 4;
    const te::Tensor& w = m_.w.tensor;
    if (dot_ || !m_.constant || b_.refused()) return;
    if (w.get()->elements() * w.dtype().bytes() <= t_.l2_bytes) return;
    const int64_t step = jv_ * w.dtype().bytes();
    b_.prefetch(k, b_.stage(w.name()), std::max<int64_t>(1, t_.l1d_bytes / kParts / step));
  }

  Builder& b_;
  const Request& request_;
  const Matmul& m_;
  const target::Cpu& t_;
  const te::ComputeOp& op_;
  StageRef out_, acc_;
  Loop tile_loop_;                    // over tiles of rows
  Value nb_ = 1, in_ = 1;             // vectors of a tile, tiles of rows
  int64_t v_ = 1;                     // lanes
  int64_t jv_ = 1, jn_ = 1;           // columns of a panel, panels
  int64_t at_ = kBeforehand;          // see Matmul::rows
  bool packed_ = true;                // the second operand, else it is read where it lies
  bool narrow_;                       // products of bfloat16, to which the first operand is copied
  std::optional<schedule::Dot> dot_;  // that adds several products
};

}  // namespace

std::optional<Written> write_matmul(Builder& b, const Request& request) {
  const auto m = find_matmul(b.dag(), b.target().cpu());
  if (!m || !may_be_plain(request, m->chain.final->output)) return std::nullopt;
  Writer(*m, b, request, false, std::nullopt).run();
  return Written{};
}

std::optional<Written> write_matmul_integer(Builder& b, const Request& request) {
  const auto m = find_matmul(b.dag(), b.target().cpu());
  if (!m || m->rows || !may_be_plain(request, m->chain.final->output)) return std::nullopt;
  const auto dot = dot_of_bytes(m->x.tensor.dtype(), m->w.tensor.dtype());
  if (!dot || !has_groups(*m, schedule::row_of(*dot).group)) return std::nullopt;
  Writer(*m, b, request, false, dot).run();
  return Written{};
}

std::optional<Written> write_matmul_bfloat16(Builder& b, const Request& request) {
  if (!takes_bfloat16(request, b.target().cpu())) return std::nullopt;
  const auto m = find_matmul(b.dag(), b.target().cpu());
  if (!m || m->x.tensor.dtype() != ir::kF32 || !has_groups(*m, 2) ||
      !may_be_plain(request, m->chain.final->output))
    return std::nullopt;
  Writer(*m, b, request, true, schedule::Dot::kBf16Bf16).run();
  return Written{};
}

}  // namespace tenon::templates
