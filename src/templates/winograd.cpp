// SPDX-License-Identifier: Apache-2.0
// Convolution by Winograd's algorithms, where they are estimated to be faster than the direct one. Three nests, each
// dealt out to all cores: tiles of the input transformed (channels are lanes), one matrix product per point of a tile
// (like a pointwise convolution, with a register tile of tiles x channels), tiles of the output transformed together
// with everything that follows. Dilated convolutions are computed phase by phase, those of stride 2 by tiles of even and
// odd positions.
#include <algorithm>
#include <numeric>

#include "schedule/algorithms/phases.h"
#include "schedule/algorithms/winograd.h"
#include "schedule/primitives/variant.h"
#include "templates/algorithm_choice.h"
#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/loops.h"
#include "templates/plan_writer.h"

namespace tenon::templates {
namespace {

using schedule::Algorithm;

struct Conv {
  Chain chain;
  te::OpRef inner;  // what the algorithm computes: the anchor, or its undilated form
  te::Tensor x, w;
  double taps_used = 1;         // share of the taps that do not fall on padding
  int64_t stride = 1;           // along the dimensions of tiles
  size_t dims = 0;              // dimensions of tiles: 1 or 2
  size_t others = 0;            // spatial dimensions before them
  std::vector<int64_t> phases;  // of a dilated convolution, by spatial dimension
  std::vector<std::string> like_output;
  int64_t phases_of(size_t spatial) const { return phases.empty() ? 1 : phases[spatial]; }
};

// The convolution itself or, of a dilated one, the one that `variant phases` makes of it.
bool find_inner(const schedule::State& initial, Conv& c) {
  schedule::State s = initial;
  schedule::StageId id = initial.find(c.chain.anchor->name());
  const te::ComputeOp& op = *c.chain.anchor;
  if (const auto dilated = schedule::find_dilated(op); dilated && op.axes.size() > 2) {
    const schedule::Variant split{{id}, Algorithm::kPhases};
    if (!split.check(s)) return false;
    split.apply(s);
    c.phases = dilated->phases;
    id = s.find(op.name() + ".u");
  }
  c.inner = s.stage(id).op;
  for (const int64_t stride : {1, 2}) {
    const Algorithm any = stride == 2 ? Algorithm::kPolyphase2 : Algorithm::kWinograd2;
    const schedule::Variant step{{id}, any};
    if (!step.check(s)) continue;
    const auto taps = schedule::find_taps(*c.inner, stride);
    c.stride = stride;
    c.dims = taps->dims;
    c.others = taps->others;
    return true;
  }
  return false;
}

// Along trailing dimensions of 3 taps side by side; variant itself checks the rest.
std::optional<Conv> match(const schedule::State& initial) {
  const te::ComputeDag& dag = initial.dag();
  auto chain = find_chain(dag);
  if (!chain) return std::nullopt;
  Conv c;
  c.chain = *chain;
  const te::ComputeOp& op = *c.chain.anchor;
  const auto parts = find_contraction(dag, op);
  if (!parts || !find_inner(initial, c)) return std::nullopt;
  const auto padding = find_padding(dag, parts->x.tensor);
  c.x = padding ? padding->source : parts->x.tensor;
  c.w = parts->w.tensor;
  if (dag.producer(c.x) != nullptr) return std::nullopt;
  for (size_t d = 0; padding && d + 2 < op.axes.size(); ++d) {
    const double lost = static_cast<double>(padding->before[2 + d] + padding->after[2 + d]);
    const auto all = static_cast<double>(op.axes[2 + d].extent * op.reduce_axes[1 + d].extent);
    c.taps_used *= 1 - std::min(lost, 2.0) / all;
  }
  c.like_output = stored_like_output(dag, c.chain);
  return c;
}

// ---- direct, or which tile -------------------------------------------------------------------------------------------

struct Work {
  double channels = 1;  // pairs of input and output channels, with the taps of the other dimensions
  double outside = 1;   // positions of the other dimensions, and images
  std::vector<int64_t> extents;
};

Work work_of(const Conv& c) {
  const te::ComputeOp& op = *c.inner;
  Work w;
  w.channels = static_cast<double>(op.axes[1].extent * op.reduce_axes[0].extent);
  w.outside = static_cast<double>(op.axes[0].extent);
  for (size_t d = 0; d < c.others; ++d) {
    w.outside *= static_cast<double>(op.axes[2 + d].extent);
    w.channels *= static_cast<double>(op.reduce_axes[1 + d].extent);
  }
  for (size_t d = 2 + c.others; d < op.axes.size(); ++d) w.extents.push_back(op.axes[d].extent);
  return w;
}

double direct_cost(const Conv& c, int cores) {
  const Work w = work_of(c);
  double taps = 1, positions = w.outside;
  for (const int64_t e : w.extents) {
    taps *= schedule::kWinogradTaps;
    positions *= static_cast<double>(e);
  }
  return overlapped(2 * taps * positions * w.channels * c.taps_used, 4 * taps * w.channels, cores);
}

double winograd_cost(const Conv& c, Algorithm a, int cores) {
  constexpr double kRate = 0.9;         // of the products, against the direct kernel's
  constexpr double kPerElement = 12.0;  // transforming one element of a tile
  const Work w = work_of(c);
  const schedule::AlgorithmRow& row = schedule::row_of(a);
  double points = 1, tiles = w.outside;
  for (const int64_t e : w.extents) {
    points *= static_cast<double>(schedule::points_of(row));
    tiles *= static_cast<double>(arith::ceil_div(e, row.tile));
  }
  const te::ComputeOp& op = *c.inner;
  const auto both = static_cast<double>(op.axes[1].extent + op.reduce_axes[0].extent);
  return overlapped(2 * points * tiles * w.channels / kRate, 4 * points * w.channels, cores) +
         kPerElement * points * tiles * both / cores;
}

std::optional<Algorithm> choose(const Conv& c, const Request& request, const target::Target& t) {
  const int cores = t.cores;
  constexpr double kWorthIt = 0.9;
  return choose_algorithm(request, direct_share(request, t) * direct_cost(c, cores), kWorthIt,
                          [&](Algorithm a) -> std::optional<double> {
                            if (!schedule::is_winograd(a) || schedule::row_of(a).stride != c.stride)
                              return std::nullopt;
                            return winograd_cost(c, a, cores);
                          });
}

// ---- the program -----------------------------------------------------------------------------------------------------

class Writer : private PlanWriter {
 public:
  Writer(const Conv& c, Algorithm a, const schedule::State& initial, const Request& request)
      : PlanWriter(initial, request),
        c_(c),
        t_(initial.target()),
        op_(*c.inner),
        row_(schedule::row_of(a)),
        name_(op_.name()),
        out_(c.chain.final->name()) {
    lanes_ = t_.lanes(op_.output.dtype().bytes());
    for (size_t d = 2 + c.others; d < op_.axes.size(); ++d)
      tiles_ *= arith::ceil_div(op_.axes[d].extent, row_.tile);
  }

  std::optional<Plan> run() {
    if (!fits()) return std::nullopt;
    size_knobs();
    const std::string& anchor = c_.chain.anchor->name();
    const bool dilated = !c_.phases.empty();
    if (dilated) line("variant {} phases", anchor);
    line("variant {} {}", name_, row_.name);
    line("cache_write {}.m register", name_);
    for (const te::ComputeOp* p : c_.chain.inlined) {
      if (p != c_.chain.anchor) line("compute_inline {}", p->name());
    }
    line("compute_inline {}.y", name_);
    if (dilated) line("compute_inline {}.x\ncompute_inline {}", anchor, name_);
    if (c_.chain.anchor != c_.chain.final) line("compute_inline {}", anchor);
    store_all();
    tile_output();
    tile_products();
    tile_input();
    return take();
  }

 private:
  // Whole vectors of channels on both sides.
  bool fits() const {
    const auto bx = block_for(request(), c_.x, lanes_);
    const auto by = block_for(request(), c_.chain.final->output, lanes_);
    return lanes_ > 1 && bx == lanes_ && by == lanes_ && op_.axes[1].extent % lanes_ == 0 &&
           op_.reduce_axes[0].extent % lanes_ == 0;
  }

  void size_knobs() {
    const int64_t kvecs = op_.axes[1].extent / lanes_;
    RegisterTile r = choose_tile(kvecs, tiles_, 1, t_);
    r.kb = choice("kb", r.kb, std::min<int64_t>(kvecs, 8));
    r.xn = choice("xn", r.xn, tiles_);
    if (kvecs % r.kb != 0) r.kb = std::gcd(r.kb, kvecs);
    knobs().insert({{"kb", r.kb},
                    {"xn", r.xn},
                    {"ko", kvecs / r.kb},
                    {"kv", r.kb * lanes_},
                    {"m", row_.tile}});
  }

  // Dimension `d` in vectors, which become the last one.
  void in_vectors(const std::string& stage, size_t d) {
    const std::vector<int64_t> shape = now(stage).output.shape();
    line("layout_split {} {} [{}, {}]", stage, d, shape[d] / lanes_, lanes_);
    std::vector<std::string> perm;
    for (size_t i = 0; i <= shape.size(); ++i) {
      if (i != d + 1) perm.push_back(std::to_string(i));
    }
    perm.push_back(std::to_string(d + 1));
    line("layout_reorder {} [{}]", stage, comma(perm));
  }

  void store_all() {
    const size_t points = c_.dims;
    store(c_.x.name(), blocked(c_.x.shape(), lanes_));
    // points.. K C taps..  =>  points.. K/kv C taps.. kv
    const std::string& w = c_.w.name();
    line("layout_split {} {} [$ko, $kv]", w, points);
    std::vector<std::string> perm;
    for (size_t i = 0; i < points + 3 + c_.others; ++i) {
      if (i != points + 1) perm.push_back(std::to_string(i));
    }
    perm.push_back(std::to_string(points + 1));
    line("layout_reorder {} [{}]", w, comma(perm));
    in_vectors(name_ + ".v", points + 1);
    in_vectors(name_ + ".m", points + 1);
    in_vectors(name_ + ".m.cache", points + 1);
    if (c_.dims == 2) {
      in_vectors(name_ + ".v1", 1);
      in_vectors(name_ + ".y1", 1);
    }
    std::vector<std::string> done{c_.x.name(), c_.w.name()};
    for (const std::string& s : c_.like_output) {
      const auto it = request().fixed.find(s);
      const auto block =
          it == request().fixed.end() ? std::optional(lanes_) : block_of(it->second, lanes_);
      if (!block) continue;
      store(s, blocked(c_.chain.final->output.shape(), *block));
      done.push_back(s);
    }
    store_fixed_inputs(done);
  }

  std::vector<std::string> other_names() const {
    std::vector<std::string> out;
    for (size_t d = 0; d < c_.others; ++d) out.push_back(op_.axes[2 + d].var.name());
    return out;
  }

  int64_t extent_of(const std::string& stage, const std::string& loop) {
    const schedule::Stage& st = state().stage(state().find(stage));
    const schedule::LoopId l = st.find_loop(loop);
    return l < 0 ? 1 : st.loop(l).extent;
  }

  // Leading loops of a nest, in parallel.
  void deal(const std::string& stage, const std::vector<std::string>& outer) {
    std::vector<NamedLoop> loops;
    for (const std::string& l : outer) loops.push_back({l, extent_of(stage, l)});
    deal_out(*this, stage, loops, INT32_MAX);
  }

  void tile_output() {
    const te::ComputeOp& last = *c_.chain.final;
    const std::string n = last.axes[0].var.name(), k = last.axes[1].var.name();
    std::vector<std::string> outer{n, k + "_0"}, phases, inner;
    for (size_t d = 0; d < c_.others; ++d) outer.push_back(last.axes[2 + d].var.name());
    for (size_t d = 2 + c_.others; d < last.axes.size(); ++d) {
      const std::string p = last.axes[d].var.name();
      if (const int64_t f = c_.phases_of(d - 2); f > 1) {
        line("split {} {} [$m, {}]", out_, p, f);
        phases.push_back(p + ".2");
      } else {
        line("split {} {} [$m]", out_, p);
      }
      outer.push_back(p + ".0");
      inner.push_back(p + ".1");
    }
    outer.insert(outer.end(), phases.begin(), phases.end());
    std::vector<std::string> order = outer;
    order.insert(order.end(), inner.begin(), inner.end());
    order.push_back(k + "_1");
    line("reorder {} [{}]", out_, comma(order));
    for (const std::string& i : inner) line("unroll {} {}", out_, i);
    line("vectorize {} {}_1", out_, k);
    if (c_.dims == 2) {
      const std::string rows = name_ + ".y1";
      line("compute_at {} {} {}", rows, out_, outer.back());
      line("unroll {} wi\nunroll {} wb\nvectorize {} {}_1", rows, rows, rows,
           op_.axes[1].var.name());
    }
    outer.pop_back();  // what is attached stays at a loop of its own
    deal(out_, outer);
  }

  void tile_products() {
    const std::string m = name_ + ".m", sum = m + ".cache";
    const std::string n = op_.axes[0].var.name(), k = op_.axes[1].var.name();
    const std::vector<std::string> others = other_names();
    line("split {} {}_0 [$kb]", m, k);
    line("split {} wt [$xn] parts", m);
    std::vector<std::string> outer{"wa"};
    if (c_.dims == 2) outer.push_back("wb");
    std::vector<std::string> points = outer;
    outer.push_back(n);
    outer.push_back(k + "_0.0");
    outer.insert(outer.end(), others.begin(), others.end());
    std::vector<std::string> order = outer;
    for (const char* l : {"wt.0", "wt.1"}) order.emplace_back(l);
    order.push_back(k + "_0.1");
    order.push_back(k + "_1");
    line("reorder {} [{}]", m, comma(order));
    line("unroll {} wt.1\nunroll {} {}_0.1\nvectorize {} {}_1", m, m, k, m, k);
    line("compute_at {} {} wt.0", sum, m);
    order = points;
    order.push_back(n);
    for (size_t d = 0; d <= c_.others; ++d) order.push_back(op_.reduce_axes[d].var.name());
    order.insert(order.end(), others.begin(), others.end());
    order.insert(order.end(), {"wt", k + "_0", k + "_1"});
    line("reorder {} [{}]", sum, comma(order));
    line("unroll {} wt\nunroll {} {}_0\nvectorize {} {}_1", sum, sum, k, sum, k);
    deal(m, outer);
  }

  void tile_input() {
    const std::string v = name_ + ".v", rows = name_ + ".v1";
    const std::string c = op_.reduce_axes[0].var.name();
    std::vector<std::string> outer{op_.axes[0].var.name(), c + "_0"};
    for (const std::string& o : other_names()) outer.push_back(o);
    outer.emplace_back("wt");
    std::vector<std::string> order = outer;
    order.emplace_back("wa");
    if (c_.dims == 2) order.emplace_back("wb");
    order.push_back(c + "_1");
    line("reorder {} [{}]", v, comma(order));
    line("unroll {} wa", v);
    if (c_.dims == 2) line("unroll {} wb", v);
    line("vectorize {} {}_1", v, c);
    if (c_.dims == 2) {
      line("compute_at {} {} wt", rows, v);
      line("unroll {} wa\nunroll {} ws\nvectorize {} {}_1", rows, rows, rows, c);
      outer.pop_back();
    }
    deal(v, outer);
  }

  const Conv& c_;
  const target::Target& t_;
  const te::ComputeOp& op_;
  const schedule::AlgorithmRow& row_;
  std::string name_, out_;
  int64_t lanes_ = 1;
  int64_t tiles_ = 1;
};

}  // namespace

std::optional<Plan> plan_winograd(const schedule::State& initial, const Request& request) {
  const auto c = match(initial);
  if (!c) return std::nullopt;
  const auto algorithm = choose(*c, request, initial.target());
  if (!algorithm) return std::nullopt;
  return Writer(*c, *algorithm, initial, request).run();
}

}  // namespace tenon::templates
