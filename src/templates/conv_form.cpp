// SPDX-License-Identifier: Apache-2.0
#include "templates/conv_form.h"

#include <algorithm>
#include <numeric>

#include "templates/edges.h"

namespace tenon::templates {

namespace {

constexpr int64_t kMostVectors = 8;  // of channels in a tile

int64_t bytes_of(const te::Tensor& t) {
  int64_t bytes = t.dtype().bytes();
  for (const int64_t n : t.shape()) bytes *= n;
  return bytes;
}

// Channels that the innermost loop walks through although they are not stored together: taps stay
// outside it, where unrolled ones do not share their loads and run out of registers.
int64_t inner_channels(int64_t in) {
  for (int64_t n = 16; n >= 8; --n) {
    if (in % n == 0) return n;
  }
  return 1;
}

// Channels that lie side by side in the copy in bfloat16.
int64_t pair_block(int64_t in) {
  int64_t block = 32;
  while (in % block != 0) block /= 2;
  return block;
}

class FormChooser {
 public:
  FormChooser(const Conv& c, const Request& request, const target::Cpu& t, const Products& products)
      : c_(c), request_(request), t_(t), op_(*c.chain.anchor) {
    f_.products = products;
  }

  std::optional<ConvForm> run() {
    if (!choose_blocks()) return std::nullopt;
    choose_vector();
    if (f_.v < 2 || f_.ci % f_.products.group() != 0) return std::nullopt;
    choose_positions();
    choose_padding();
    choose_register_tile();
    return f_;
  }

 private:
  bool choose_blocks() {
    const int64_t bytes = op_.output.dtype().bytes();
    const auto bx =
        block_for(request_, c_.x, default_block(c_.x.shape()[1], block_bytes(c_.x.dtype()), t_));
    const auto by =
        block_for(request_, c_.chain.final->output, default_block(op_.axes[1].extent, bytes, t_));
    if (!bx || !by) return false;
    f_.x_block = *bx;
    f_.y_block = *by;
    // A group lies together in the input itself.
    return !f_.products.dot || f_.products.narrow || f_.x_block % f_.products.group() == 0;
  }

  void choose_vector() {
    const int64_t bytes = op_.output.dtype().bytes(), full = t_.lanes(bytes);
    const int64_t channels = op_.axes[1].extent, in = op_.reduce_axes[0].extent;
    int64_t v = choose_lanes(channels, bytes, t_);
    if (f_.y_block > 1) v = f_.y_block <= full ? f_.y_block : std::gcd(f_.y_block, full);
    if (f_.y_block == 1) v = std::min(v, channels);
    // A vector stays inside one group.
    f_.v = c_.group > 0 ? std::gcd(v, c_.group) : v;
    f_.kvecs = arith::ceil_div(channels, f_.v);
    f_.per_block = f_.y_block > f_.v ? f_.y_block / f_.v : 1;
    const int64_t block = f_.products.narrow ? pair_block(in)
                          : f_.x_block > 1   ? f_.x_block
                                             : inner_channels(in);
    f_.ci = c_.group > 0 ? std::gcd(in, block) : std::min(in, block);
  }

  void choose_positions() {
    f_.x = op_.axes.back().extent;
    f_.y = c_.rank >= 2 ? op_.axes[op_.axes.size() - 2].extent : 1;
    if (!c_.pointwise) return;
    f_.x = f_.y = 1;
    for (size_t d = 0; d < c_.rank; ++d) f_.x *= op_.axes[2 + d].extent;
  }

  void choose_padding() {
    if (!c_.padding || f_.products.narrow) return;
    f_.skip = c_.padding->zero && skips_padding();
    const bool free = c_.padding->zero && request_.borders && !request_.fixed.contains(c_.x.name());
    f_.buffered = !f_.skip && !free;
    if (!f_.buffered) return;
    choose_row_blocks();
    f_.skip_outer = c_.padding->zero && skips_outer_padding();
  }

  double used(size_t begin, size_t end) const {
    return used_taps(op_, c_.window, *c_.padding, begin, end);
  }

  // Worth it when more than a few taps in a hundred fall on padding, and the unrolled kernel stays
  // small; for wide images when that is a good part of them, as with taps that lie far apart.
  bool skips_padding() const {
    constexpr double kFew = 0.97, kMany = 0.8;
    constexpr int64_t kMostTaps = 9, kWide = 64;
    const int64_t taps = op_.reduce_axes.back().extent;
    if (taps > kMostTaps || taps * f_.x > kMostTaps * kWide) return false;
    return used(0, c_.rank) < (f_.x <= kWide ? kFew : kMany);
  }

  // Of the dimensions before the rows, where the copy may be stored with the padding of the others.
  bool skips_outer_padding() const {
    constexpr double kWorthIt = 0.02, kMostGrowth = 3;
    return 1 - used(0, f_.cut) > kWorthIt &&
           in_blocks(c_, with_borders(c_, f_.cut), f_.x_block).growth() < kMostGrowth;
  }

  // Bytes of the input that one row of the cut dimension reads.
  double bytes_of_row() const {
    double line = static_cast<double>(c_.x.shape()[1] * c_.x.dtype().bytes());
    if (c_.rank >= 2) line *= static_cast<double>(c_.padding->op->output.shape().back());
    for (size_t d = 0; d < f_.cut; ++d) line *= static_cast<double>(op_.reduce_axes[1 + d].extent);
    return line;
  }

  // Blocks of equal numbers of rows that keep all cores busy, whose input stays in the second-level
  // cache, and that copy few rows twice. The last dimension but one is cut (the only one of a
  // sequence), those before it are of one row.
  void choose_row_blocks() {
    f_.cut = c_.rank >= 2 ? c_.rank - 2 : 0;
    const int64_t rows = op_.axes[2 + f_.cut].extent;
    const int64_t padded = c_.padding->op->output.shape()[2 + f_.cut];
    const double scale = static_cast<double>(padded) / static_cast<double>(rows);
    const double line = bytes_of_row();
    int64_t outside = op_.axes[0].extent;
    for (size_t d = 0; d < f_.cut; ++d) outside *= op_.axes[2 + d].extent;
    const auto span = static_cast<double>(op_.reduce_axes[1 + f_.cut].extent - 1);
    double best = 1e30;
    for (int64_t blocks = 1; blocks <= rows; ++blocks) {
      if (rows % blocks != 0) continue;
      const double needs = static_cast<double>(rows / blocks) * scale + span;
      const double copied = needs / (static_cast<double>(rows / blocks) * scale);
      double cost = 1.0 / balance(outside * blocks, t_.cores) + 0.02 * copied;
      if (needs * line > static_cast<double>(t_.l2_bytes) / 3) cost += 0.2;
      if (needs * line > 1e6) cost += 1e6;  // more than a local buffer may hold
      if (cost >= best) continue;
      best = cost;
      f_.rows = blocks;
    }
    (c_.rank >= 2 ? f_.y : f_.x) = rows / f_.rows;
  }

  void choose_register_tile() {
    const int64_t tileable = c_.group > 0 ? c_.group / f_.v : f_.kvecs;
    RegisterTile& r = f_.tile;
    r = choose_tile(tileable, f_.x, f_.skip ? 1 : f_.y, t_);
    if (f_.skip) r.yn = f_.y;
    f_.along = along(op_.axes[0].extent * arith::ceil_div(f_.kvecs, r.kb));
    // Positions that will be dealt out: as many tiles for each core.
    const int64_t even = arith::ceil_div(r.xn, t_.cores) * t_.cores;
    f_.even_xn = c_.pointwise && f_.x >= 8 * even ? even : r.xn;
    // Lanes are stored one by one to a plain output, or turned in tiles: those fill whole lines of
    // the cache.
    if (!f_.skip && f_.y_block == 1 && f_.x % f_.v == 0 && f_.v >= 8) {
      // A vector that is not full is stored on its own.
      const bool full = op_.axes[1].extent % f_.v == 0;
      const int64_t most = full ? (t_.vector_registers - 1) / (f_.v + 1) : 1;
      r = {divisor(tileable, std::max<int64_t>(1, most)), f_.x / f_.v, f_.y};
      f_.even_xn = r.xn;
    }
    f_.most_vectors = std::max(r.kb, std::min(tileable, kMostVectors));
  }

  // A plain result has a page or more for each channel, so that a tile of positions writes a line of every page. Going by
  // blocks of channels reads the input again for each block, which pays where the result is larger.
  bool scatters() const {
    constexpr int64_t kPage = 4096, kReadsForAWrite = 4;
    const int64_t y = bytes_of(c_.chain.final->output);
    const int64_t blocks = arith::ceil_div(op_.axes[1].extent, f_.v);
    return c_.pointwise && f_.y_block == 1 && y / op_.axes[1].extent >= kPage &&
           bytes_of(c_.x) * blocks <= kReadsForAWrite * y;
  }

  // A core that computes some of the channels reads all of the input, part of which another core
  // has just written; one that computes some of the positions reads all of the weights, which every
  // core keeps.
  int64_t along(int64_t pieces) const {
    const int64_t x = bytes_of(c_.x), w = bytes_of(c_.w);
    if (scatters() && balance(pieces, t_.cores) >= 0.9) return kChannels;
    const bool local = c_.pointwise && f_.x >= 64 * t_.cores && w <= t_.l2_bytes / 2 && w < 3 * x;
    return local || balance(pieces, t_.cores) < 0.9 ? kPositions : kChannels;
  }

  const Conv& c_;
  const Request& request_;
  const target::Cpu& t_;
  const te::ComputeOp& op_;
  ConvForm f_;
};

}  // namespace

std::optional<ConvForm> choose_form(const Conv& c, const Request& request, const target::Cpu& t,
                                    const Products& products) {
  return FormChooser(c, request, t, products).run();
}

layout::Layout in_blocks(const Conv& c, layout::Layout l, int64_t block) {
  if (c.pointwise && c.rank > 1) l = l.fuse(2, static_cast<int64_t>(c.rank));
  return l.compose(blocked(l.storage_shape(), block));
}

layout::Layout with_borders(const Conv& c, size_t first) {
  layout::Layout l(c.x.shape());
  for (size_t d = 2 + first; d < c.x.rank(); ++d) {
    const int64_t before = c.padding->before[d], after = c.padding->after[d];
    if (before + after > 0) l = l.pad(static_cast<int64_t>(d), before, after);
  }
  return l;
}

}  // namespace tenon::templates
