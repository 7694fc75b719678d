// SPDX-License-Identifier: Apache-2.0
// Direct convolution whose result is stored in tiles of positions, channels innermost: N Y/h X/w
// K/o h w o and the like (Xu et al., "ALT"). The nest runs over the storage: tiles are dealt out to
// the cores, the register tile is a few positions of one tile times kb vectors of channels. Where
// there is padding, what a tile reads is copied into a padded buffer first. Images are read as they
// lie.
#include <algorithm>
#include <numeric>

#include "templates/conv_match.h"
#include "templates/conv_steps.h"
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

constexpr int64_t kMostVectors = 8;       // of channels in a register tile
constexpr int64_t kMostBuffer = 1000000;  // bytes of a padded tile

// A dimension of the storage: a part of a logical one.
struct Part {
  size_t dim;
  bool inner;  // the last part of its dimension
  int64_t extent;
};

// Nothing unless every dimension is whole or cut once.
std::optional<std::vector<Part>> parts_of(const layout::Layout& l) {
  std::vector<Part> parts;
  for (size_t d = 0; d < l.logical_shape().size(); ++d)
    parts.push_back({d, true, l.logical_shape()[d]});
  std::vector<int> cuts(parts.size(), 0);
  for (const layout::LayoutStep& s : l.steps()) {
    if (s.op == layout::LayoutOp::kReorder) {
      std::vector<Part> moved;
      for (const int64_t from : s.args) moved.push_back(parts[static_cast<size_t>(from)]);
      parts = std::move(moved);
      continue;
    }
    const auto at = static_cast<size_t>(s.dim);
    if (s.op != layout::LayoutOp::kSplit || s.args.size() != 2 || ++cuts[parts[at].dim] > 1)
      return std::nullopt;
    const size_t dim = parts[at].dim;
    parts[at] = {dim, false, s.args[0]};
    parts.insert(parts.begin() + s.dim + 1, {dim, true, s.args[1]});
  }
  return parts;
}

// The loops over the storage, by what they are.
struct Loops {
  std::vector<Loop> tiles;      // everything outside
  std::vector<Loop> channels;   // vectors of channels outside the register tile
  std::vector<Loop> outer;      // positions outside
  std::vector<Loop> inner;      // in it: positions, then vectors
  std::optional<Loop> vectors;  // of channels, in it
  Loop lanes;
};

class Writer {
 public:
  Writer(const Conv& c, space::Builder& b, const Request& request)
      : c_(c), b_(b), request_(request), t_(b.target().cpu()), op_(*c.chain.anchor) {
    out_ = b.stage(c.chain.final->name());
  }

  std::optional<Written> run() {
    const auto it = request_.fixed.find(c_.chain.final->name());
    const auto parts = it == request_.fixed.end() ? std::nullopt : parts_of(it->second);
    if (!parts || parts->back().dim != 1 || parts->back().extent < 2) return std::nullopt;
    parts_ = *parts;
    if (!size_tile()) return std::nullopt;
    prepare();
    store_tensors(it->second);
    tile_output();
    tile_sum(b_, acc_, c_.rank, tile_, c_.rank, false);
    return Written{};
  }

 private:
  int64_t extent_of(size_t dim, bool inner) const {
    for (const Part& p : parts_) {
      if (p.dim == dim && p.inner == inner) return p.extent;
    }
    return 1;
  }

  // False if there is no vector of channels.
  bool size_tile() {
    const int64_t block = parts_.back().extent;
    const int64_t full = t_.lanes(op_.output.dtype().bytes());
    const int64_t v = block <= full ? block : std::gcd(block, full);
    if (v < 2) return false;
    per_block_ = block / v;
    const size_t last = op_.axes.size() - 1;
    const int64_t y = c_.rank >= 2 ? extent_of(last - 1, true) : 1;
    const int64_t tileable = per_block_ > 1 ? per_block_ : extent_of(1, false);
    by_rule_ = choose_tile(tileable, extent_of(last, true), y, t_);
    kb_ = b_.ask({HoleKind::kFactor, out_.id, 0}, "kb", Domain::divisors(tileable, kMostVectors),
                 by_rule_.kb);
    const int64_t in = op_.reduce_axes[0].extent;
    x_block_ = channel_block();
    tile_ = {.kvecs = arith::ceil_div(op_.axes[1].extent, v),
             .kb = kb_,
             .v = v,
             .in = in,
             .ci = std::gcd(in, x_block_ > 1 ? x_block_ : 16)};
    return true;
  }

  // Channels of the image that lie side by side.
  int64_t channel_block() const {
    const auto it = request_.fixed.find(c_.x.name());
    const auto parts = it == request_.fixed.end() ? std::nullopt : parts_of(it->second);
    return parts && parts->back().dim == 1 ? parts->back().extent : 1;
  }

  // All that one tile of the result reads.
  int64_t buffer_bytes() const {
    int64_t bytes = c_.x.shape()[1] * c_.x.dtype().bytes();
    for (size_t d = 2; d < op_.axes.size(); ++d) {
      const int64_t padded = c_.padding->op->output.shape()[d];
      const int64_t step = arith::ceil_div(padded, op_.axes[d].extent);
      bytes *= std::min(padded, extent_of(d, true) * step + op_.reduce_axes[d - 1].extent);
    }
    return bytes;
  }

  void prepare() {
    const bool copies = c_.padding && buffer_bytes() <= kMostBuffer;
    acc_ = b_.cache_write(b_.stage(op_.name()), ir::Scope::kRegister);
    for (const te::ComputeOp* p : c_.chain.inlined) {
      if (!copies || p != c_.padding->op) b_.compute_inline(b_.stage(p->name()));
    }
    if (copies) copy_ = b_.stage(c_.padding->op->name());
  }

  void store_tensors(const layout::Layout& result) {
    store_fixed_inputs(b_, request_);
    if (copy_) b_.store(*copy_, blocked(c_.padding->op->output.shape(), x_block_));
    pack_weights(b_, b_.stage(c_.w.name()), c_.rank, tile_);
    b_.store(out_, result);
    b_.store(acc_, blocked(op_.output.shape(), tile_.v));
  }

  Loops split_loops() {
    Loops l;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Part& p = parts_[i];
      const Loop loop = b_.axis(out_, i);
      if (i + 1 == parts_.size()) {
        split_lanes(loop, l);
      } else if (p.dim == 1) {
        split_blocks(loop, l);
      } else if (p.inner && p.dim >= 2 && p.dim + 2 >= op_.axes.size()) {
        split_positions(loop, p, l);
      } else {
        l.tiles.push_back(loop);
      }
    }
    if (l.vectors) l.inner.push_back(*l.vectors);
    return l;
  }

  void split_positions(Loop loop, const Part& p, Loops& l) {
    const bool columns = p.dim + 1 == op_.axes.size();
    const Value number = b_.ask({HoleKind::kParts, out_.id, columns ? 0 : 1}, columns ? "xn" : "yn",
                                Domain::range(1, p.extent), columns ? by_rule_.xn : by_rule_.yn);
    const auto [outer, inner] = b_.parts(loop, number);
    l.outer.push_back(outer);
    l.inner.push_back(inner);
  }

  void split_lanes(Loop loop, Loops& l) {
    l.lanes = loop;
    if (per_block_ == 1) return;
    const auto [outer, vectors, lanes] = b_.split<3>(loop, {kb_, tile_.v});
    l.channels.push_back(outer);
    l.vectors = vectors;
    l.lanes = lanes;
  }

  void split_blocks(Loop loop, Loops& l) {
    if (per_block_ > 1) {
      l.channels.insert(l.channels.begin(), loop);
      return;
    }
    const auto [outer, vectors] = b_.split<2>(loop, {kb_});
    l.channels.push_back(outer);
    l.vectors = vectors;
  }

  void tile_output() {
    const Loops l = split_loops();
    std::vector<Loop> order;
    for (const auto* some : {&l.tiles, &l.channels, &l.outer, &l.inner})
      order.insert(order.end(), some->begin(), some->end());
    order.push_back(l.lanes);
    b_.reorder(order);
    for (const Loop& i : l.inner) b_.unroll(i);
    b_.vectorize(l.lanes);
    b_.compute_at(acc_, l.outer.back());
    deal_out_tiles(l);
  }

  // Tiles in parallel, and blocks of channels too if the tiles are few; a buffer is filled once for
  // all channels.
  void deal_out_tiles(const Loops& l) {
    if (l.tiles.empty()) return;
    std::vector<Loop> parallel = l.tiles;
    int64_t pieces = 1;
    for (const Loop& tile : l.tiles) pieces *= b_.extent(tile);
    const bool few = balance(pieces, t_.cores) < 0.9;
    if (few && !copy_ && !l.channels.empty()) parallel.push_back(l.channels[0]);
    const Loop at = b_.fuse(parallel);
    b_.parallel(at);
    if (copy_) copy_tile(at);
  }

  void copy_tile(Loop at) {
    const int64_t full = t_.lanes(c_.x.dtype().bytes());
    b_.compute_at(*copy_, at);
    const Loop lanes = last_axis(b_, *copy_);
    if (x_block_ > 1 && x_block_ <= full) {
      b_.vectorize(lanes);
    } else if (x_block_ > full && x_block_ % full == 0) {
      b_.vectorize(b_.split<2>(lanes, {full})[1]);
    }
  }

  const Conv& c_;
  space::Builder& b_;
  const Request& request_;
  const target::Cpu& t_;
  const te::ComputeOp& op_;
  StageRef out_, acc_;
  std::optional<StageRef> copy_;  // of what a tile reads, padded
  std::vector<Part> parts_;       // of the result's storage
  RegisterTile by_rule_;
  Value kb_ = 1;
  ChannelTile tile_;
  int64_t per_block_ = 1;  // vectors in a block of channels
  int64_t x_block_ = 1;
};

}  // namespace

std::optional<Written> write_tiled(space::Builder& b, const Request& request) {
  const auto c = match_conv(b.dag());
  if (!c || c->group > 0) return std::nullopt;
  return Writer(*c, b, request).run();
}

}  // namespace tenon::templates
