// SPDX-License-Identifier: Apache-2.0
// Transposed convolution. An output row y takes only the taps r with (y + pad - r) divisible by the stride; the
// accumulators are stored by parity (y / stride, y % stride), the parity and tap loops are unrolled, and so every
// multiplication by a structural zero folds away.
#include <numeric>

#include "ir/visit.h"
#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/plan_writer.h"

namespace tenon::templates {

namespace {

// The window of x that columns reach beyond it on either side: stored as zeros, so that only rows need guards.
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

class Writer : private PlanWriter {
 public:
  Writer(const Transposed& m, const schedule::State& initial, const Request& request)
      : PlanWriter(initial, request), m_(m), t_(initial.target()), op_(*m.chain.anchor) {
    out_ = m.chain.final->name();
    acc_ = op_.name() + ".cache";
  }

  std::optional<Plan> run() {
    const int64_t lanes = t_.lanes(op_.output.dtype().bytes());
    const int64_t channels = op_.axes[1].extent;
    columns_ = arith::ceil_div(op_.axes[3].extent, m_.strides[1]);
    knobs() = {{"sy", m_.strides[0]},
               {"sx", m_.strides[1]},
               {"xo", columns_},
               {"yo", arith::ceil_div(op_.axes[2].extent, m_.strides[0])}};
    const bool narrow = 2 * channels <= lanes && columns_ >= lanes;
    const auto x_block = block_for(
        request(), m_.x, narrow ? 1 : default_block(m_.x.shape()[1], m_.x.dtype().bytes(), t_));
    const auto y_block =
        block_for(request(), m_.chain.final->output,
                  narrow ? 1 : choose_lanes(channels, op_.output.dtype().bytes(), t_));
    if (!x_block || !y_block || *y_block > lanes) return std::nullopt;
    line("cache_write {} register", op_.name());
    for (const te::ComputeOp* i : m_.chain.inlined) line("compute_inline {}", i->name());
    layout::Layout l(m_.x.shape());
    const bool free = request().borders && !request().fixed.contains(m_.x.name());
    if (free && m_.columns.before + m_.columns.after > 0)
      l = l.pad(3, m_.columns.before, m_.columns.after);
    store(m_.x.name(), l.compose(blocked(l.storage_shape(), *x_block)));
    store_fixed_inputs({m_.x.name()});
    if (narrow && *y_block == 1 && *x_block == 1) {
      by_columns(lanes);
    } else {
      plain_ = *y_block == 1;
      const int64_t own =
          std::min(channels, choose_lanes(channels, op_.output.dtype().bytes(), t_));
      by_channels(*x_block, plain_ ? own : *y_block);
    }
    return take();
  }

 private:
  std::string name(size_t d) const { return m_.chain.final->axes[d].var.name(); }

  // Vectors of output channels, a register tile of columns of one parity.
  void by_channels(int64_t x_block, int64_t v) {
    const int64_t channels = op_.axes[1].extent;
    const int64_t in = op_.reduce_axes[0].extent;
    const int64_t kvecs = arith::ceil_div(channels, v);
    const RegisterTile r = choose_tile(kvecs, columns_, 1, t_);
    const int64_t ci = std::min(in, x_block);
    knobs().insert({{"v", v},
                    {"kvecs", kvecs},
                    {"kb", r.kb},
                    {"ko", arith::ceil_div(kvecs, r.kb)},
                    {"kv", r.kb * v},
                    {"ci", ci},
                    {"co", arith::ceil_div(in, ci)},
                    {"xn", r.xn}});
    const std::string& w = m_.w.name();
    line("layout_split {} 1 [$ko, $kv]\nlayout_split {} 0 [$co, $ci]", w, w);
    line("layout_reorder {} [2, 4, 5, 0, 1, 3]", w);
    for (const std::string& s : m_.like_output) {
      if (s == out_ || !request().fixed.contains(s))
        store(s, blocked(op_.output.shape(), plain_ ? 1 : v));
    }
    store(acc_, blocked(op_.output.shape(), v));
    line("layout_split {} 3 [$xo, $sx]\nlayout_split {} 2 [$yo, $sy]", acc_, acc_);
    tile_channels();
    line("split {} c [$ci]", acc_);
    line("reorder {} [r, s, c.0, c.1, x_0, k_0, k_1]", acc_);
    line("unroll {} r\nunroll {} s\nunroll {} x_0", acc_, acc_, acc_);
    line("unroll {} k_0\nvectorize {} k_1", acc_, acc_);
  }

  void tile_channels() {
    const std::string n = name(0), k = name(1), y = name(2), x = name(3);
    // Vectors outside the tile and in it, lanes; those of a plain output are stored one by one.
    const std::string outer = plain_ ? k + ".0" : k + "_0.0";
    const std::string inner = plain_ ? k + ".1" : k + "_0.1";
    const std::string lanes = plain_ ? k + ".2" : k + "_1";
    if (plain_) line("split {} {} [$kb, $v]", out_, k);
    if (!plain_) line("split {} {}_0 [$kb]", out_, k);
    line("split {} {} [$sy]", out_, y);
    line("split {} {} [$sx]\nsplit {} {}.0 [$xn] parts", out_, x, out_, x);
    line("reorder {} [{}, {}, {}.0, {}.1, {}.1, {}.0.0, {}.0.1, {}, {}]", out_, n, outer, y, y, x,
         x, x, inner, lanes);
    line("unroll {} {}.1\nunroll {} {}.1\nunroll {} {}.0.1", out_, y, out_, x, out_, x);
    line("unroll {} {}\nvectorize {} {}", out_, inner, out_, lanes);
    line("compute_at {} {} {}.0.0", acc_, out_, x);
    if (balance(op_.axes[0].extent * knobs()["ko"], t_.cores) >= 0.9) {
      line("fuse {} [{}, {}]\nparallel {} {}@{}", out_, n, outer, out_, n, outer);
    } else {
      line("reorder {} [{}, {}.0, {}]\nparallel {} {}.0", out_, n, y, outer, out_, y);
    }
  }

  // Too few output channels for a vector: vectors of columns of one parity, all channels in the tile.
  void by_columns(int64_t v) {
    const std::string n = name(0), k = name(1), y = name(2), x = name(3);
    knobs()["v"] = v;
    line("layout_reorder {} [2, 0, 3, 1]", m_.w.name());
    line("layout_split {} 3 [$xo, $sx]\nlayout_split {} 2 [$yo, $sy]", acc_, acc_);
    line("layout_reorder {} [0, 1, 2, 3, 5, 4]", acc_);
    line("split {} {} [$sy]\nsplit {} {} [$sx]\nsplit {} {}.0 [$v]", out_, y, out_, x, out_, x);
    line("reorder {} [{}, {}.0, {}.1, {}, {}.1, {}.0.0, {}.0.1]", out_, n, y, y, k, x, x, x);
    line("unroll {} {}.1\nunroll {} {}\nunroll {} {}.1", out_, y, out_, k, out_, x);
    line("unroll {} {}.0.0\nvectorize {} {}.0.1", out_, x, out_, x);
    line("compute_at {} {} {}.1", acc_, out_, y);
    line("parallel {} {}.0", out_, y);
    line("split {} x_0 [$v]", acc_);
    line("reorder {} [r, c, s, k, x_1, x_0.0, x_0.1]", acc_);
    line("unroll {} r\nunroll {} s\nunroll {} k\nunroll {} x_1", acc_, acc_, acc_, acc_);
    line("unroll {} x_0.0\nvectorize {} x_0.1", acc_, acc_);
  }

  const Transposed& m_;
  const target::Target& t_;
  const te::ComputeOp& op_;
  std::string out_, acc_;
  int64_t columns_ = 1;  // of one parity
  bool plain_ = false;   // the output is stored in its plain order
};

}  // namespace

std::optional<Plan> plan_conv_transpose(const schedule::State& initial, const Request& request) {
  const auto m = match(initial.dag());
  if (!m) return std::nullopt;
  return Writer(*m, initial, request).run();
}

}  // namespace tenon::templates
