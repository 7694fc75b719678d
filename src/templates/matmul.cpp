// SPDX-License-Identifier: Apache-2.0
// Matrix multiplication, batched or not, either operand transposed or read through an affine map. The second operand is
// stored in panels of nb*v columns, one linear stream each: at compile time if it is constant, by a packing stage
// otherwise. The register tile is a few rows times nb vectors; rows are the longest axis that the second operand does
// not depend on. Work on rows in front of the first operand (a layer norm) is done for all rows beforehand, or for the
// rows of a tile before the columns are walked through.
#include <algorithm>

#include "ir/visit.h"
#include "templates/algorithm_choice.h"
#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/loops.h"
#include "templates/rows.h"

namespace tenon::templates {

namespace {

constexpr int64_t kMostVectors = 8;               // of columns in a tile
constexpr int64_t kBeforehand = 1, kByBlock = 2;  // where work on rows is done

struct Matmul {
  Chain chain;
  std::optional<Rows> rows;  // that the first operand is computed by
  te::Access x, w;
  bool constant = false;           // w is known at compile time
  size_t j_dim = 0;                // of w
  std::vector<size_t> other_dims;  // of w: neither j nor k
  size_t k_dim = 0;
  size_t row = 0;                // axis of the output
  std::vector<size_t> shared;    // other axes that w does not depend on
  std::vector<size_t> batch;     // axes that it does
  int64_t row_stride_bytes = 0;  // of x, between rows of the tile
};

void find_rows(const te::ComputeOp& op, Matmul& m) {
  bool found = false;
  for (size_t d = 0; d + 1 < op.axes.size(); ++d) {
    if (m.w.strides[d] != 0) {
      m.batch.push_back(d);
      continue;
    }
    m.shared.push_back(d);
    if (!found || op.axes[d].extent >= op.axes[m.row].extent) m.row = d;
    found = true;
  }
  if (!found) {  // one row of each product: any axis will do
    m.row = m.batch.back();
    m.batch.pop_back();
  }
  std::erase(m.shared, m.row);
}

// axes: batch.., i, j; one reduction axis k; w has j and k, x has i and k.
std::optional<Matmul> match(const te::ComputeDag& dag) {
  Matmul m;
  if (const auto operand = te::find_row_operand(dag)) m.rows = rows_before(*operand);
  auto chain = m.rows ? find_chain(dag, m.rows->ops) : find_chain(dag);
  if (!chain) return std::nullopt;
  m.chain = *chain;
  const te::ComputeOp& op = *m.chain.anchor;
  const auto parts = find_contraction(dag, op, true);
  if (!parts || op.axes.size() < 2 || op.reduce_axes.size() != 1 || !parts->x.affine ||
      !parts->w.affine)
    return std::nullopt;
  if (dag.producer(parts->w.tensor) != nullptr) return std::nullopt;
  m.x = parts->x;
  m.w = parts->w;
  const size_t j = op.axes.size() - 1;
  if (m.x.strides[j] != 0 || m.w.strides[j] == 0) return std::nullopt;
  find_rows(op, m);
  bool has_j = false;
  bool has_k = false;
  for (size_t d = 0; d < m.w.indices.size(); ++d) {
    const auto axis = plain_axis(m.w.indices[d], op);
    if (axis == j) {
      m.j_dim = d;
      has_j = true;
    } else if (!has_k && ir::uses_var(m.w.indices[d], op.reduce_axes[0].var.node())) {
      m.k_dim = d;
      has_k = true;
    } else {
      m.other_dims.push_back(d);
    }
  }
  if (!has_j || !has_k) return std::nullopt;
  for (const te::Input& in : dag.inputs) m.constant |= in.constant && in.tensor.same_as(m.w.tensor);
  m.row_stride_bytes = m.x.strides[m.row] * m.x.tensor.dtype().bytes();
  return m;
}

class Writer : private PlanWriter {
 public:
  Writer(const Matmul& m, const schedule::State& initial, const Request& request, bool narrow)
      : PlanWriter(initial, request),
        m_(m),
        t_(initial.target()),
        op_(*m.chain.anchor),
        narrow_(narrow) {
    out_ = m.chain.final->name();
    acc_ = op_.name() + ".cache";
    i_ = op_.axes[m.row].var.name();
    j_ = op_.axes.back().var.name();
    k_ = op_.reduce_axes[0].var.name();
  }

  Plan run() {
    size_knobs();
    if (narrow_) line("variant {} bfloat16", op_.name());
    line("cache_write {} register", op_.name());
    for (const te::ComputeOp* p : m_.chain.inlined) line("compute_inline {}", p->name());
    std::optional<RowsWriter> rows;
    if (m_.rows) rows.emplace(static_cast<PlanWriter&>(*this), *m_.rows, "r");
    if (rows) rows->inline_cheap();
    store_fixed_inputs();
    if (rows) rows->cut_sums(at_ == kBeforehand);
    if (narrow_) {
      pack_pairs();
      loop_by_vectors(*this, op_.name() + ".h");
    } else {
      pack_columns();
    }
    line("layout_split {} {} [$jn, $jv]", acc_, op_.axes.size() - 1);
    tile_output();
    tile_sum();
    if (rows && at_ == kByBlock) rows->place_at(out_, tile_loop_);
    if (rows && at_ == kBeforehand) rows->place_alone();
    return take();
  }

 private:
  // Tiles of rows that the cores share out have all weights read again for each: from the second-level cache or not
  // at all.
  int64_t choose_at() {
    if (!m_.rows || narrow_) return kBeforehand;
    int64_t tiles = knobs()["in"];
    for (const size_t d : m_.shared) tiles *= op_.axes[d].extent;
    const int64_t bytes =
        op_.reduce_axes[0].extent * knobs()["jn"] * knobs()["jv"] * m_.w.tensor.dtype().bytes();
    const bool pays = balance(tiles, t_.cores) >= 0.9 && 4 * bytes <= 3 * t_.l2_bytes;
    return choice("at", pays ? kByBlock : kBeforehand, 2);
  }

  void size_knobs() {
    const int64_t columns = op_.axes.back().extent;
    const int64_t rows = op_.axes[m_.row].extent;
    const int64_t v = std::min(choose_lanes(columns, op_.output.dtype().bytes(), t_),
                               std::max<int64_t>(columns, 2));
    const int64_t kvecs = arith::ceil_div(columns, v);
    // Rows a multiple of 4 KiB apart fall into one set of the first-level cache.
    const int64_t limit = m_.row_stride_bytes % 4096 == 0 ? 8 : 0;
    RegisterTile r = choose_tile(kvecs, rows, 1, t_, limit);
    if (r.kb == 1 && kvecs > 1) r = choose_round_tile(kvecs, rows, t_, limit);
    r.kb = choice("nb", r.kb, std::min<int64_t>(kvecs, kMostVectors));
    r.xn = choice("in", r.xn, rows);
    knobs() = {{"v", v},
               {"nb", r.kb},
               {"in", r.xn},
               {"jv", r.kb * v},
               {"jn", arith::ceil_div(kvecs, r.kb)}};
    at_ = choose_at();
  }

  // Steps along k that are packed together: a transposed operand is contiguous there, and tiles of it are turned in
  // registers.
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
    std::string w = m_.w.tensor.name();
    if (!m_.constant) {
      line("cache_read {} [{}] global", w, acc_);
      w += ".read";
    }
    line("layout_split {} {} [$jn, $jv]", w, m_.j_dim);
    const auto moved = [&](size_t d) { return std::to_string(d > m_.j_dim ? d + 1 : d); };
    std::vector<std::string> perm;
    for (const size_t d : m_.other_dims) perm.push_back(moved(d));
    perm.push_back(std::to_string(m_.j_dim));
    perm.push_back(moved(m_.k_dim));
    perm.push_back(std::to_string(m_.j_dim + 1));
    line("layout_reorder {} [{}]", w, comma(perm));
    if (m_.constant) return;
    const std::string j = "d" + std::to_string(m_.j_dim);
    line("split {} {}_1 [$v]", w, j);
    line("vectorize {} {}_1.1", w, j);
    if (const int64_t steps = turned_steps(); steps > 1) {
      const std::string k = "d" + std::to_string(m_.k_dim);
      knobs()["kt"] = steps;
      line("split {} {} [$kt]\nreorder {} [{}_1.0, {}.0, {}.1, {}_1.1]", w, k, w, j, k, k, j);
      line("unroll {} {}.1", w, k);
    } else {
      line("unroll {} {}_1.0", w, j);
    }
    std::vector<NamedLoop> outer;
    int64_t work = m_.w.tensor.shape()[m_.k_dim] * knobs()["nb"];
    for (const size_t d : m_.other_dims)
      outer.push_back({"d" + std::to_string(d), m_.w.tensor.shape()[d]});
    outer.push_back({j + "_0", knobs()["jn"]});
    for (const NamedLoop& l : outer) work *= l.extent;
    deal_out(*this, w, outer, work);
  }

  // w -> other dims.., column panel, pair along k, column in panel, which of the pair
  void pack_pairs() {
    const std::string& w = m_.w.tensor.name();
    knobs()["kp"] = arith::ceil_div(op_.reduce_axes[0].extent, 2);
    line("layout_split {} {} [$jn, $jv]", w, m_.j_dim);
    const auto moved = [&](size_t d) { return d > m_.j_dim ? d + 1 : d; };
    const size_t k = moved(m_.k_dim);
    line("layout_split {} {} [$kp, 2]", w, k);
    const auto place = [&](size_t d) { return std::to_string(d > k ? d + 1 : d); };
    std::vector<std::string> perm;
    for (const size_t d : m_.other_dims) perm.push_back(place(moved(d)));
    perm.push_back(place(m_.j_dim));
    perm.push_back(std::to_string(k));
    perm.push_back(place(m_.j_dim + 1));
    perm.push_back(std::to_string(k + 1));
    line("layout_reorder {} [{}]", w, comma(perm));
  }

  void tile_output() {
    const std::vector<te::Axis>& axes = m_.chain.final->axes;
    const std::string i = axes[m_.row].var.name();
    const std::string j = axes.back().var.name();
    line("split {} {} [$nb, $v]", out_, j);
    line("split {} {} [$in] parts", out_, i);
    std::vector<NamedLoop> outer;
    int64_t pieces = knobs()["jn"];
    const auto add = [&](size_t d) { outer.push_back({axes[d].var.name(), op_.axes[d].extent}); };
    for (const size_t d : m_.batch) {
      add(d);
      pieces *= op_.axes[d].extent;
    }
    const bool by_column = at_ == kBeforehand && balance(pieces, t_.cores) >= 0.9;
    const NamedLoop columns{j + ".0", knobs()["jn"]}, rows{i + ".0", knobs()["in"]};
    if (by_column) outer.push_back(columns);
    for (const size_t d : m_.shared) add(d);
    outer.push_back(rows);
    if (!by_column) outer.push_back(columns);
    std::vector<std::string> order;
    for (const NamedLoop& l : outer) order.push_back(l.name);
    order.insert(order.end(), {i + ".1", j + ".1", j + ".2"});
    line("reorder {} [{}]", out_, comma(order));
    line("unroll {} {}.1", out_, i);
    line("unroll {} {}.1", out_, j);
    line("vectorize {} {}.2", out_, j);
    line("compute_at {} {} {}", acc_, out_, outer.back().name);
    outer.pop_back();
    if (at_ == kByBlock) outer = {as_one(outer)};
    int64_t work = op_.reduce_axes[0].extent;
    for (const te::Axis& a : op_.axes) work *= a.extent;
    deal_out(*this, out_, outer, work / knobs()["v"]);
  }

  // What is attached inside must know the loop that the cores share out.
  NamedLoop as_one(const std::vector<NamedLoop>& loops) {
    std::vector<std::string> names;
    int64_t extent = 1;
    for (const NamedLoop& l : loops) {
      names.push_back(l.name);
      tile_loop_ += (tile_loop_.empty() ? "" : "@") + l.name;
      extent *= l.extent;
    }
    if (names.size() > 1) line("fuse {} [{}]", out_, comma(names));
    return {tile_loop_, extent};
  }

  // Whole panels, so that nothing is tested inside: what lies beyond the last column is not stored.
  void tile_sum() {
    line("split {} {}_1 [$v]", acc_, j_);
    if (narrow_) {
      line("split {} {} [2]", acc_, k_);
      line("reorder {} [{}.0, {}, {}_1.0, {}_1.1, {}.1]", acc_, k_, i_, j_, j_, k_);
    } else {
      line("reorder {} [{}, {}, {}_1.0, {}_1.1]", acc_, k_, i_, j_, j_);
    }
    line("unroll {} {}", acc_, i_);
    line("unroll {} {}_1.0", acc_, j_);
    if (narrow_) {
      line("tensorize {} {}_1.1 {}.1 dot_bf16bf16", acc_, j_, k_);
    } else {
      line("vectorize {} {}_1.1", acc_, j_);
    }
  }

  const Matmul& m_;
  const target::Target& t_;
  const te::ComputeOp& op_;
  std::string out_, acc_, i_, j_, k_;
  std::string tile_loop_;     // over tiles of rows
  int64_t at_ = kBeforehand;  // see Matmul::rows
  bool narrow_;               // products of bfloat16, two at a time
};

// Constant weights, and pairs along k that lie side by side in the first operand.
bool has_pairs(const Matmul& m) {
  const te::ComputeOp& op = *m.chain.anchor;
  const te::Axis& k = op.reduce_axes[0];
  return m.constant && op.output.dtype() == ir::kF32 && m.x.tensor.dtype() == ir::kF32 &&
         m.w.tensor.dtype() == ir::kF32 && k.extent % 2 == 0 && m.x.indices.back().same_as(k.var) &&
         m.w.indices[m.k_dim].same_as(k.var);
}

}  // namespace

std::optional<Plan> plan_matmul(const schedule::State& initial, const Request& request) {
  const auto m = match(initial.dag());
  if (!m || !may_be_plain(request, m->chain.final->output)) return std::nullopt;
  return Writer(*m, initial, request, false).run();
}

std::optional<Plan> plan_matmul_bfloat16(const schedule::State& initial, const Request& request) {
  if (!takes_bfloat16(request, initial.target())) return std::nullopt;
  const auto m = match(initial.dag());
  if (!m || !has_pairs(*m) || !may_be_plain(request, m->chain.final->output)) return std::nullopt;
  return Writer(*m, initial, request, true).run();
}

}  // namespace tenon::templates
