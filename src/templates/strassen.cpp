// SPDX-License-Identifier: Apache-2.0
// Matrix products with constant weights by Strassen's algorithm, where it is estimated to be faster
// than the direct one: dense layers on row-major activations, pointwise convolutions on blocks of
// channels. A panel is a few vectors of columns in both halves: its seven products (each like the
// direct kernel's, with a register tile of rows x vectors) stay in cache until they are combined
// into four quarters together with everything that follows. Weights are one linear stream per
// panel. Cores share out blocks of rows, each of which makes the sums of the first operand's
// quarters that it reads itself, while they are in its own cache; where rows do not make even
// blocks of some size, the sums are made once, and the cores share out panels, each reading what
// others wrote.
// Work on rows in front (a layer norm) is done beforehand: a sum adds rows that lie far apart.
#include "templates/strassen_match.h"

#include <algorithm>
#include <numeric>

#include "templates/edges.h"
#include "templates/loops.h"
#include "templates/template.h"
#include "templates/write.h"

namespace tenon::templates {
namespace {

using schedule::Algorithm;
using schedule::half_of;
using schedule::kStrassenProducts;
using space::Builder;
using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;

constexpr int64_t kMostVectors = 8;        // of columns in a panel
constexpr int64_t kPanels = 1, kRows = 2;  // what the cores share out

// The loops of the output: over halves, over panels, in a panel, and the lanes.
struct ColumnLoops {
  Loop half, panel, vectors, lanes;
};

class Writer {
 public:
  Writer(const Dense& d, Builder& b, const Request& request)
      : b_(b),
        request_(request),
        d_(d),
        t_(b.target().cpu()),
        op_(*d.chain.anchor),
        out_(b.stage(d.chain.final->name())),
        batch_(op_.axes.size() - (d.product.last - d.product.first) - 1),
        lanes_(lanes_of(d, t_)),
        half_(half_of(d.product.rows)) {}

  void run() {
    make_stages();
    std::optional<RowsWriter> rows;
    if (d_.rows) rows.emplace(b_, *d_.rows);
    if (rows) rows->inline_cheap();
    store_all();
    if (b_.refused()) return;
    if (rows) rows->cut_sums(true);
    const std::vector<Loop> shared = tile_output();
    tile_products();
    tile_product_sums();
    tile_sums();
    if (along_ == kRows) b_.compute_at(sums_, shared.back());
    deal_out(b_, shared, INT32_MAX);
    if (rows) rows->place_alone();
  }

 private:
  static int64_t dim(size_t d) { return static_cast<int64_t>(d); }

  void make_stages() {
    const std::string& name = op_.name();
    const StageRef anchor = b_.stage(name);
    b_.variant(anchor, Algorithm::kStrassen);
    sums_ = made(b_, name + ".v");
    products_ = made(b_, name + ".m");
    acc_ = b_.cache_write(products_, ir::Scope::kRegister);
    for (const te::ComputeOp* p : d_.chain.inlined) {
      if (p != &op_) b_.compute_inline(b_.stage(p->name()));
    }
    b_.compute_inline(made(b_, name + ".y"));
    if (anchor != out_) b_.compute_inline(anchor);
  }

  void ask_columns() {
    const int64_t vectors = d_.columns / 2 / lanes_;
    RegisterTile r = choose_tile(vectors, half_, 1, t_);
    block_ = rows_in_block(d_, t_);
    along_ = b_.ask({HoleKind::kSwitch, out_.id, 0}, "along", Domain::range(kPanels, kRows),
                    shares_rows(d_, t_, vectors / r.kb) ? kRows : kPanels);
    rows_ = along_ == kRows ? block_ : half_;
    if (along_ == kRows) r = choose_tile(vectors, block_, 1, t_);
    const int64_t most = std::max(r.kb, std::min<int64_t>(vectors, kMostVectors));
    nb_ = b_.ask({HoleKind::kFactor, out_.id, 0}, "nb", Domain::divisors(vectors, most),
                 std::gcd(r.kb, vectors));
    jn_ = vectors / nb_;
    tiles_by_rule_ = r.xn;
  }

  // Register tiles of as many rows each, or any number of near-equal ones.
  void ask_rows() {
    const space::Domain fits = parts_in_registers(rows_, nb_, tiles_by_rule_, t_);
    std::vector<int64_t> uneven;
    for (size_t i = 0; i < fits.size(); ++i) {
      if (rows_ % fits.at(i) != 0) uneven.push_back(fits.at(i));
    }
    const bool even =
        b_.ask({HoleKind::kSwitch, out_.id, 1}, "even", Domain::range(uneven.empty() ? 1 : 0, 1),
               rows_ % tiles_by_rule_ == 0 ? 1 : 0) == 1;
    if (even) {
      tile_ = b_.ask({HoleKind::kFactor, out_.id, 1}, "tile",
                     Domain::divisors(rows_, arith::ceil_div(rows_, fits.at(0))),
                     rows_ / tiles_by_rule_);
    } else {
      in_ = b_.ask({HoleKind::kParts, out_.id, 0}, "in", Domain::of(std::move(uneven)),
                   tiles_by_rule_);
    }
  }

  // Dimension `d` before the one that it follows; one more stands behind it.
  void swap_before(StageRef stage, size_t d) {
    std::vector<int64_t> perm;
    for (size_t i = 0; i + 1 < d; ++i) perm.push_back(dim(i));
    perm.insert(perm.end(), {dim(d), dim(d) - 1, dim(d) + 1});
    b_.layout_reorder(stage, perm);
  }

  // products batch rows columns  =>  products batch columns/v rows v
  void store_products(StageRef stage) {
    const size_t last = batch_ + 2;
    b_.layout_split(stage, dim(last), {d_.columns / 2 / lanes_, lanes_});
    swap_before(stage, last);
  }

  // products batch rows k  =>  products batch tiles k/v rows v: one linear stream per register
  // tile, where all tiles have as many rows
  void store_sums() {
    size_t last = batch_ + 2;
    if (tile_ > 0) b_.layout_split(sums_, dim(last++) - 1, {half_ / tile_, tile_});
    b_.layout_split(sums_, dim(last), {d_.k / 2 / lanes_, lanes_});
    swap_before(sums_, last);
  }

  // products, k and columns in any order  =>  panels products k columns in panel
  void store_weights() {
    const StageRef w = b_.stage(d_.w.name());
    const size_t column = 1 + d_.product.column_dim, k = 1 + d_.product.k_dim;
    b_.layout_split(w, dim(column), {jn_, nb_ * lanes_});
    const auto moved = [&](size_t i) { return dim(i > column ? i + 1 : i); };
    std::vector<int64_t> perm{dim(column), 0, moved(k)};
    for (size_t i = 1; i <= d_.w.rank(); ++i) {
      if (i != column && i != k) perm.push_back(moved(i));
    }
    perm.push_back(dim(column) + 1);
    b_.layout_reorder(w, perm);
  }

  // Rows are one dimension.
  layout::Layout of_output() const {
    layout::Layout l(op_.output.shape());
    const auto first = static_cast<int64_t>(d_.product.first);
    const auto count = static_cast<int64_t>(d_.product.last) - first;
    if (count > 1) l = l.fuse(first, count);
    return d_.blocked ? l.compose(blocked(l.storage_shape(), lanes_)) : l;
  }

  void store_all() {
    std::vector<std::string> done{d_.w.name()};
    if (d_.blocked) {
      b_.store(b_.stage(d_.x.name()), blocked(d_.x.shape(), lanes_));
      done.push_back(d_.x.name());
    }
    ask_columns();
    store_weights();
    ask_rows();
    store_sums();
    store_products(products_);
    store_products(acc_);
    const layout::Layout like = of_output();
    for (const std::string& s : d_.like_output) {
      const auto it = request_.fixed.find(s);
      if (it != request_.fixed.end() && !layout::same_storage(it->second, like)) continue;
      b_.store(b_.stage(s), like);
      done.push_back(s);
    }
    store_fixed_inputs(b_, request_, done);
  }

  // `rank`: of the storage of the output.
  ColumnLoops split_columns(size_t rank) {
    const Loop last = b_.axis(out_, rank - 1);
    if (!d_.blocked) {
      const auto [half, panel, vectors, lanes] = b_.split<4>(last, {jn_, nb_, lanes_});
      return {half, panel, vectors, lanes};
    }
    const auto [half, panel, vectors] = b_.split<3>(b_.axis(out_, 1), {jn_, nb_});
    return {half, panel, vectors, last};
  }

  // The loops that cores may share out.
  std::vector<Loop> tile_output() {
    const size_t rank = b_.now(out_).axes.size();
    const ColumnLoops c = split_columns(rank);
    auto [half, row] = b_.split<2>(b_.axis(out_, rank - 2), {half_});
    std::vector<Loop> outer;
    if (d_.blocked) outer.push_back(b_.axis(out_, 0));
    if (along_ == kRows) {
      const auto [blocks, in_block] = b_.split<2>(row, {block_});
      outer.push_back(blocks);
      row = in_block;
    }
    std::vector<Loop> order = outer;
    order.insert(order.end(), {c.panel, row, half, c.half, c.vectors, c.lanes});
    b_.reorder(order);
    for (const Loop& l : {half, c.half, c.vectors}) b_.unroll(l);
    b_.vectorize(c.lanes);
    b_.compute_at(products_, c.panel);
    // What is attached inside the blocks stays at a loop of its own.
    if (along_ != kRows) outer.push_back(c.panel);
    return outer;
  }

  // The loops over products and over what is outside of matrices, then `inner`.
  std::vector<Loop> behind_batch(StageRef stage, const std::vector<Loop>& inner) const {
    std::vector<Loop> order;
    for (size_t d = 0; d <= batch_; ++d) order.push_back(b_.axis(stage, d));
    order.insert(order.end(), inner.begin(), inner.end());
    return order;
  }

  // products batch columns/v rows v
  void tile_products() {
    const Loop vectors = b_.axis(products_, batch_ + 1), lanes = b_.axis(products_, batch_ + 3);
    const Loop rows = b_.axis(products_, batch_ + 2);
    const auto [tiles, row] = tile_ > 0 ? b_.split<2>(rows, {tile_}) : b_.parts(rows, in_);
    b_.reorder(behind_batch(products_, {tiles, row, vectors, lanes}));
    b_.unroll(row);
    b_.unroll(vectors);
    b_.vectorize(lanes);
    b_.compute_at(acc_, tiles);
  }

  void tile_product_sums() {
    const Loop vectors = b_.axis(acc_, batch_ + 1), lanes = b_.axis(acc_, batch_ + 3);
    const Loop row = b_.axis(acc_, batch_ + 2);
    const auto [k, step] = b_.split<2>(b_.axis(acc_, batch_ + 4), {lanes_});
    b_.reorder(behind_batch(acc_, {k, step, row, vectors, lanes}));
    b_.unroll(row);
    b_.unroll(vectors);
    b_.vectorize(lanes);
  }

  // products batch tiles k/v rows v, or without tiles
  void tile_sums() {
    const size_t inside = batch_ + (tile_ > 0 ? 2 : 1);  // k/v
    const Loop product = b_.axis(sums_, 0), row = b_.axis(sums_, inside + 1),
               lanes = b_.axis(sums_, inside + 2);
    std::vector<Loop> outer;
    for (size_t d = 1; d <= inside; ++d) outer.push_back(b_.axis(sums_, d));
    std::vector<Loop> order = outer;
    order.insert(order.end(), {row, product, lanes});
    b_.reorder(order);
    b_.unroll(product);
    b_.vectorize(lanes);
    if (along_ == kRows) return;
    deal_out(b_, outer, half_ * kStrassenProducts * (d_.k / 2 / lanes_));
  }

  Builder& b_;
  const Request& request_;
  const Dense& d_;
  const target::Cpu& t_;
  const te::ComputeOp& op_;
  StageRef out_, sums_, products_, acc_;  // sums of the first operand's quarters
  size_t batch_;                          // axes outside of matrices
  int64_t lanes_;
  int64_t half_;       // of the rows
  int64_t block_ = 1;  // rows of a block
  int64_t along_ = kPanels;
  int64_t rows_ = 1;           // at once: of a block, or of a half
  int64_t tiles_by_rule_ = 1;  // of these rows
  Value nb_ = 1, in_ = 1;      // vectors of a panel, register tiles of the rows at once
  int64_t jn_ = 1;             // panels
  Value tile_ = 0;             // rows of a register tile; 0: not all have as many
};

}  // namespace

std::optional<Written> write_strassen(Builder& b, const Request& request) {
  const auto d = find_dense(b.state());
  if (!d || !is_worth_it(*d, request, b.target().cpu())) return std::nullopt;
  if (!fits(*d, request, b.target().cpu())) return std::nullopt;
  Writer(*d, b, request).run();
  return Written{};
}

}  // namespace tenon::templates
