// SPDX-License-Identifier: Apache-2.0
// Transposed convolution. An output row y takes only the taps r with (y + pad - r) divisible by the
// stride; the accumulators are stored by parity (y / stride, y % stride), the parity and tap loops
// are unrolled, and so every multiplication by a structural zero folds away.
#include <algorithm>

#include "ir/visit.h"
#include "templates/anchor.h"
#include "templates/edges.h"
#include "templates/template.h"
#include "templates/write.h"

namespace tenon::templates {

namespace {

using space::Loop;
using space::StageRef;

// The window of x that columns reach beyond it on either side: stored as zeros, so that only rows
// need guards.
struct Reach {
  int64_t before, after;
};

Reach reach_of(const te::ComputeOp& op, const te::Access& x, size_t dim) {
  const arith::Interval at = arith::interval_of(x.indices[dim], op.ranges());
  return {std::max<int64_t>(0, -at.lo), std::max<int64_t>(0, at.hi + 1 - x.tensor.shape()[dim])};
}

struct Transposed {
  Chain chain;
  te::Tensor x, w;
  std::vector<int64_t> strides;  // per spatial dimension
  Reach columns;
  std::vector<std::string> like_output;
};

// The divisor of x's index in a spatial dimension.
int64_t stride_of(const ir::Expr& index) {
  int64_t stride = 1;
  ir::visit(index, [&](const ir::Expr& e) {
    const auto* b = e.as<ir::Binary>();
    if (b != nullptr && b->op == ir::BinaryOp::kFloorDiv) stride = ir::const_int(b->b).value_or(1);
  });
  return stride;
}

// n k y x = sum over c r s of select(.., x[n, c, (y + pad - r) / stride, ..], 0) * w[c, k, r, s]
std::optional<Transposed> match(const te::ComputeDag& dag) {
  auto chain = find_chain(dag);
  if (!chain) return std::nullopt;
  const te::ComputeOp& op = *chain->anchor;
  const auto parts = find_contraction(dag, op);
  if (!parts || op.axes.size() != 4 || op.reduce_axes.size() != 3 || parts->x.indices.size() != 4)
    return std::nullopt;
  if (parts->w.indices.size() != 4 || plain_axis(parts->w.indices[0], op) != size_t{4} ||
      plain_axis(parts->w.indices[1], op) != size_t{1}) {
    return std::nullopt;
  }
  if (dag.producer(parts->x.tensor) != nullptr || dag.producer(parts->w.tensor) != nullptr)
    return std::nullopt;
  Transposed t{*chain, parts->x.tensor,           parts->w.tensor,
               {},     reach_of(op, parts->x, 3), stored_like_output(dag, *chain)};
  for (size_t d = 2; d < 4; ++d) t.strides.push_back(stride_of(parts->x.indices[d]));
  return t;
}

// How the tensors are stored, and by what the vectors run.
struct Form {
  int64_t x_block = 1, y_block = 1;
  bool by_columns = false;  // else by output channels
  int64_t v = 1;
};

// Images that are plain on both sides, where lanes would be stored one by one to planes that drive
// each other out of the first-level cache. Columns that fill vectors less well may still be better
// then: a lane that misses the cache costs as much as many multiplications.
bool prefers_columns(const Transposed& m, const Request& request, const target::Cpu& t) {
  constexpr int64_t kAny = 2;     // what an image that is stored in any way is not asked to have
  constexpr double kMissed = 10;  // instructions in the time that a lane takes which misses
  const te::ComputeOp& op = *m.chain.anchor;
  if (block_for(request, m.x, kAny) != 1 || block_for(request, m.chain.final->output, kAny) != 1)
    return false;
  const int64_t bytes = op.output.dtype().bytes(), lanes = t.lanes(bytes);
  const int64_t planes = rows_in_first_cache(op.axes[2].extent * op.axes[3].extent * bytes, t);
  if (planes == 0 || planes >= std::min(lanes, op.axes[1].extent)) return false;
  double taps = 1;
  for (const te::Axis& a : op.reduce_axes) taps *= static_cast<double>(a.extent);
  for (const int64_t s : m.strides) taps /= static_cast<double>(s);
  const int64_t columns = arith::ceil_div(op.axes[3].extent, m.strides[1]);
  const double wasted =
      static_cast<double>(arith::ceil_div(columns, lanes) * lanes) / static_cast<double>(columns);
  return taps * (wasted - 1) < kMissed * static_cast<double>(lanes);
}

std::optional<Form> choose_form(const Transposed& m, const Request& request, const target::Cpu& t) {
  const te::ComputeOp& op = *m.chain.anchor;
  const int64_t bytes = op.output.dtype().bytes(), lanes = t.lanes(bytes);
  const int64_t channels = op.axes[1].extent;
  const int64_t own = choose_lanes(channels, bytes, t);
  const bool narrow =
      2 * channels <= lanes && arith::ceil_div(op.axes[3].extent, m.strides[1]) >= lanes;
  const bool columns = narrow || prefers_columns(m, request, t);
  const auto x_block =
      block_for(request, m.x, columns ? 1 : default_block(m.x.shape()[1], m.x.dtype().bytes(), t));
  const auto y_block = block_for(request, m.chain.final->output, columns ? 1 : own);
  if (!x_block || !y_block || *y_block > lanes) return std::nullopt;
  Form f{*x_block, *y_block, columns && *x_block == 1 && *y_block == 1, lanes};
  if (!f.by_columns) f.v = f.y_block == 1 ? std::min(channels, own) : f.y_block;
  return f.by_columns || f.v > 1 ? std::optional(f) : std::nullopt;
}

class Writer {
 public:
  Writer(const Transposed& m, const Form& form, space::Builder& b, const Request& request)
      : m_(m), f_(form), b_(b), request_(request), op_(*m.chain.anchor) {
    out_ = b.stage(m.chain.final->name());
    columns_ = arith::ceil_div(op_.axes[3].extent, m.strides[1]);
  }

  Written run() {
    acc_ = b_.cache_write(b_.stage(op_.name()), ir::Scope::kRegister);
    for (const te::ComputeOp* i : m_.chain.inlined) b_.compute_inline(b_.stage(i->name()));
    layout::Layout l(m_.x.shape());
    const bool free = request_.borders && !request_.fixed.contains(m_.x.name());
    if (free && m_.columns.before + m_.columns.after > 0)
      l = l.pad(3, m_.columns.before, m_.columns.after);
    b_.store(b_.stage(m_.x.name()), l.compose(blocked(l.storage_shape(), f_.x_block)));
    store_fixed_inputs(b_, request_, {m_.x.name()});
    f_.by_columns ? by_columns() : by_channels();
    return {};
  }

 private:
  // y x  =>  y/sy sy x/sx sx
  void store_by_parity() {
    b_.layout_split(acc_, 3, {columns_, m_.strides[1]});
    b_.layout_split(acc_, 2, {arith::ceil_div(op_.axes[2].extent, m_.strides[0]), m_.strides[0]});
  }

  // Vectors of output channels, a register tile of columns of one parity.
  void by_channels() {
    const int64_t in = op_.reduce_axes[0].extent;
    const int64_t kvecs = arith::ceil_div(op_.axes[1].extent, f_.v);
    const RegisterTile r = choose_tile(kvecs, columns_, 1, b_.target().cpu());
    const int64_t ko = arith::ceil_div(kvecs, r.kb), ci = std::min(in, f_.x_block);
    const StageRef w = b_.stage(m_.w.name());
    b_.layout_split(w, 1, {ko, r.kb * f_.v});
    b_.layout_split(w, 0, {arith::ceil_div(in, ci), ci});
    b_.layout_reorder(w, {2, 4, 5, 0, 1, 3});
    for (const std::string& s : m_.like_output) {
      if (s == m_.chain.final->name() || !request_.fixed.contains(s))
        b_.store(b_.stage(s), blocked(op_.output.shape(), f_.y_block == 1 ? 1 : f_.v));
    }
    b_.store(acc_, blocked(op_.output.shape(), f_.v));
    store_by_parity();
    tile_channels(r, ko);
    sum_channels(ci, rolls_rows(r.kb * arith::ceil_div(columns_, r.xn)));
  }

  // Parities and taps of rows stay loops, with a test for each tap, where unrolling them too would
  // make more code than a program may have. `tile`: vectors in registers.
  bool rolls_rows(int64_t tile) const {
    const target::Limits& most = b_.target().limits;
    for (size_t d = 1; d < 3; ++d) tile *= op_.reduce_axes[d].extent;
    return tile > most.unrolled_loops ||
           tile * m_.strides[0] * m_.strides[1] > most.unrolled_program;
  }

  void tile_channels(const RegisterTile& r, int64_t ko) {
    const bool plain = f_.y_block == 1;  // lanes are stored one by one
    const Loop n = b_.axis(out_, 0), k = b_.axis(out_, 1);
    const std::vector<Loop> channels = plain ? b_.split(k, {r.kb, f_.v}) : b_.split(k, {r.kb});
    const Loop outer = channels[0], inner = channels[1];
    const Loop lanes = plain ? channels[2] : b_.axis(out_, 4);
    const auto [rows, row_parity] = b_.split<2>(b_.axis(out_, 2), {m_.strides[0]});
    const auto [all, parity] = b_.split<2>(b_.axis(out_, 3), {m_.strides[1]});
    const auto [tiles, columns] = b_.parts(all, r.xn);
    b_.reorder({n, outer, rows, row_parity, parity, tiles, columns, inner, lanes});
    for (const Loop& l : {parity, columns, inner}) b_.unroll(l);
    if (!rolls_rows(r.kb * arith::ceil_div(columns_, r.xn))) b_.unroll(row_parity);
    b_.vectorize(lanes);
    b_.compute_at(acc_, tiles);
    if (balance(op_.axes[0].extent * ko, b_.target().cpu().cores) >= 0.9) {
      b_.parallel(b_.fuse({n, outer}));
    } else {
      b_.reorder({n, rows, outer});
      b_.parallel(rows);
    }
  }

  // n k_0 y_0 y_1 x_0 x_1 k_1 | c r s
  void sum_channels(int64_t ci, bool rolled) {
    const auto at = [&](size_t d) { return b_.axis(acc_, d); };
    const Loop columns = at(4), vectors = at(1), lanes = at(6), row_tap = at(8), tap = at(9);
    const auto [outer, inner] = b_.split<2>(at(7), {ci});
    b_.reorder({row_tap, tap, outer, inner, columns, vectors, lanes});
    for (const Loop& l : {tap, columns, vectors}) b_.unroll(l);
    if (!rolled) b_.unroll(row_tap);
    b_.vectorize(lanes);
  }

  // Too few output channels for a vector: vectors of columns of one parity. The tile is some
  // channels, all parities and some vectors; sums are of whole vectors, so that they stay in
  // registers.
  void by_columns() {
    const int64_t all_vectors = arith::ceil_div(columns_, f_.v);
    b_.layout_reorder(b_.stage(m_.w.name()), {2, 0, 3, 1});
    store_by_parity();
    b_.layout_reorder(acc_, {0, 1, 2, 3, 5, 4});
    b_.layout_split(acc_, 5, {all_vectors, f_.v});
    const auto [kb, vectors] = columns_tile(all_vectors);
    const Loop n = b_.axis(out_, 0);
    const auto [ko, k] = b_.split<2>(b_.axis(out_, 1), {kb});
    const auto [rows, row_parity] = b_.split<2>(b_.axis(out_, 2), {m_.strides[0]});
    const auto [all, parity] = b_.split<2>(b_.axis(out_, 3), {m_.strides[1]});
    const auto [tiles, columns, lanes] = b_.split<3>(all, {vectors, f_.v});
    b_.reorder({n, rows, ko, row_parity, tiles, k, columns, parity, lanes});
    const bool rolled = rolls_rows(kb * vectors * m_.strides[1]);
    for (const Loop& l : {k, columns, parity}) b_.unroll(l);
    if (!rolled) b_.unroll(row_parity);
    b_.vectorize(lanes);
    b_.compute_at(acc_, tiles);
    b_.parallel(rows);
    sum_columns(rolled);
  }

  // Channels and vectors of a tile: many of both, so that what is read is used often.
  std::pair<int64_t, int64_t> columns_tile(int64_t all_vectors) const {
    constexpr int64_t kOperands = 8;
    const int64_t most =
        std::max<int64_t>(1, (b_.target().cpu().vector_registers - kOperands) / m_.strides[1]);
    std::pair<int64_t, int64_t> best{1, 1};
    double least = 1e30;
    for (int64_t vectors = 1; vectors <= std::min(most, all_vectors); ++vectors) {
      const int64_t kb = divisor(op_.axes[1].extent, std::max<int64_t>(1, most / vectors));
      const double waste = static_cast<double>(arith::ceil_div(all_vectors, vectors) * vectors);
      const double cost =
          waste * (1.0 / static_cast<double>(kb) + 1.0 / static_cast<double>(vectors) +
                   4.0 / static_cast<double>(kb * vectors * m_.strides[1]));
      if (cost >= least) continue;
      least = cost;
      best = {kb, vectors};
    }
    return best;
  }

  // n k y_0 y_1 x_1 x_0_0 x_0_1 | c r s
  void sum_columns(bool rolled) {
    const auto at = [&](size_t d) { return b_.axis(acc_, d); };
    const Loop k = at(1), parity = at(4), columns = at(5), lanes = at(6), c = at(7),
               row_tap = at(8), tap = at(9);
    b_.reorder({row_tap, c, tap, k, parity, columns, lanes});
    for (const Loop& l : {tap, k, parity, columns}) b_.unroll(l);
    if (!rolled) b_.unroll(row_tap);
    b_.vectorize(lanes);
  }

  const Transposed& m_;
  const Form& f_;
  space::Builder& b_;
  const Request& request_;
  const te::ComputeOp& op_;
  StageRef out_, acc_;
  int64_t columns_ = 1;  // of one parity
};

}  // namespace

std::optional<Written> write_conv_transpose(space::Builder& b, const Request& request) {
  const auto m = match(b.dag());
  if (!m) return std::nullopt;
  const auto form = choose_form(*m, request, b.target().cpu());
  if (!form) return std::nullopt;
  return Writer(*m, *form, b, request).run();
}

}  // namespace tenon::templates
