// SPDX-License-Identifier: Apache-2.0
// Direct convolution of any spatial rank. Activations are stored N C/ci spatial ci, weights K/(kb*v) C/ci kernel
// ci kb*v (one linear stream per tile), outputs N K/v spatial v. The register tile is kb vectors of output channels
// times a few positions of the innermost one or two spatial dimensions. Padding is stored as zeros beside large
// images; for small ones the taps that fall on it are skipped: rows by the bounds of the kernel loop, columns by
// unrolling, which takes a tile of one row.
#include <numeric>

#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/plan_writer.h"

namespace tenon::templates {

namespace {

struct Conv {
  Chain chain;
  te::Tensor x, w;
  std::optional<Padding> padding;
  size_t rank = 0;         // spatial dimensions
  int64_t group = 0;       // output channels in a group; 0: all are in one
  bool pointwise = false;  // kernel 1, stride 1, no padding: positions are one dimension
  std::vector<std::string> kernel;
  std::vector<std::string> like_output;
};

// The input channel c, or c + k / group * channels for a grouped convolution: the output channels of a group, 0 for one
// group, nothing for any other index.
std::optional<int64_t> group_of(const ir::Expr& channel, const te::ComputeOp& op) {
  const te::Axis& c = op.reduce_axes[0];
  if (channel.same_as(c.var)) return 0;
  const arith::Linear l = arith::to_linear(channel);
  if (l.terms.size() != 2 || l.constant != 0 || l.coefficient(c.var.node()) != 1)
    return std::nullopt;
  for (const auto& [atom, factor] : l.terms) {
    const auto* b = atom.as<ir::Binary>();
    if (b == nullptr || b->op != ir::BinaryOp::kFloorDiv || factor != c.extent) continue;
    if (b->a.same_as(op.axes[1].var)) return ir::const_int(b->b);
  }
  return std::nullopt;
}

// n k spatial.. = sum over c kernel.. of x[n, c, spatial*stride + kernel*dilation] * w[k, c, kernel..]
std::optional<Conv> match(const te::ComputeDag& dag) {
  Conv c;
  auto chain = find_chain(dag);
  if (!chain) return std::nullopt;
  c.chain = *chain;
  const te::ComputeOp& op = *c.chain.anchor;
  const auto parts = find_contraction(dag, op);
  if (!parts || op.axes.size() < 3 || op.reduce_axes.size() != op.axes.size() - 1)
    return std::nullopt;
  c.rank = op.axes.size() - 2;
  if (parts->x.indices.size() != op.axes.size() || parts->w.indices.size() != op.axes.size())
    return std::nullopt;
  if (dag.producer(parts->w.tensor) != nullptr) return std::nullopt;
  const size_t k = 1;
  const size_t reduce = op.axes.size();
  if (plain_axis(parts->w.indices[0], op) != k || plain_axis(parts->w.indices[1], op) != reduce)
    return std::nullopt;
  const auto group = group_of(parts->x.indices[1], op);
  if (plain_axis(parts->x.indices[0], op) != size_t{0} || !group) return std::nullopt;
  c.group = *group;
  c.pointwise = true;
  for (size_t d = 0; d < c.rank; ++d) {
    const te::Axis& at = op.axes[2 + d];
    const te::Axis& tap = op.reduce_axes[1 + d];
    if (!parts->w.indices[2 + d].same_as(tap.var)) return std::nullopt;
    const arith::Linear l = arith::to_linear(parts->x.indices[2 + d]);
    if (!l.is_affine() || l.terms.size() > 2 || l.coefficient(at.var.node()) < 1)
      return std::nullopt;
    c.pointwise =
        c.pointwise && tap.extent == 1 && l.coefficient(at.var.node()) == 1 && l.constant == 0;
    c.kernel.push_back(tap.var.name());
  }
  c.padding = find_padding(dag, parts->x.tensor);
  c.x = c.padding ? c.padding->source : parts->x.tensor;
  c.w = parts->w.tensor;
  c.like_output = stored_like_output(dag, c.chain);
  c.pointwise = c.pointwise && !c.padding && dag.producer(c.x) == nullptr;
  return dag.producer(c.x) == nullptr ? std::optional(c) : std::nullopt;
}

class Writer : private PlanWriter {
 public:
  Writer(const Conv& c, const target::Target& t) : c_(c), t_(t), op_(*c.chain.anchor) {
    out_ = c.chain.final->name();
    acc_ = op_.name() + ".cache";
  }

  Plan run() {
    size_knobs();
    prepare();
    store_input();
    store_weights();
    for (const std::string& s : c_.like_output) store_output(s);
    store_output(acc_);
    tile_output();
    tile_sum();
    return take();
  }

 private:
  void size_knobs() {
    const int64_t channels = op_.axes[1].extent;
    const int64_t in = op_.reduce_axes[0].extent;
    int64_t v = choose_lanes(channels, op_.output.dtype().bytes(), t_);
    // A vector, and the vectors of a tile, stay inside one group.
    if (c_.group > 0) v = std::gcd(v, c_.group);
    const int64_t kvecs = arith::ceil_div(channels, v);
    const int64_t tileable = c_.group > 0 ? c_.group / v : kvecs;
    x_ = op_.axes.back().extent;
    y_ = c_.rank >= 2 ? op_.axes[op_.axes.size() - 2].extent : 1;
    if (c_.pointwise) {
      x_ = 1;
      for (size_t d = 0; d < c_.rank; ++d) x_ *= op_.axes[2 + d].extent;
      y_ = 1;
    }
    skip_ = skips_padding();
    RegisterTile r = choose_tile(tileable, x_, skip_ ? 1 : y_, t_);
    if (skip_) r.yn = y_;
    const int64_t ci = std::gcd(in, t_.lanes(op_.output.dtype().bytes()));
    blocked_ = ci >= 4;
    knobs() = {{"v", v},
               {"kvecs", kvecs},
               {"kb", r.kb},
               {"ko", arith::ceil_div(kvecs, r.kb)},
               {"kv", r.kb * v},
               {"xn", r.xn},
               {"yn", r.yn},
               {"ci", blocked_ ? ci : in},
               {"co", blocked_ ? in / ci : 1},
               {"cx", blocked_ ? c_.x.shape()[1] / ci : 1}};
  }

  // Worth it when more than a few taps in a hundred fall on padding, and the unrolled kernel stays small.
  bool skips_padding() const {
    if (!c_.padding) return false;
    double used = 1;
    for (size_t d = 0; d < c_.rank; ++d) {
      const int64_t out = op_.axes[2 + d].extent;
      const int64_t taps = op_.reduce_axes[1 + d].extent;
      const int64_t lost = c_.padding->before[2 + d] + c_.padding->after[2 + d];
      used *= 1.0 - static_cast<double>(std::min(lost, taps)) / static_cast<double>(out * taps);
    }
    return used < 0.97 && op_.reduce_axes.back().extent <= 5 && x_ <= 64;
  }

  void prepare() {
    line("cache_write {} register", op_.name());
    for (const te::ComputeOp* p : c_.chain.inlined) line("compute_inline {}", p->name());
  }

  void store_input() {
    if (c_.padding && !skip_) {
      for (size_t d = 2; d < c_.x.rank(); ++d) {
        if (c_.padding->before[d] > 0 || c_.padding->after[d] > 0) {
          line("layout_pad {} {} {} {}", c_.x.name(), d, c_.padding->before[d],
               c_.padding->after[d]);
        }
      }
    }
    if (c_.pointwise && c_.rank > 1) line("layout_fuse {} 2 {}", c_.x.name(), c_.rank);
    if (!blocked_) return;
    line("layout_split {} 1 [$cx, $ci]", c_.x.name());
    line("layout_reorder {} [{}]", c_.x.name(), comma(channels_last(dims())));
  }

  size_t dims() const { return c_.pointwise ? 1 : c_.rank; }

  // n, c outer, spatial.., c inner out of n, c outer, c inner, spatial..
  static std::vector<std::string> channels_last(size_t spatial) {
    std::vector<std::string> perm{"0", "1"};
    for (size_t d = 0; d < spatial; ++d) perm.push_back(std::to_string(3 + d));
    perm.emplace_back("2");
    return perm;
  }

  void store_weights() {
    const std::string& w = c_.w.name();
    line("layout_split {} 0 [$ko, $kv]", w);
    std::vector<std::string> perm{"0", "2"};
    if (blocked_) line("layout_split {} 2 [$co, $ci]", w);
    const size_t first = blocked_ ? 4 : 3;
    for (size_t d = 0; d < c_.rank; ++d) perm.push_back(std::to_string(first + d));
    if (blocked_) perm.emplace_back("3");
    perm.emplace_back("1");
    line("layout_reorder {} [{}]", w, comma(perm));
  }

  void store_output(const std::string& stage) {
    if (c_.pointwise && c_.rank > 1) line("layout_fuse {} 2 {}", stage, c_.rank);
    line("layout_split {} 1 [$kvecs, $v]", stage);
    line("layout_reorder {} [{}]", stage, comma(channels_last(dims())));
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

  void tile_output() {
    const std::string k = c_.chain.final->axes[1].var.name();
    const std::string n = c_.chain.final->axes[0].var.name();
    std::vector<std::string> outer = positions(*c_.chain.final);
    std::vector<std::string> inner;
    const auto split = [&](size_t d, const char* knob) {
      line("split {} {} [${}] parts", out_, outer[d], knob);
      inner.insert(inner.begin(), outer[d] + ".1");
      outer[d] += ".0";
    };
    line("split {} {}_0 [$kb]", out_, k);
    split(outer.size() - 1, "xn");
    if (outer.size() > 1) split(outer.size() - 2, "yn");
    const int64_t pieces = op_.axes[0].extent * knobs()["ko"];
    const bool by_channel = balance(pieces, t_.cores) >= 0.9;
    const std::string attach = outer.back();
    std::vector<std::string> order = inner;
    order.push_back(k + "_0.1");
    order.push_back(k + "_1");
    std::vector<std::string> head =
        by_channel ? std::vector<std::string>{n, k + "_0.0"} : std::vector<std::string>{n};
    head.insert(head.end(), outer.begin(), outer.end());
    if (!by_channel) head.insert(head.begin() + 2, k + "_0.0");
    std::string at = attach;
    if (!by_channel && outer.size() == 1) at = k + "_0.0";
    head.insert(head.end(), order.begin(), order.end());
    line("reorder {} [{}]", out_, comma(head));
    for (const std::string& i : inner) line("unroll {} {}", out_, i);
    line("unroll {} {}_0.1", out_, k);
    line("vectorize {} {}_1", out_, k);
    line("compute_at {} {} {}", acc_, out_, at);
    if (by_channel) {
      line("fuse {} [{}, {}_0.0]", out_, n, k);
      line("parallel {} {}@{}_0.0", out_, n, k);
    } else {
      line("parallel {} {}", out_, outer[0]);
    }
  }

  void tile_sum() {
    const std::string c = op_.reduce_axes[0].var.name();
    const std::string k = op_.axes[1].var.name();
    std::vector<std::string> order;
    if (blocked_) {
      line("split {} {} [$ci]", acc_, c);
      order.push_back(c + ".0");
    } else {
      order.push_back(c);
    }
    order.insert(order.end(), c_.kernel.begin(), c_.kernel.end());
    if (blocked_) order.push_back(c + ".1");
    const auto at = positions(op_);
    order.insert(order.end(), at.begin(), at.end());
    order.push_back(k + "_0");
    order.push_back(k + "_1");
    line("reorder {} [{}]", acc_, comma(order));
    if (skip_) line("unroll {} {}", acc_, c_.kernel.back());
    const size_t tiled = std::min<size_t>(at.size(), 2);
    for (size_t d = at.size() - tiled; d < at.size(); ++d) line("unroll {} {}", acc_, at[d]);
    line("unroll {} {}_0", acc_, k);
    line("vectorize {} {}_1", acc_, k);
  }

  const Conv& c_;
  const target::Target& t_;
  const te::ComputeOp& op_;
  std::string out_, acc_;
  int64_t x_ = 1, y_ = 1;
  bool blocked_ = false;
  bool skip_ = false;  // taps on padding are left out
};

}  // namespace

std::optional<Plan> plan_conv(const te::ComputeDag& dag, const target::Target& target) {
  const auto c = match(dag);
  if (!c || (c->group > 0 && c->group % 4 != 0))
    return std::nullopt;  // groups too small for vectors
  return Writer(*c, target).run();
}

}  // namespace tenon::templates
