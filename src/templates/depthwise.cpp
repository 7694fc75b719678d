// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution of any spatial rank: channels in vectors, a tile of a few rows and columns
// in registers, the kernel unrolled so that its weights stay in registers and each input vector is
// loaded once for all outputs that need it. Padding is stored beside the image where the caller
// allows it. Otherwise taps on it are left out, which takes code for the tiles at each side and
// corner; with large kernels, whose code would grow, a few padded rows of one vector of channels at
// a time are copied into the first-level cache. Images that are plain on both sides stay so
// (depthwise_plain.cpp).
#include <algorithm>
#include <numeric>

#include "templates/conv_form.h"
#include "templates/depthwise_match.h"
#include "templates/edges.h"
#include "templates/template.h"
#include "templates/write.h"

namespace tenon::templates {

namespace {

using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;

class Writer {
 public:
  Writer(const Depthwise& d, int64_t block, int64_t v, space::Builder& b, const Request& request)
      : d_(d),
        b_(b),
        request_(request),
        t_(b.target().cpu()),
        op_(*d.chain.anchor),
        block_(block),
        v_(v),
        vecs_(arith::ceil_div(op_.axes[1].extent, v)) {
    out_ = b.stage(d.chain.final->name());
    const bool zero = d.padding && d.padding->zero;
    const bool free = zero && request.borders && !request.fixed.contains(d.x.name());
    guarded_ = zero && !free && taps_of(d) <= kMaxGuardedTaps && d.rank <= 2;
    buffered_ = d.padding && !free && !guarded_;
  }

  Written run() {
    prepare();
    store_all();
    tile_output();
    const size_t tiled = std::min<size_t>(d_.rank, 2);
    unroll_sum(b_, acc_, op_, op_.axes.size() - tiled, 2 + d_.rank);
    return {};
  }

 private:
  void prepare() {
    acc_ = b_.cache_write(b_.stage(op_.name()), ir::Scope::kRegister);
    for (const te::ComputeOp* i : d_.chain.inlined) {
      if (!buffered_ || i != d_.padding->op) b_.compute_inline(b_.stage(i->name()));
    }
  }

  void store_all() {
    layout::Layout stored(d_.x.shape());
    for (size_t d = 2; d_.padding && !buffered_ && !guarded_ && d < d_.x.rank(); ++d) {
      if (d_.padding->before[d] + d_.padding->after[d] > 0)
        stored = stored.pad(static_cast<int64_t>(d), d_.padding->before[d], d_.padding->after[d]);
    }
    b_.store(b_.stage(d_.x.name()), stored.compose(blocked(stored.storage_shape(), block_)));
    std::vector<std::string> done{d_.x.name(), d_.w.name()};
    for (const std::string& s : stored_like_output(b_.dag(), d_.chain)) {
      if (request_.fixed.contains(s) && s != d_.chain.final->name()) continue;
      b_.store(b_.stage(s), blocked(op_.output.shape(), block_));
      done.push_back(s);
    }
    store_fixed_inputs(b_, request_, done);
    b_.store(acc_, blocked(op_.output.shape(), v_));
    const StageRef w = b_.stage(d_.w.name());
    b_.layout_split(w, 0, {vecs_, v_});
    std::vector<int64_t> order{0};
    for (size_t i = 2; i <= d_.w.rank(); ++i) order.push_back(static_cast<int64_t>(i));
    order.push_back(1);
    b_.layout_reorder(w, order);
  }

  // Rows and columns of the tile that fit beside the kernel's weights, as numbers of parts.
  RegisterTile patch() const {
    const int64_t x = op_.axes.back().extent;
    const int64_t y = d_.rank >= 2 ? op_.axes[op_.axes.size() - 2].extent : 1;
    const int64_t held = std::min<int64_t>(taps_of(d_), t_.vector_registers / 2);
    const int64_t room = std::max<int64_t>(1, t_.vector_registers - held - 2);
    const int64_t columns = std::min<int64_t>({x, 4, room});
    int64_t rows = std::min<int64_t>({y, room / columns, 3});
    if (rows == 3 && y % 3 != 0 && y % 2 == 0) rows = 2;
    return {1, arith::ceil_div(x, columns), arith::ceil_div(y, rows)};
  }

  void tile_output() {
    Loop vectors = b_.axis(out_, 1), lanes = b_.axis(out_, 2 + d_.rank);
    std::vector<Loop> outer, inner;  // positions
    for (size_t d = 0; d < d_.rank; ++d) outer.push_back(b_.axis(out_, 2 + d));
    if (v_ < block_) {
      const auto [in_block, within] = b_.split<2>(lanes, {v_});
      std::vector<Loop> order{vectors, in_block};
      order.insert(order.end(), outer.begin(), outer.end());
      order.push_back(within);
      b_.reorder(order);
      vectors = b_.fuse({vectors, in_block});
      lanes = within;
    }
    const int64_t yn = split_positions(outer, inner);
    std::vector<Loop> order{b_.axis(out_, 0), vectors};
    for (const auto* some : {&outer, &inner}) order.insert(order.end(), some->begin(), some->end());
    order.push_back(lanes);
    b_.reorder(order);
    for (const Loop& i : inner) b_.unroll(i);
    b_.vectorize(lanes);
    b_.compute_at(acc_, outer.back());
    const Loop rows = share_out(vectors, outer, yn);
    if (buffered_) copy_rows(rows);
  }

  // The number of parts of the rows.
  int64_t split_positions(std::vector<Loop>& outer, std::vector<Loop>& inner) {
    const RegisterTile by_rule = patch();
    const auto split = [&](size_t d, int32_t axis, const char* name, int64_t rule) {
      const Domain domain = Domain::range(1, b_.extent(outer[d]));
      const Value n = b_.ask({HoleKind::kParts, out_.id, axis}, name, domain, rule);
      const auto [outside, inside] = b_.parts(outer[d], n);
      outer[d] = outside;
      inner.insert(inner.begin(), inside);
      return n.value;
    };
    split(d_.rank - 1, 0, "xn", by_rule.xn);
    return d_.rank >= 2 ? split(d_.rank - 2, 1, "yn", by_rule.yn) : 1;
  }

  // Rows of equal length can be dealt out with the channels; unequal ones would ask for their
  // length in every tile. Returns the loop over blocks of rows.
  Loop share_out(Loop vectors, const std::vector<Loop>& outer, int64_t yn) {
    const Loop n = b_.axis(out_, 0);
    const int64_t height = op_.axes[op_.axes.size() - (d_.rank >= 2 ? 2 : 1)].extent;
    // Rows where there are enough, as its neighbours in a network do: a core then reads what it
    // wrote itself.
    const bool by_rows = d_.rank == 2 && balance(yn, t_.cores) >= 0.85 && height >= 8 * t_.cores;
    const bool by_vectors = balance(op_.axes[0].extent * vecs_, t_.cores) >= 0.97;
    if (d_.rank != 2 || (by_vectors && !by_rows)) {
      const Loop all = b_.fuse({n, vectors});
      b_.parallel(all);
      return d_.rank < 2 ? all : outer[d_.rank - 2];
    }
    if (!by_rows && height % yn == 0) {
      const Loop all = b_.fuse({n, vectors, outer[0]});
      b_.parallel(all);
      return all;
    }
    b_.reorder({n, outer[0], vectors});
    b_.parallel(outer[0]);
    return vectors;
  }

  void copy_rows(Loop at) {
    const StageRef pad = b_.stage(d_.padding->op->name());
    b_.store(pad, blocked(d_.padding->op->output.shape(), v_));
    b_.compute_at(pad, at);
    b_.vectorize(last_axis(b_, pad));
  }

  const Depthwise& d_;
  space::Builder& b_;
  const Request& request_;
  const target::Cpu& t_;
  const te::ComputeOp& op_;
  int64_t block_, v_, vecs_;
  StageRef out_, acc_;
  bool guarded_ = false;   // taps on padding are left out
  bool buffered_ = false;  // padded rows are copied
};

// Images that are plain on both sides: vectors of columns, unless blocks of channels are so much
// faster that it pays to bring the images there and back. That is so for neighbours that have to be
// picked apart, for narrow images, and for kernels that need a copy only where columns are vectors.
std::optional<Written> write_plain_images(const Depthwise& d, space::Builder& b,
                                          const Request& request) {
  constexpr int64_t kNarrow = 12, kFewTaps = 9;
  if (d.rank == 2) {
    if (const auto written = write_by_columns(d, b, request)) return written;
  }
  const auto c = match_conv(b.dag());
  if (!c) return std::nullopt;
  const te::Axis& columns = c->chain.anchor->axes.back();
  const int64_t stride = arith::to_linear(c->window.indices.back()).coefficient(columns.var.node());
  const bool copies_anyway = taps_of(d) <= kFewTaps || taps_of(d) > kMaxGuardedTaps;
  const bool picks = stride > 1 && taps_of(d) <= kMaxGuardedTaps;
  if (picks || columns.extent < kNarrow || !copies_anyway) return std::nullopt;
  return write_conv_columns(*c, b, request);
}

}  // namespace

std::optional<Written> write_depthwise(space::Builder& b, const Request& request) {
  const auto d = match_depthwise(b.dag());
  if (!d) return std::nullopt;
  const te::ComputeOp& op = *d->chain.anchor;
  const int64_t bytes = op.output.dtype().bytes(), full = b.target().cpu().lanes(bytes);
  const int64_t prefer = choose_lanes(op.axes[1].extent, bytes, b.target().cpu());
  const auto block = block_for(request, d->chain.final->output, prefer);
  const auto x_block = block_for(request, d->x, block.value_or(prefer));
  if (block == 1 && x_block == 1) return write_plain_images(*d, b, request);
  if (!block || !x_block || *x_block != *block) return std::nullopt;
  const int64_t v = *block <= full ? *block : std::gcd(*block, full);
  if (v < 2) return std::nullopt;
  return Writer(*d, *block, v, b, request).run();
}

}  // namespace tenon::templates
