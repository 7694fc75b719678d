// SPDX-License-Identifier: Apache-2.0
// Matrix products with constant weights by Strassen's algorithm, where it is estimated to be faster than the direct one:
// dense layers on row-major activations, pointwise convolutions on blocks of channels. A panel is a few vectors of
// columns in both halves: its seven products (each like the direct kernel's, with a register tile of rows x vectors)
// stay in cache until they are combined into four quarters together with everything that follows. Weights are one
// linear stream per panel. Cores share out blocks of rows, each of which makes the sums of the first operand's quarters
// that it reads itself, while they are in its own cache; where rows do not make even blocks of some size, the sums are
// made once, and the cores share out panels, each reading what others wrote.
// Work on rows in front (a layer norm) is done beforehand: a sum adds rows that lie far apart.
#include "schedule/algorithms/strassen.h"

#include <algorithm>
#include <numeric>

#include "schedule/primitives/variant.h"
#include "templates/algorithm_choice.h"
#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/loops.h"
#include "templates/plan_writer.h"
#include "templates/rows.h"

namespace tenon::templates {
namespace {

using schedule::Algorithm;
using schedule::half_of;
using schedule::kStrassenProducts;

constexpr int64_t kMostVectors = 8;        // of columns in a panel
constexpr int64_t kPanels = 1, kRows = 2;  // what the cores share out
constexpr int64_t kRowsInBlock = 64;       // at most, where they share out rows

struct Dense {
  Chain chain;
  std::optional<Rows> rows;  // that the first operand is computed by
  schedule::Product product;
  te::Tensor x, w;
  bool blocked = false;  // N C/v positions v; otherwise columns are the last dimension
  int64_t columns = 1, k = 1;
  int64_t outer = 1;  // products of matrices
  std::vector<std::string> like_output;
};

// variant itself checks the rest.
std::optional<Dense> match(const schedule::State& initial) {
  const te::ComputeDag& dag = initial.dag();
  Dense d;
  if (const auto operand = te::find_row_operand(dag)) d.rows = rows_before(*operand);
  auto chain = d.rows ? find_chain(dag, d.rows->ops) : find_chain(dag);
  if (!chain) return std::nullopt;
  d.chain = *chain;
  const te::ComputeOp& op = *d.chain.anchor;
  const schedule::Variant step{{initial.find(op.name())}, Algorithm::kStrassen};
  const auto product = schedule::find_product(initial, op);
  if (!product || !step.check(initial)) return std::nullopt;
  d.product = *product;
  d.x = product->x->buffer;
  d.w = product->w->buffer;
  d.columns = op.axes[product->column].extent;
  d.k = op.reduce_axes[product->k].extent;
  for (const te::Axis& a : op.axes) d.outer *= a.extent;
  d.outer /= product->rows * d.columns;
  d.blocked = product->column == 1 && product->first == 2 && product->last == op.axes.size();
  if (!d.blocked && product->column + 1 != op.axes.size()) return std::nullopt;
  if (d.blocked && (dag.producer(d.x) != nullptr || d.x.rank() != op.axes.size()))
    return std::nullopt;
  d.like_output = stored_like_output(dag, d.chain);
  return d;
}

double direct_cost(const Dense& d, int cores) {
  const auto weights = static_cast<double>(d.k * d.columns);
  const auto rows = static_cast<double>(d.outer * d.product.rows);
  return overlapped(2 * rows * weights, 4 * weights, cores);
}

double strassen_cost(const Dense& d, int cores) {
  constexpr double kPerElement = 12.0;  // of a sum that is made, of a product that is combined
  const auto k = static_cast<double>(half_of(d.k)),
             columns = static_cast<double>(half_of(d.columns));
  const auto rows = static_cast<double>(d.outer * half_of(d.product.rows));
  return overlapped(2 * kStrassenProducts * rows * k * columns, 4 * kStrassenProducts * k * columns,
                    cores) +
         kPerElement * kStrassenProducts * rows * (k + columns) / cores;
}

bool is_worth_it(const Dense& d, const Request& request, const target::Target& t) {
  const int cores = t.cores;
  constexpr double kWorthIt = 0.96;
  return choose_algorithm(request, direct_share(request, t) * direct_cost(d, cores), kWorthIt,
                          [&](Algorithm a) -> std::optional<double> {
                            if (a != Algorithm::kStrassen) return std::nullopt;
                            return strassen_cost(d, cores);
                          })
      .has_value();
}

// The loops of the output: over halves, over panels, in a panel, and the lanes.
struct ColumnLoops {
  std::string half, panel, vectors, lanes;
};

class Writer : private PlanWriter {
 public:
  Writer(const Dense& d, const schedule::State& initial, const Request& request)
      : PlanWriter(initial, request),
        d_(d),
        t_(initial.target()),
        op_(*d.chain.anchor),
        name_(op_.name()),
        out_(d.chain.final->name()),
        column_(op_.axes[d.product.column].var.name()),
        k_(op_.reduce_axes[d.product.k].var.name()) {
    lanes_ = t_.lanes(op_.output.dtype().bytes());
    half_ = half_of(d.product.rows);
    for (size_t i = 0; i < op_.axes.size(); ++i) {
      const bool row = i >= d.product.first && i < d.product.last;
      if (!row && i != d.product.column) outer_.push_back(op_.axes[i].var.name());
    }
  }

  std::optional<Plan> run() {
    if (!fits()) return std::nullopt;
    size_knobs();
    line("variant {} strassen", name_);
    line("cache_write {}.m register", name_);
    for (const te::ComputeOp* p : d_.chain.inlined) {
      if (p != &op_) line("compute_inline {}", p->name());
    }
    line("compute_inline {}.y", name_);
    if (&op_ != d_.chain.final) line("compute_inline {}", name_);
    std::optional<RowsWriter> rows;
    if (d_.rows) rows.emplace(static_cast<PlanWriter&>(*this), *d_.rows, "r");
    if (rows) rows->inline_cheap();
    store_all();
    if (refused()) return std::nullopt;
    if (rows) rows->cut_sums(true);
    const std::vector<NamedLoop> shared = tile_output();
    tile_products();
    tile_sums();
    if (along_ == kRows) line("compute_at {}.v {} {}", name_, out_, shared.back().name);
    deal_out(*this, out_, shared, INT32_MAX);
    if (rows) rows->place_alone();
    return take();
  }

 private:
  // Whole vectors in each half, and edges that hold them side by side.
  bool fits() const {
    const te::Tensor& y = d_.chain.final->output;
    if (lanes_ < 2 || d_.columns % (2 * lanes_) != 0 || d_.k % (2 * lanes_) != 0) return false;
    if (!d_.blocked) return may_be_plain(request(), y);
    return block_for(request(), d_.x, lanes_) == lanes_ &&
           block_for(request(), y, lanes_) == lanes_;
  }

  // Rows of a block that divides a half: as many blocks for each core, and few of them, since each reads all weights,
  // but not so few that its sums leave the cache.
  int64_t rows_in_block() const {
    int64_t best = 1;
    double least = 1e30;
    for (int64_t n = 1; n <= std::min(half_, kRowsInBlock); ++n) {
      if (half_ % n != 0) continue;
      double cost = 1 / balance(d_.outer * (half_ / n), t_.cores) + 2.0 / static_cast<double>(n);
      if (!keeps_sums(n)) cost += 0.06;
      if (cost >= least) continue;
      least = cost;
      best = n;
    }
    return best;
  }

  void size_knobs() {
    const int64_t vectors = d_.columns / 2 / lanes_;
    RegisterTile r = choose_tile(vectors, half_, 1, t_);
    const int64_t block = rows_in_block();
    const int64_t blocks = d_.outer * (half_ / block);
    const bool rows =
        block >= kRowsInBlock / 2 && half_ > block && balance(blocks, t_.cores) >= 0.9;
    const bool few = balance(d_.outer * (vectors / r.kb), t_.cores) < 0.9;
    along_ = choice("along", rows && (few || keeps_sums(block)) ? kRows : kPanels, 2);
    if (along_ == kRows) r = choose_tile(vectors, block, 1, t_);
    r.kb = choice("nb", r.kb, std::min<int64_t>(vectors, kMostVectors));
    r.xn = choice("in", r.xn, along_ == kRows ? block : half_);
    if (vectors % r.kb != 0) r.kb = std::gcd(r.kb, vectors);
    const int64_t rows_at_once = along_ == kRows ? block : half_;
    tiled_ = rows_at_once % r.xn == 0;
    knobs().insert({{"v", lanes_},
                    {"half", half_},
                    {"block", block},
                    {"nb", r.kb},
                    {"in", r.xn},
                    {"jv", r.kb * lanes_},
                    {"jn", vectors / r.kb}});
    if (tiled_)
      knobs().insert({{"tiles", half_ / (rows_at_once / r.xn)}, {"tile", rows_at_once / r.xn}});
  }

  // The sums of a block of rows stay in the second-level cache beside the weights that pass through.
  bool keeps_sums(int64_t rows) const {
    return 4 * kStrassenProducts * rows * (d_.k / 2) <= t_.l2_bytes / 4 * 3;
  }

  // Dimension `d` before the one that it follows; one more stands behind it.
  void swap_before(const std::string& stage, size_t d) {
    std::vector<std::string> perm;
    for (size_t i = 0; i + 1 < d; ++i) perm.push_back(std::to_string(i));
    for (const size_t i : {d, d - 1, d + 1}) perm.push_back(std::to_string(i));
    line("layout_reorder {} [{}]", stage, comma(perm));
  }

  // products outer rows columns  =>  products outer columns/v rows v
  void store_products(const std::string& stage) {
    const size_t last = now(stage).output.rank() - 1;
    knobs()["columns"] = d_.columns / 2 / lanes_;
    line("layout_split {} {} [$columns, $v]", stage, last);
    swap_before(stage, last);
  }

  // products outer rows k  =>  products outer tiles k/v rows v: one linear stream per register tile, where all tiles
  // have as many rows
  void store_sums(const std::string& stage) {
    size_t last = now(stage).output.rank() - 1;
    if (tiled_) line("layout_split {} {} [$tiles, $tile]", stage, last++ - 1);
    knobs()["ks"] = d_.k / 2 / lanes_;
    line("layout_split {} {} [$ks, $v]", stage, last);
    swap_before(stage, last);
  }

  // products, k and columns in any order  =>  panels products k columns in panel
  void store_weights() {
    const size_t column = 1 + d_.product.column_dim, k = 1 + d_.product.k_dim;
    line("layout_split {} {} [$jn, $jv]", d_.w.name(), column);
    const auto moved = [&](size_t i) { return std::to_string(i > column ? i + 1 : i); };
    std::vector<std::string> perm{std::to_string(column), "0", moved(k)};
    for (size_t i = 1; i <= d_.w.rank(); ++i) {
      if (i != column && i != k) perm.push_back(moved(i));
    }
    perm.push_back(std::to_string(column + 1));
    line("layout_reorder {} [{}]", d_.w.name(), comma(perm));
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
      store(d_.x.name(), blocked(d_.x.shape(), lanes_));
      done.push_back(d_.x.name());
    }
    store_weights();
    store_sums(name_ + ".v");
    store_products(name_ + ".m");
    store_products(name_ + ".m.cache");
    const layout::Layout like = of_output();
    for (const std::string& s : d_.like_output) {
      const auto it = request().fixed.find(s);
      if (it != request().fixed.end() && !layout::same_storage(it->second, like)) continue;
      store(s, like);
      done.push_back(s);
    }
    store_fixed_inputs(done);
  }

  std::vector<std::string> with_outer(std::vector<std::string> loops) const {
    loops.insert(loops.begin(), outer_.begin(), outer_.end());
    return loops;
  }

  ColumnLoops split_columns(const std::vector<te::Axis>& axes) {
    const std::string last = axes.back().var.name();
    if (!d_.blocked) {
      line("split {} {} [$jn, $nb, $v]", out_, last);
      return {last + ".0", last + ".1", last + ".2", last + ".3"};
    }
    const std::string blocks = axes[1].var.name();
    line("split {} {} [$jn, $nb]", out_, blocks);
    return {blocks + ".0", blocks + ".1", blocks + ".2", last};
  }

  // The loops that cores may share out.
  std::vector<NamedLoop> tile_output() {
    const std::vector<te::Axis> axes = now(out_).axes;
    const std::string rows = axes[axes.size() - 2].var.name();
    const ColumnLoops c = split_columns(axes);
    line("split {} {} [$half]", out_, rows);
    std::vector<NamedLoop> outer;
    if (d_.blocked) outer.push_back({axes[0].var.name(), axes[0].extent});
    const NamedLoop panels{c.panel, knobs()["jn"]};
    std::string row = rows + ".1";
    if (along_ == kRows) {
      line("split {} {} [$block]", out_, row);
      outer.push_back({row + ".0", half_ / knobs()["block"]});
      outer.push_back(panels);
      row += ".1";
    } else {
      outer.push_back(panels);
    }
    std::vector<std::string> order;
    for (const NamedLoop& l : outer) order.push_back(l.name);
    order.insert(order.end(), {row, rows + ".0", c.half, c.vectors, c.lanes});
    line("reorder {} [{}]", out_, comma(order));
    line("unroll {} {}.0\nunroll {} {}\nunroll {} {}\nvectorize {} {}", out_, rows, out_, c.half,
         out_, c.vectors, out_, c.lanes);
    line("compute_at {}.m {} {}", name_, out_, c.panel);
    if (along_ == kRows)
      outer.pop_back();  // what is attached inside the blocks stays at a loop of its own
    return outer;
  }

  void tile_products() {
    const std::string m = name_ + ".m", sum = m + ".cache", vectors = column_ + "_0",
                      lanes = column_ + "_1";
    line("split {} st {}", m, tiled_ ? "[$tile]" : "[$in] parts");
    std::vector<std::string> order{"sp"};
    for (const std::string& l : with_outer({"st.0", "st.1", vectors, lanes})) order.push_back(l);
    line("reorder {} [{}]", m, comma(order));
    line("unroll {} st.1\nunroll {} {}\nvectorize {} {}", m, m, vectors, m, lanes);
    line("compute_at {} {} st.0", sum, m);
    line("split {} {} [$v]", sum, k_);
    order = {"sp"};
    for (const std::string& l : with_outer({k_ + ".0", k_ + ".1", "st", vectors, lanes}))
      order.push_back(l);
    line("reorder {} [{}]", sum, comma(order));
    line("unroll {} st\nunroll {} {}\nvectorize {} {}", sum, sum, vectors, sum, lanes);
  }

  void tile_sums() {
    const std::string v = name_ + ".v", blocks = k_ + "_0", lanes = k_ + "_1";
    std::vector<std::string> outer = with_outer({blocks}), order;
    if (tiled_) outer.insert(outer.end() - 1, "st_0");
    order = outer;
    order.insert(order.end(), {tiled_ ? "st_1" : "st", "sp", lanes});
    line("reorder {} [{}]", v, comma(order));
    line("unroll {} sp\nvectorize {} {}", v, v, lanes);
    if (along_ == kRows) return;
    std::vector<NamedLoop> loops;
    for (const std::string& l : outer) {
      for (const te::Axis& a : now(v).axes) {
        if (a.var.name() == l) loops.push_back({l, a.extent});
      }
    }
    deal_out(*this, v, loops, half_ * kStrassenProducts * (d_.k / 2 / lanes_));
  }

  const Dense& d_;
  const target::Target& t_;
  const te::ComputeOp& op_;
  std::string name_, out_, column_, k_;
  std::vector<std::string> outer_;
  int64_t lanes_ = 1;
  int64_t half_ = 1;  // of the rows
  int64_t along_ = kPanels;
  bool tiled_ = false;  // all register tiles have as many rows
};

}  // namespace

std::optional<Plan> plan_strassen(const schedule::State& initial, const Request& request) {
  const auto d = match(initial);
  if (!d || !is_worth_it(*d, request, initial.target())) return std::nullopt;
  return Writer(*d, initial, request).run();
}

}  // namespace tenon::templates
