// SPDX-License-Identifier: Apache-2.0
// Direct convolution of any spatial rank. Activations are stored in blocks of channels (edges.h), weights K/(kb*v) C/ci
// kernel ci kb*v: one linear stream per tile. The register tile is kb vectors of output channels times a few positions
// of the innermost one or two spatial dimensions. Padding of small images: the taps that fall on it are skipped, rows
// by the bounds of the kernel loop, columns by unrolling, which takes a tile of one row. Padding of large ones is
// stored as zeros beside the image where the caller allows it; otherwise the rows that a block of output rows needs
// are copied into a padded buffer that stays in the second-level cache. That buffer has no padding in the dimensions
// before the rows (the depth of a volume): the bounds of their kernel loops follow from the output's position.
#include <numeric>

#include "templates/algorithm_choice.h"
#include "templates/conv_match.h"
#include "templates/families.h"
#include "templates/loops.h"
#include "templates/plan_writer.h"

namespace tenon::templates {

namespace {

constexpr int64_t kMostVectors = 8;               // of channels in a tile
constexpr int64_t kChannels = 1, kPositions = 2;  // what the cores share out

// The loops over output channels: outside the register tile, in it, and the lanes.
struct ChannelLoops {
  std::vector<std::string> outer, inner;
  std::string lanes;
};

class Writer : private PlanWriter {
 public:
  Writer(const Conv& c, const schedule::State& initial, const Request& request, bool narrow)
      : PlanWriter(initial, request),
        c_(c),
        t_(initial.target()),
        op_(*c.chain.anchor),
        narrow_(narrow) {
    out_ = c.chain.final->name();
    acc_ = op_.name() + ".cache";
  }

  std::optional<Plan> run() {
    if (!choose_blocks()) return std::nullopt;
    size_knobs();
    prepare();
    store_input();
    store_outputs();
    store_weights();
    tile_output();
    tile_sum();
    if (narrow_) loop_by_vectors(*this, narrowed());
    return take();
  }

 private:
  bool choose_blocks() {
    const int64_t bytes = op_.output.dtype().bytes();
    const auto bx =
        block_for(request(), c_.x, default_block(c_.x.shape()[1], c_.x.dtype().bytes(), t_));
    const auto by =
        block_for(request(), c_.chain.final->output, default_block(op_.axes[1].extent, bytes, t_));
    if (!bx || !by) return false;
    x_block_ = *bx;
    y_block_ = *by;
    return true;
  }

  int64_t choose_vector() const {
    const int64_t bytes = op_.output.dtype().bytes();
    const int64_t full = t_.lanes(bytes);
    int64_t v = choose_lanes(op_.axes[1].extent, bytes, t_);
    if (y_block_ > 1) v = y_block_ <= full ? y_block_ : std::gcd(y_block_, full);
    if (y_block_ == 1) v = std::min(v, op_.axes[1].extent);
    // A vector stays inside one group.
    return c_.group > 0 ? std::gcd(v, c_.group) : v;
  }

  void size_knobs() {
    const int64_t channels = op_.axes[1].extent;
    const int64_t in = op_.reduce_axes[0].extent;
    const int64_t v = choose_vector();
    const int64_t kvecs = arith::ceil_div(channels, v);
    const int64_t tileable = c_.group > 0 ? c_.group / v : kvecs;
    x_ = op_.axes.back().extent;
    y_ = c_.rank >= 2 ? op_.axes[op_.axes.size() - 2].extent : 1;
    if (c_.pointwise) {
      x_ = 1;
      for (size_t d = 0; d < c_.rank; ++d) x_ *= op_.axes[2 + d].extent;
      y_ = 1;
    }
    skip_ = !narrow_ && skips_padding();
    const bool free = request().borders && !request().fixed.contains(c_.x.name());
    buffered_ = c_.padding && !skip_ && !free && !narrow_;
    if (buffered_) choose_row_blocks();
    skip_outer_ = buffered_ && skips_outer_padding();
    if (buffered_) copy_ = skip_outer_ ? c_.x.name() + ".read" : c_.padding->op->name();
    RegisterTile r = choose_tile(tileable, x_, skip_ ? 1 : y_, t_);
    if (skip_) r.yn = y_;
    // Positions that will be dealt out: as many tiles for each core.
    const int64_t pieces = op_.axes[0].extent * arith::ceil_div(kvecs, r.kb);
    const int64_t even = arith::ceil_div(r.xn, t_.cores) * t_.cores;
    if (!buffered_) along_ = choice("along", along(pieces), 2);
    if (c_.pointwise && along_ == kPositions && x_ >= 8 * even) r.xn = even;
    // Lanes are stored one by one to a plain output, or turned in tiles: those fill whole lines of the cache.
    if (!skip_ && y_block_ == 1 && x_ % v == 0 && v >= 8) r = {1, x_ / v, y_};
    r.kb = choice("kb", r.kb, std::min<int64_t>(tileable, kMostVectors));
    r.xn = choice("xn", r.xn, x_);
    if (!skip_ && y_ > 1) r.yn = choice("yn", r.yn, y_);
    // Vectors of a tile lie in one block, or fill whole blocks.
    per_block_ = y_block_ > v ? y_block_ / v : 1;
    if (r.kb % per_block_ != 0) r.kb = std::gcd(r.kb, per_block_);
    const int64_t block = narrow_ ? pair_block() : x_block_ > 1 ? x_block_ : inner_channels(in);
    const int64_t ci = c_.group > 0 ? std::gcd(in, block) : std::min(in, block);
    split_c_ = ci > 1;
    knobs().insert({{"v", v},
                    {"kvecs", kvecs},
                    {"kb", r.kb},
                    {"ko", arith::ceil_div(kvecs, r.kb)},
                    {"kv", r.kb * v},
                    {"xn", r.xn},
                    {"yn", r.yn},
                    {"ci", ci},
                    {"co", arith::ceil_div(in, ci)}});
    if (narrow_) knobs()["cp"] = ci / 2;
  }

  std::string narrowed() const { return op_.name() + ".h"; }

  // Channels that lie side by side in the copy in bfloat16.
  int64_t pair_block() const {
    int64_t block = 32;
    while (op_.reduce_axes[0].extent % block != 0) block /= 2;
    return block;
  }

  // Channels that the innermost loop walks through although they are not stored together: taps stay outside it, where
  // unrolled ones do not share their loads and run out of registers.
  static int64_t inner_channels(int64_t in) {
    for (int64_t n = 16; n >= 8; --n) {
      if (in % n == 0) return n;
    }
    return 1;
  }

  // The share of taps of the spatial dimensions begin..end-1 that do not fall on padding.
  double used_taps(size_t begin, size_t end) const {
    double used = 1;
    for (size_t d = begin; d < end; ++d) {
      const int64_t out = op_.axes[2 + d].extent;
      const int64_t taps = op_.reduce_axes[1 + d].extent;
      const int64_t lost = c_.padding->before[2 + d] + c_.padding->after[2 + d];
      used *= 1.0 - static_cast<double>(std::min(lost, taps)) / static_cast<double>(out * taps);
    }
    return used;
  }

  // Worth it when more than a few taps in a hundred fall on padding, and the unrolled kernel stays small.
  bool skips_padding() const {
    return c_.padding && used_taps(0, c_.rank) < 0.97 && op_.reduce_axes.back().extent <= 5 &&
           x_ <= 64;
  }

  // Of the dimensions before the rows, where the copy may be stored with the padding of the others.
  bool skips_outer_padding() const {
    constexpr double kWorthIt = 0.02, kMostGrowth = 3;
    return 1 - used_taps(0, cut_) > kWorthIt &&
           in_blocks(with_borders(cut_), x_block_).growth() < kMostGrowth;
  }

  // Blocks of equal numbers of rows that keep all cores busy, whose input stays in the second-level cache, and that copy
  // few rows twice. The last dimension but one is cut (the only one of a sequence), those before it are of one row.
  void choose_row_blocks() {
    cut_ = c_.rank >= 2 ? c_.rank - 2 : 0;
    const int64_t rows = op_.axes[2 + cut_].extent;
    const auto& padded = c_.padding->op->output.shape();
    const double scale = static_cast<double>(padded[2 + cut_]) / static_cast<double>(rows);
    double line = static_cast<double>(c_.x.shape()[1] * c_.x.dtype().bytes());
    if (c_.rank >= 2) line *= static_cast<double>(padded.back());
    for (size_t d = 0; d < cut_; ++d) line *= static_cast<double>(op_.reduce_axes[1 + d].extent);
    int64_t outside = op_.axes[0].extent;
    for (size_t d = 0; d < cut_; ++d) outside *= op_.axes[2 + d].extent;
    const auto span = static_cast<double>(op_.reduce_axes[1 + cut_].extent - 1);
    double best = 1e30;
    for (int64_t blocks = 1; blocks <= rows; ++blocks) {
      if (rows % blocks != 0) continue;
      const double needs = static_cast<double>(rows / blocks) * scale + span;
      const double copied = needs / (static_cast<double>(rows / blocks) * scale);
      double cost = 1.0 / balance(outside * blocks, t_.cores) + 0.02 * copied;
      if (needs * line > static_cast<double>(t_.l2_bytes) / 3) cost += 0.2;
      if (needs * line > 1e6) cost += 1e6;  // more than a local buffer may hold
      if (cost < best) {
        best = cost;
        knobs()["rows"] = blocks;
        if (c_.rank >= 2) y_ = rows / blocks;
        if (c_.rank < 2) x_ = rows / blocks;
      }
    }
  }

  void prepare() {
    if (narrow_) line("variant {} bfloat16", op_.name());
    line("cache_write {} register", op_.name());
    if (skip_outer_) line("cache_read {} [{}] local", c_.x.name(), c_.padding->op->name());
    for (const te::ComputeOp* p : c_.chain.inlined) {
      const bool copied = buffered_ && !skip_outer_ && p == c_.padding->op;
      if (p != c_.scaled && !copied) line("compute_inline {}", p->name());
    }
  }

  // The input with zeros beside it in the spatial dimensions from `first` on.
  layout::Layout with_borders(size_t first) const {
    layout::Layout l(c_.x.shape());
    for (size_t d = 2 + first; d < c_.x.rank(); ++d) {
      const int64_t before = c_.padding->before[d], after = c_.padding->after[d];
      if (before + after > 0) l = l.pad(static_cast<int64_t>(d), before, after);
    }
    return l;
  }

  void store_input() {
    const layout::Layout plain(c_.x.shape());
    if (narrow_) {
      store(narrowed(), in_blocks(layout::Layout(now(narrowed()).output.shape()), pair_block()));
    }
    const bool borders = c_.padding && !skip_ && !buffered_ && !narrow_;
    store(c_.x.name(), in_blocks(borders ? with_borders(0) : plain, x_block_));
    if (!buffered_) return;
    const layout::Layout padded(c_.padding->op->output.shape());
    store(copy_, in_blocks(skip_outer_ ? with_borders(cut_) : padded, x_block_));
  }

  // Positions are one dimension where the kernel is one point.
  layout::Layout in_blocks(layout::Layout l, int64_t block) const {
    if (c_.pointwise && c_.rank > 1) l = l.fuse(2, static_cast<int64_t>(c_.rank));
    return l.compose(blocked(l.storage_shape(), block));
  }

  void store_weights() {
    store_weights_of(c_.w.name());
    if (c_.scaled == nullptr) return;
    store_weights_of(c_.weights.name());
    const std::string lanes = now(c_.w.name()).axes.back().var.name();
    line("split {} {} [$v]\nvectorize {} {}.1", c_.w.name(), lanes, c_.w.name(), lanes);
  }

  void store_weights_of(const std::string& w) {
    line("layout_split {} 0 [$ko, $kv]", w);
    std::vector<std::string> perm{"0", "2"};
    if (narrow_) {
      line("layout_split {} 2 [$co, $cp, 2]", w);
    } else if (split_c_) {
      line("layout_split {} 2 [$co, $ci]", w);
    }
    const size_t first = narrow_ ? 5 : split_c_ ? 4 : 3;
    for (size_t d = 0; d < c_.rank; ++d) perm.push_back(std::to_string(first + d));
    if (split_c_) perm.emplace_back("3");
    perm.emplace_back("1");
    if (narrow_) perm.emplace_back("4");
    line("layout_reorder {} [{}]", w, comma(perm));
  }

  void store_outputs() {
    const std::vector<int64_t>& shape = op_.output.shape();
    std::vector<std::string> done{c_.x.name(), c_.w.name()};
    if (c_.scaled != nullptr) done.push_back(c_.weights.name());
    for (const std::string& s : c_.like_output) {
      const auto it = request().fixed.find(s);
      const auto block =
          it == request().fixed.end() ? std::optional(y_block_) : block_of(it->second, y_block_);
      if (!block) continue;
      store(s, in_blocks(layout::Layout(shape), *block));
      done.push_back(s);
    }
    store_fixed_inputs(done);
    store(acc_, in_blocks(layout::Layout(shape), knobs()["v"]));
  }

  // Names of the position axes of a stage that looks like `like`.
  std::vector<std::string> positions(const te::ComputeOp& like) const {
    std::vector<std::string> names;
    for (size_t d = 2; d < like.axes.size(); ++d) names.push_back(like.axes[d].var.name());
    if (!c_.pointwise) return names;
    std::string joined;
    for (const std::string& s : names) joined += (joined.empty() ? "" : "_") + s;
    return {joined};
  }

  ChannelLoops split_channels() {
    const std::string k = c_.chain.final->axes[1].var.name();
    if (y_block_ == 1) {
      line("split {} {} [$kb, $v]", out_, k);
      return {{k + ".0"}, {k + ".1"}, k + ".2"};
    }
    if (per_block_ == 1) {
      line("split {} {}_0 [$kb]", out_, k);
      return {{k + "_0.0"}, {k + "_0.1"}, k + "_1"};
    }
    knobs()["kb1"] = std::min(knobs()["kb"], per_block_);
    knobs()["kb0"] = knobs()["kb"] / knobs()["kb1"];
    line("split {} {}_0 [$kb0]\nsplit {} {}_1 [$kb1, $v]", out_, k, out_, k);
    return {{k + "_0.0", k + "_1.0"}, {k + "_0.1", k + "_1.1"}, k + "_1.2"};
  }

  void tile_output() {
    const std::string n = c_.chain.final->axes[0].var.name();
    const ChannelLoops k = split_channels();
    std::vector<std::string> outer = positions(*c_.chain.final);
    std::vector<std::string> inner;
    std::string rows;  // the loop over blocks of rows
    if (buffered_) {
      line("split {} {} [$rows] parts", out_, outer[cut_]);
      rows = outer[cut_] + ".0";
      outer[cut_] += ".1";
    }
    const auto split = [&](size_t d, const char* knob) {
      line("split {} {} [${}] parts", out_, outer[d], knob);
      inner.insert(inner.begin(), outer[d] + ".1");
      outer[d] += ".0";
    };
    split(outer.size() - 1, "xn");
    if (outer.size() > 1) split(outer.size() - 2, "yn");
    inner.insert(inner.end(), k.inner.begin(), k.inner.end());
    order_loops(n, k, outer, inner, rows);
  }

  // A core that computes some of the channels reads all of the input, part of which another core has just written; one
  // that computes some of the positions reads all of the weights, which every core keeps.
  int64_t along(int64_t pieces) const {
    const int64_t x = bytes_of(c_.x), w = bytes_of(c_.w);
    const bool local = c_.pointwise && x_ >= 64 * t_.cores && w <= t_.l2_bytes / 2 && w < 3 * x;
    return local || balance(pieces, t_.cores) < 0.9 ? kPositions : kChannels;
  }

  static int64_t bytes_of(const te::Tensor& t) {
    int64_t bytes = t.dtype().bytes();
    for (const int64_t n : t.shape()) bytes *= n;
    return bytes;
  }

  // Loops that run in parallel come first: channels if there are enough of them, else positions.
  void order_loops(const std::string& n, const ChannelLoops& k,
                   const std::vector<std::string>& outer, const std::vector<std::string>& inner,
                   const std::string& rows) {
    std::vector<std::string> parallel{n};
    std::vector<std::string> rest;
    if (buffered_) {
      parallel.insert(parallel.end(), outer.begin(),
                      outer.begin() + static_cast<std::ptrdiff_t>(cut_));
      parallel.push_back(rows);
      rest = k.outer;
      rest.insert(rest.end(), outer.begin() + static_cast<std::ptrdiff_t>(cut_), outer.end());
    } else if (along_ == kChannels) {
      parallel.insert(parallel.end(), k.outer.begin(), k.outer.end());
      rest = outer;
    } else {
      rest = outer;
      rest.insert(rest.begin() + 1, k.outer.begin(), k.outer.end());
    }
    std::vector<std::string> order = parallel;
    order.insert(order.end(), rest.begin(), rest.end());
    order.insert(order.end(), inner.begin(), inner.end());
    order.push_back(k.lanes);
    line("reorder {} [{}]", out_, comma(order));
    for (const std::string& i : inner) line("unroll {} {}", out_, i);
    line("vectorize {} {}", out_, k.lanes);
    line("compute_at {} {} {}", acc_, out_, rest.back());
    std::string at = rest[0];  // near-equal parts: dealt out as they are
    if (parallel.size() > 1) {
      line("fuse {} [{}]", out_, comma(parallel));
      at = parallel[0];
      for (size_t i = 1; i < parallel.size(); ++i) at += "@" + parallel[i];
    }
    line("parallel {} {}", out_, at);
    if (buffered_) copy_rows(at);
  }

  // The padded rows of one block.
  void copy_rows(const std::string& at) {
    line("compute_at {} {} {}", copy_, out_, at);
    if (refused()) return;
    const std::string lanes = now(copy_).axes.back().var.name();
    const int64_t full = t_.lanes(c_.x.dtype().bytes());
    if (x_block_ > 1 && x_block_ <= full) {
      line("vectorize {} {}", copy_, lanes);
    } else if (full > 1) {
      knobs()["cv"] = full;
      line("split {} {} [$cv]\nvectorize {} {}.1", copy_, lanes, copy_, lanes);
    }
  }

  void tile_sum() {
    const std::string c = op_.reduce_axes[0].var.name();
    const std::string k = op_.axes[1].var.name();
    std::vector<std::string> order;
    if (narrow_) {
      line("split {} {} [$cp, 2]", acc_, c);
    } else if (split_c_) {
      line("split {} {} [$ci]", acc_, c);
    }
    order.push_back(split_c_ ? c + ".0" : c);
    order.insert(order.end(), c_.kernel.begin(), c_.kernel.end());
    if (split_c_) order.push_back(c + ".1");
    const auto at = positions(op_);
    order.insert(order.end(), at.begin(), at.end());
    order.push_back(k + "_0");
    order.push_back(k + "_1");
    if (narrow_) order.push_back(c + ".2");
    line("reorder {} [{}]", acc_, comma(order));
    if (skip_) line("unroll {} {}", acc_, c_.kernel.back());
    const size_t tiled = std::min<size_t>(at.size(), 2);
    for (size_t d = at.size() - tiled; d < at.size(); ++d) line("unroll {} {}", acc_, at[d]);
    line("unroll {} {}_0", acc_, k);
    if (narrow_) {
      line("tensorize {} {}_1 {}.2 dot_bf16bf16", acc_, k, c);
    } else {
      line("vectorize {} {}_1", acc_, k);
    }
  }

  const Conv& c_;
  const target::Target& t_;
  const te::ComputeOp& op_;
  std::string out_, acc_, copy_;       // the last: of padded rows
  int64_t x_ = 1, y_ = 1;              // positions that a register tile is cut from
  int64_t x_block_ = 1, y_block_ = 1;  // of channels
  int64_t per_block_ = 1;              // vectors in a block of output channels
  int64_t along_ = kPositions;         // what the cores share out
  size_t cut_ = 0;                     // the spatial dimension that is cut into blocks of rows
  bool split_c_ = false;
  bool skip_ = false;        // taps on padding are left out
  bool buffered_ = false;    // padded rows are copied
  bool skip_outer_ = false;  // taps on padding are left out in the dimensions before the rows
  bool narrow_;              // products of bfloat16, two at a time
};

// One group, constant weights, and pairs of channels.
bool has_pairs(const Conv& c, const te::ComputeDag& dag) {
  const te::ComputeOp& op = *c.chain.anchor;
  for (const te::Input& in : dag.inputs) {
    if (in.tensor.same_as(c.w) && !in.constant) return false;
  }
  return c.group == 0 && op.reduce_axes[0].extent % 2 == 0 && op.output.dtype() == ir::kF32 &&
         c.x.dtype() == ir::kF32 && c.w.dtype() == ir::kF32;
}

}  // namespace

std::optional<Plan> plan_conv(const schedule::State& initial, const Request& request) {
  const auto c = match_conv(initial.dag(), true);
  if (!c || (c->group > 0 && c->group % 4 != 0))
    return std::nullopt;  // groups too small for vectors
  return Writer(*c, initial, request, false).run();
}

std::optional<Plan> plan_conv_bfloat16(const schedule::State& initial, const Request& request) {
  if (!takes_bfloat16(request, initial.target())) return std::nullopt;
  const auto c = match_conv(initial.dag());
  if (!c || !has_pairs(*c, initial.dag())) return std::nullopt;
  return Writer(*c, initial, request, true).run();
}

}  // namespace tenon::templates
