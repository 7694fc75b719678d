// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution of images in their plain order: vectors of columns, a tile of several rows,
// which share what they read. Taps on padding are left out or, with large kernels or narrow images,
// padded rows of one channel at a time are copied into the first-level cache.
#include <algorithm>

#include "templates/depthwise_match.h"
#include "templates/edges.h"
#include "templates/write.h"

namespace tenon::templates {

namespace {

using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;

constexpr int64_t kFewTaps = 9;
constexpr int64_t kCopied = 1, kGuarded = 2;  // what becomes of the padding

class Writer {
 public:
  Writer(const Depthwise& d, int64_t v, space::Builder& b, const Request& request)
      : d_(d), b_(b), request_(request), op_(*d.chain.anchor), v_(v) {
    out_ = b.stage(d.chain.final->name());
  }

  Written run() {
    const bool copies = d_.padding && ask_padding() == kCopied;
    acc_ = b_.cache_write(b_.stage(op_.name()), ir::Scope::kRegister);
    for (const te::ComputeOp* i : d_.chain.inlined) {
      if (!copies || i != d_.padding->op) b_.compute_inline(b_.stage(i->name()));
    }
    store_fixed_inputs(b_, request_);
    const Loop blocks = tile_output(d_.padding && !copies);
    if (copies) {
      const StageRef pad = b_.stage(d_.padding->op->name());
      b_.compute_at(pad, blocks);
      b_.vectorize(b_.split<2>(last_axis(b_, pad), {v_})[1]);
    }
    unroll_sum(b_, acc_, op_, 2, 3);
    return {};
  }

 private:
  // Copied rows are read many times: worth it where windows overlap much, if kernels are large or
  // each vector of columns has padding on both sides.
  int64_t ask_padding() {
    const int64_t columns = op_.axes.back().extent;
    const bool dense = d_.padding->op->output.shape().back() < 2 * columns;
    const bool copies = dense && (taps_of(d_) > kFewTaps || columns == v_);
    return b_.ask({HoleKind::kSwitch, out_.id, 0}, "pad", Domain::range(1, 2),
                  copies ? kCopied : kGuarded);
  }

  // Returns the loop over blocks of tiles of rows.
  Loop tile_output(bool guards) {
    constexpr int64_t kMostRows = 12, kMostTiles = 16;
    const int64_t y = op_.axes[2].extent;
    const Value rows = b_.ask({HoleKind::kFactor, out_.id, 1}, "rows",
                              Domain::divisors(y, kMostRows), divisor(y, guards ? 4 : 8));
    const int64_t all = y / rows;
    const Value tiles = b_.ask({HoleKind::kFactor, out_.id, 2}, "tiles",
                               Domain::divisors(all, kMostTiles), divisor(all, 4));
    const Loop n = b_.axis(out_, 0), k = b_.axis(out_, 1);
    const auto [blocks, in_block, in_tile] = b_.split<3>(b_.axis(out_, 2), {tiles, rows});
    const auto [columns, lanes] = b_.split<2>(b_.axis(out_, 3), {v_});
    b_.reorder({n, k, blocks, in_block, columns, in_tile, lanes});
    b_.unroll(in_tile);
    b_.vectorize(lanes);
    b_.compute_at(acc_, columns);
    b_.parallel(b_.fuse({n, k}));
    return blocks;
  }

  const Depthwise& d_;
  space::Builder& b_;
  const Request& request_;
  const te::ComputeOp& op_;
  int64_t v_;
  StageRef out_, acc_;
};

}  // namespace

std::optional<Written> write_by_columns(const Depthwise& d, space::Builder& b,
                                        const Request& request) {
  const te::ComputeOp& op = *d.chain.anchor;
  const int64_t x = op.axes[3].extent;
  const int64_t v = choose_lanes(x, op.output.dtype().bytes(), b.target().cpu());
  if (v < 4 || x % v != 0 || taps_of(d) > kMaxGuardedTaps) return std::nullopt;
  return Writer(d, v, b, request).run();
}

}  // namespace tenon::templates
