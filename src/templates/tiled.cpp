// SPDX-License-Identifier: Apache-2.0
// Direct convolution whose result is stored in tiles of positions, channels innermost: N Y/h X/w K/o h w o and the like
// (Xu et al., "ALT"). The nest runs over the storage: tiles are dealt out to the cores, the register tile is a few
// positions of one tile times kb vectors of channels. Where there is padding, what a tile reads is copied into a padded
// buffer first. Images are read as they lie.
#include <algorithm>
#include <numeric>

#include "templates/conv_match.h"
#include "templates/families.h"
#include "templates/plan_writer.h"

namespace tenon::templates {

namespace {

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

class Writer : private PlanWriter {
 public:
  Writer(const Conv& c, const schedule::State& initial, const Request& request)
      : PlanWriter(initial, request), c_(c), t_(initial.target()), op_(*c.chain.anchor) {
    out_ = c.chain.final->name();
    acc_ = op_.name() + ".cache";
  }

  std::optional<Plan> run() {
    const auto it = request().fixed.find(out_);
    const auto parts = it == request().fixed.end() ? std::nullopt : parts_of(it->second);
    if (!parts || parts->back().dim != 1 || parts->back().extent < 2) return std::nullopt;
    parts_ = *parts;
    size_knobs();
    if (knobs()["v"] < 2) return std::nullopt;
    prepare();
    store_tensors(it->second);
    if (refused()) return take();
    tile_output();
    tile_sum();
    return take();
  }

 private:
  int64_t extent_of(size_t dim, bool inner) const {
    for (const Part& p : parts_) {
      if (p.dim == dim && p.inner == inner) return p.extent;
    }
    return 1;
  }

  void size_knobs() {
    const int64_t block = parts_.back().extent;
    const int64_t full = t_.lanes(op_.output.dtype().bytes());
    const int64_t v = block <= full ? block : std::gcd(block, full);
    per_block_ = block / v;
    const int64_t kvecs = arith::ceil_div(op_.axes[1].extent, v);
    const size_t last = op_.axes.size() - 1;
    const int64_t x = extent_of(last, true);
    const int64_t y = c_.rank >= 2 ? extent_of(last - 1, true) : 1;
    const int64_t tileable = per_block_ > 1 ? per_block_ : extent_of(1, false);
    RegisterTile r = choose_tile(tileable, x, y, t_);
    r.kb = choice("kb", r.kb, std::min(tileable, kMostVectors));
    r.kb = std::gcd(r.kb, tileable);
    r.xn = choice("xn", r.xn, x);
    if (y > 1) r.yn = choice("yn", r.yn, y);
    const int64_t in = op_.reduce_axes[0].extent;
    x_block_ = channel_block();
    const int64_t ci = std::gcd(in, x_block_ > 1 ? x_block_ : 16);
    split_c_ = ci > 1;
    knobs().insert({{"v", v},
                    {"kb", r.kb},
                    {"ko", arith::ceil_div(kvecs, r.kb)},
                    {"kv", r.kb * v},
                    {"xn", r.xn},
                    {"yn", r.yn},
                    {"ci", ci},
                    {"co", in / ci}});
  }

  // Channels of the image that lie side by side.
  int64_t channel_block() const {
    const auto it = request().fixed.find(c_.x.name());
    const auto parts = it == request().fixed.end() ? std::nullopt : parts_of(it->second);
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
    buffered_ = c_.padding && buffer_bytes() <= kMostBuffer;
    line("cache_write {} register", op_.name());
    for (const te::ComputeOp* p : c_.chain.inlined) {
      if (!buffered_ || p != c_.padding->op) line("compute_inline {}", p->name());
    }
  }

  void store_tensors(const layout::Layout& result) {
    store_fixed_inputs();
    if (buffered_) store(c_.padding->op->name(), blocked(c_.padding->op->output.shape(), x_block_));
    const std::string& w = c_.w.name();
    line("layout_split {} 0 [$ko, $kv]", w);
    std::vector<std::string> perm{"0", "2"};
    if (split_c_) line("layout_split {} 2 [$co, $ci]", w);
    const size_t first = split_c_ ? 4 : 3;
    for (size_t d = 0; d < c_.rank; ++d) perm.push_back(std::to_string(first + d));
    if (split_c_) perm.emplace_back("3");
    perm.emplace_back("1");
    line("layout_reorder {} [{}]", w, comma(perm));
    store(out_, result);
    store(acc_, blocked(op_.output.shape(), knobs()["v"]));
  }

  // The loops over the storage, by what they are.
  struct Loops {
    std::vector<std::string> tiles;     // everything outside
    std::vector<int64_t> extents;       // of them
    std::vector<std::string> channels;  // vectors of channels outside the register tile
    std::vector<std::string> outer;     // positions outside
    std::vector<std::string> inner;     // in it: positions, then vectors
    std::string lanes;
  };

  Loops split_loops() {
    Loops l;
    std::string vectors;
    const std::vector<te::Axis> axes = now(out_).axes;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Part& p = parts_[i];
      const std::string name = axes[i].var.name();
      if (i + 1 == parts_.size()) {
        split_lanes(name, l, vectors);
      } else if (p.dim == 1) {
        split_blocks(name, l, vectors);
      } else if (p.inner && p.dim >= 2 && p.dim + 2 >= op_.axes.size()) {
        line("split {} {} [${}] parts", out_, name, p.dim + 1 == op_.axes.size() ? "xn" : "yn");
        l.outer.push_back(name + ".0");
        l.inner.push_back(name + ".1");
      } else {
        l.tiles.push_back(name);
        l.extents.push_back(p.extent);
      }
    }
    if (!vectors.empty()) l.inner.push_back(vectors);
    return l;
  }

  void split_lanes(const std::string& name, Loops& l, std::string& vectors) {
    l.lanes = name;
    if (per_block_ == 1) return;
    line("split {} {} [$kb, $v]", out_, name);
    l.channels.push_back(name + ".0");
    vectors = name + ".1";
    l.lanes = name + ".2";
  }

  void split_blocks(const std::string& name, Loops& l, std::string& vectors) {
    if (per_block_ > 1) {
      l.channels.insert(l.channels.begin(), name);
      return;
    }
    line("split {} {} [$kb]", out_, name);
    l.channels.push_back(name + ".0");
    vectors = name + ".1";
  }

  void tile_output() {
    Loops l = split_loops();
    std::vector<std::string> order;
    for (const auto* some : {&l.tiles, &l.channels, &l.outer, &l.inner})
      order.insert(order.end(), some->begin(), some->end());
    order.push_back(l.lanes);
    line("reorder {} [{}]", out_, comma(order));
    for (const std::string& i : l.inner) line("unroll {} {}", out_, i);
    line("vectorize {} {}", out_, l.lanes);
    const std::vector<std::string>& within = l.outer.empty() ? l.channels : l.outer;
    line("compute_at {} {} {}", acc_, out_, within.empty() ? l.tiles.back() : within.back());
    deal_out_tiles(l);
  }

  // Tiles in parallel, and blocks of channels too if the tiles are few; a buffer is filled once for all channels.
  void deal_out_tiles(const Loops& l) {
    if (l.tiles.empty()) return;
    std::vector<std::string> parallel = l.tiles;
    const int64_t pieces =
        std::accumulate(l.extents.begin(), l.extents.end(), int64_t{1}, std::multiplies<>());
    const bool few = balance(pieces, t_.cores) < 0.9;
    if (few && !buffered_ && !l.channels.empty() && !l.outer.empty())
      parallel.push_back(l.channels[0]);
    std::string at = parallel[0];
    for (size_t i = 1; i < parallel.size(); ++i) at += "@" + parallel[i];
    if (parallel.size() > 1) line("fuse {} [{}]", out_, comma(parallel));
    line("parallel {} {}", out_, at);
    if (buffered_) copy_tile(at);
  }

  void copy_tile(const std::string& at) {
    const std::string pad = c_.padding->op->name();
    const std::string lanes = now(pad).axes.back().var.name();
    const int64_t full = t_.lanes(c_.x.dtype().bytes());
    line("compute_at {} {} {}", pad, out_, at);
    if (x_block_ > 1 && x_block_ <= full) {
      line("vectorize {} {}", pad, lanes);
    } else if (x_block_ > full && x_block_ % full == 0) {
      knobs()["cv"] = full;
      line("split {} {} [$cv]\nvectorize {} {}.1", pad, lanes, pad, lanes);
    }
  }

  void tile_sum() {
    const std::string c = op_.reduce_axes[0].var.name();
    const std::string k = op_.axes[1].var.name();
    std::vector<std::string> order;
    if (split_c_) line("split {} {} [$ci]", acc_, c);
    order.push_back(split_c_ ? c + ".0" : c);
    order.insert(order.end(), c_.kernel.begin(), c_.kernel.end());
    if (split_c_) order.push_back(c + ".1");
    std::vector<std::string> positions;
    for (size_t d = 2; d < op_.axes.size(); ++d) positions.push_back(op_.axes[d].var.name());
    order.insert(order.end(), positions.begin(), positions.end());
    order.push_back(k + "_0");
    order.push_back(k + "_1");
    line("reorder {} [{}]", acc_, comma(order));
    for (size_t d = positions.size() - std::min<size_t>(positions.size(), 2); d < positions.size();
         ++d) {
      line("unroll {} {}", acc_, positions[d]);
    }
    line("unroll {} {}_0", acc_, k);
    line("vectorize {} {}_1", acc_, k);
  }

  const Conv& c_;
  const target::Target& t_;
  const te::ComputeOp& op_;
  std::string out_, acc_;
  std::vector<Part> parts_;  // of the result's storage
  int64_t per_block_ = 1;    // vectors in a block of channels
  int64_t x_block_ = 1;
  bool split_c_ = false;
  bool buffered_ = false;
};

}  // namespace

std::optional<Plan> plan_tiled(const schedule::State& initial, const Request& request) {
  const auto c = match_conv(initial.dag());
  if (!c || c->group > 0) return std::nullopt;
  return Writer(*c, initial, request).run();
}

}  // namespace tenon::templates
