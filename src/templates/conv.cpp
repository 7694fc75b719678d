// SPDX-License-Identifier: Apache-2.0
// Direct convolution of any spatial rank. Activations are stored in blocks of channels (edges.h),
// weights K/(kb*v) C/ci kernel ci kb*v: one linear stream per tile. The register tile is kb vectors
// of output channels times a few positions of the innermost one or two spatial dimensions. Padding
// of small images: the taps that fall on it are skipped, rows by the bounds of the kernel loop,
// columns by unrolling, which takes a tile of one row. Padding of large ones is stored as zeros
// beside the image where the caller allows it; otherwise the rows that a block of output rows needs
// are copied into a padded buffer that stays in the second-level cache. That buffer has no padding
// in the dimensions before the rows (the depth of a volume): the bounds of their kernel loops
// follow from the output's position.
#include <algorithm>
#include <numeric>

#include "templates/algorithm_choice.h"
#include "templates/conv_form.h"
#include "templates/conv_steps.h"
#include "templates/edges.h"
#include "templates/loops.h"
#include "templates/template.h"
#include "templates/write.h"

namespace tenon::templates {

namespace {

using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;

// The loops over output channels: outside the register tile, in it, and the lanes.
struct ChannelLoops {
  std::vector<Loop> outer, inner;
  Loop lanes;
};

// The loops over positions: blocks of rows, outside the register tile, and in it.
struct PositionLoops {
  std::optional<Loop> rows;
  std::vector<Loop> outer, inner;
};

class Writer {
 public:
  Writer(const Conv& c, const ConvForm& form, space::Builder& b, const Request& request)
      : c_(c), f_(form), b_(b), request_(request), op_(*c.chain.anchor) {
    positions_ = c.pointwise ? 1 : c.rank;
    out_ = b.stage(c.chain.final->name());
    x_ = b.stage(c.x.name());
  }

  Written run() {
    kb_ = ask_vectors();
    tile_ = {f_.kvecs, kb_, f_.v, op_.reduce_axes[0].extent, f_.ci, f_.products.dot};
    prepare();
    store_input();
    store_outputs();
    store_weights();
    tile_output();
    fetch_weights(tile_sum(b_, acc_, positions_, tile_, c_.rank, f_.skip));
    if (f_.products.narrow) loop_by_vectors(b_, half_);
    return {};
  }

 private:
  // Vectors of a tile lie in one block, or fill whole blocks.
  Value ask_vectors() {
    std::vector<int64_t> fit;
    for (int64_t n = 1; n <= f_.most_vectors; ++n) {
      if (n % f_.per_block == 0 || f_.per_block % n == 0) fit.push_back(n);
    }
    const int64_t by_rule = f_.tile.kb;
    const int64_t rule = by_rule % f_.per_block == 0 ? by_rule : std::gcd(by_rule, f_.per_block);
    return b_.ask({HoleKind::kFactor, out_.id, 0}, "kb", Domain::of(fit), rule);
  }

  void prepare() {
    const StageRef anchor = b_.stage(op_.name());
    if (f_.products.narrow) {
      b_.variant(anchor, schedule::Algorithm::kBfloat16);
      half_ = made(b_, op_.name() + ".h");
    }
    acc_ = b_.cache_write(anchor, ir::Scope::kRegister);
    if (f_.buffered) copy_ = b_.stage(c_.padding->op->name());
    if (f_.skip_outer) copy_ = b_.cache_read(x_, {copy_}, ir::Scope::kLocal);
    for (const te::ComputeOp* p : c_.chain.inlined) {
      const bool copied = f_.buffered && !f_.skip_outer && p == c_.padding->op;
      if (p != c_.scaled && !copied) b_.compute_inline(b_.stage(p->name()));
    }
  }

  void store_input() {
    if (f_.products.narrow && !b_.refused())
      b_.store(half_, in_blocks(c_, layout::Layout(b_.now(half_).output.shape()), f_.ci));
    const bool borders = c_.padding && !f_.skip && !f_.buffered && !f_.products.narrow;
    const layout::Layout plain(c_.x.shape());
    b_.store(x_, in_blocks(c_, borders ? with_borders(c_, 0) : plain, f_.x_block));
    if (!f_.buffered) return;
    const layout::Layout padded(c_.padding->op->output.shape());
    b_.store(copy_, in_blocks(c_, f_.skip_outer ? with_borders(c_, f_.cut) : padded, f_.x_block));
  }

  void store_outputs() {
    const layout::Layout plain(op_.output.shape());
    const auto in = [&](int64_t block) { return in_blocks(c_, plain, block); };
    std::vector<std::string> done = store_alike(b_, request_, c_.like_output, f_.y_block, in);
    done.insert(done.end(), {c_.x.name(), c_.w.name(), c_.weights.name()});
    store_fixed_inputs(b_, request_, done);
    b_.store(acc_, in(f_.v));
  }

  void store_weights() {
    const StageRef w = b_.stage(c_.w.name());
    pack_weights(b_, w, c_.rank, tile_);
    if (c_.scaled == nullptr) return;
    pack_weights(b_, b_.stage(c_.weights.name()), c_.rank, tile_);
    b_.vectorize(b_.split<2>(last_axis(b_, w), {f_.v})[1]);
  }

  // Weights are read from memory once, and products of several are done sooner than they arrive: those that a part of the
  // first-level cache holds are on the way.
  void fetch_weights(Loop around) {
    constexpr int64_t kParts = 4;
    const target::Cpu& t = b_.target().cpu();
    if (!f_.products.dot || f_.products.narrow || b_.refused()) return;
    const te::Tensor& w = c_.w;
    if (w.get()->elements() * w.dtype().bytes() <= t.l1d_bytes) return;
    const int64_t step = kb_ * f_.v * f_.products.group() * w.dtype().bytes();
    b_.prefetch(around, b_.stage(w.name()), std::max<int64_t>(1, t.l1d_bytes / kParts / step));
  }

  ChannelLoops split_channels() {
    const Loop k = b_.axis(out_, 1), in_block = b_.axis(out_, 2 + positions_);
    if (f_.y_block == 1) {
      const auto [outer, inner, lanes] = b_.split<3>(k, {kb_, f_.v});
      return {{outer}, {inner}, lanes};
    }
    if (f_.per_block == 1) {
      const auto [outer, inner] = b_.split<2>(k, {kb_});
      return {{outer}, {inner}, in_block};
    }
    const int64_t within = std::min<int64_t>(kb_, f_.per_block);
    const auto [outer, inner] = b_.split<2>(k, {kb_ / within});
    const auto [outer1, inner1, lanes] = b_.split<3>(in_block, {within, f_.v});
    return {{outer, outer1}, {inner, inner1}, lanes};
  }

  void tile_output() {
    const ChannelLoops k = split_channels();
    int64_t along = kPositions;
    if (!f_.buffered)
      along = b_.ask({HoleKind::kSwitch, out_.id, 0}, "along", Domain::range(1, 2), f_.along);
    const PositionLoops at = split_positions(along == kPositions ? f_.even_xn : f_.tile.xn);
    order_loops(k, at, along);
  }

  PositionLoops split_positions(int64_t xn_by_rule) {
    PositionLoops at;
    for (size_t d = 0; d < positions_; ++d) at.outer.push_back(b_.axis(out_, 2 + d));
    if (f_.buffered) {
      const auto [rows, rest] = b_.parts(at.outer[f_.cut], f_.rows);
      at.rows = rows;
      at.outer[f_.cut] = rest;
    }
    const auto split = [&](size_t d, Value number) {
      const auto [outer, inner] = b_.parts(at.outer[d], number);
      at.outer[d] = outer;
      at.inner.insert(at.inner.begin(), inner);
    };
    int64_t vectors = kb_;
    const auto ask = [&](int32_t axis, const char* name, int64_t extent, int64_t rule) {
      const Value n = b_.ask({HoleKind::kParts, out_.id, axis}, name,
                             parts_in_registers(extent, vectors, rule, b_.target().cpu()), rule);
      vectors *= arith::ceil_div(extent, n.value);
      return n;
    };
    split(positions_ - 1, ask(0, "xn", f_.x, xn_by_rule));
    if (positions_ > 1)
      split(positions_ - 2, f_.skip ? Value(f_.y) : ask(1, "yn", f_.y, f_.tile.yn));
    return at;
  }

  // Loops that run in parallel come first: channels if there are enough of them, else positions.
  void order_loops(const ChannelLoops& k, const PositionLoops& at, int64_t along) {
    std::vector<Loop> parallel{b_.axis(out_, 0)};
    std::vector<Loop> rest;
    if (f_.buffered) {
      const auto cut = at.outer.begin() + static_cast<std::ptrdiff_t>(f_.cut);
      parallel.insert(parallel.end(), at.outer.begin(), cut);
      parallel.push_back(*at.rows);
      rest = k.outer;
      rest.insert(rest.end(), cut, at.outer.end());
    } else if (along == kChannels) {
      parallel.insert(parallel.end(), k.outer.begin(), k.outer.end());
      rest = at.outer;
    } else {
      rest = at.outer;
      rest.insert(rest.begin() + 1, k.outer.begin(), k.outer.end());
    }
    std::vector<Loop> inner = at.inner;
    inner.insert(inner.end(), k.inner.begin(), k.inner.end());
    std::vector<Loop> order = parallel;
    for (const auto* some : {&rest, &inner}) order.insert(order.end(), some->begin(), some->end());
    order.push_back(k.lanes);
    b_.reorder(order);
    for (const Loop& i : inner) b_.unroll(i);
    b_.vectorize(k.lanes);
    b_.compute_at(acc_, rest.back());
    // Near-equal parts are dealt out as they are.
    const Loop dealt = parallel.size() > 1 ? b_.fuse(parallel) : rest[0];
    b_.parallel(dealt);
    if (f_.buffered) copy_rows(dealt);
  }

  // The padded rows of one block.
  void copy_rows(Loop at) {
    b_.compute_at(copy_, at);
    const Loop lanes = last_axis(b_, copy_);
    const int64_t full = b_.target().cpu().lanes(c_.x.dtype().bytes());
    if (f_.x_block > 1 && f_.x_block <= full) {
      b_.vectorize(lanes);
    } else if (full > 1) {
      b_.vectorize(b_.split<2>(lanes, {full})[1]);
    }
  }

  const Conv& c_;
  const ConvForm& f_;
  space::Builder& b_;
  const Request& request_;
  const te::ComputeOp& op_;
  size_t positions_ = 1;  // dimensions of the storage
  StageRef out_, acc_, x_;
  StageRef half_;  // the input in bfloat16
  StageRef copy_;  // of padded rows
  Value kb_ = 1;
  ChannelTile tile_;
};

bool is_constant(const te::ComputeDag& dag, const te::Tensor& t) {
  return std::any_of(dag.inputs.begin(), dag.inputs.end(),
                     [&](const te::Input& in) { return in.constant && in.tensor.same_as(t); });
}

// One group, constant weights, and pairs of channels.
bool has_pairs(const Conv& c, const te::ComputeDag& dag) {
  const te::ComputeOp& op = *c.chain.anchor;
  return is_constant(dag, c.w) && c.group == 0 && op.reduce_axes[0].extent % 2 == 0 &&
         op.output.dtype() == ir::kF32 && c.x.dtype() == ir::kF32 && c.w.dtype() == ir::kF32;
}

std::optional<Written> write(const Conv& c, space::Builder& b, const Request& request,
                             const Products& products) {
  const auto form = choose_form(c, request, b.target().cpu(), products);
  if (!form) return std::nullopt;
  return Writer(c, *form, b, request).run();
}

}  // namespace

std::optional<Written> write_conv(space::Builder& b, const Request& request) {
  const auto c = match_conv(b.dag(), true);
  const bool depthwise = c && c->group == 1 && c->chain.anchor->reduce_axes[0].extent == 1;
  if (!c || depthwise) return std::nullopt;
  if (const auto written = write_conv_columns(*c, b, request)) return written;
  if (c->group > 0 && c->group % 4 != 0) return std::nullopt;  // groups too small for vectors
  return write(*c, b, request, {});
}

// Groups of four channels that lie together, with constant weights.
std::optional<Written> write_conv_integer(space::Builder& b, const Request& request) {
  const auto c = match_conv(b.dag());
  if (!c || (c->group > 0 && c->group % 4 != 0) || !is_constant(b.dag(), c->w)) return std::nullopt;
  const te::ComputeOp& op = *c->chain.anchor;
  const auto dot = dot_of_bytes(c->x.dtype(), c->w.dtype());
  if (!dot || op.reduce_axes[0].extent % schedule::row_of(*dot).group != 0) return std::nullopt;
  return write(*c, b, request, {false, dot});
}

std::optional<Written> write_conv_bfloat16(space::Builder& b, const Request& request) {
  if (!takes_bfloat16(request, b.target().cpu())) return std::nullopt;
  const auto c = match_conv(b.dag());
  if (!c || !has_pairs(*c, b.dag())) return std::nullopt;
  return write(*c, b, request, {true, schedule::Dot::kBf16Bf16});
}

}  // namespace tenon::templates
