// SPDX-License-Identifier: Apache-2.0
// Convolution as a product of matrices, for those who ask for it: direct convolutions run near the peak without a copy of
// every window (docs/kernels.md), so no estimate chooses this. The copy has positions outside and what one sum reads
// inside; weights are one linear stream per tile of a few positions times vectors of output channels.
#include <algorithm>
#include <numeric>

#include "schedule/primitives/variant.h"
#include "templates/algorithm_choice.h"
#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/loops.h"

namespace tenon::templates {
namespace {

using schedule::Algorithm;

struct Conv {
  Chain chain;
  te::Tensor w;
  std::vector<std::string> like_output;
};

// n k positions.. = sum over c taps.. of x * w[k, c, taps..]
std::optional<Conv> match(const schedule::State& initial) {
  const te::ComputeDag& dag = initial.dag();
  const auto chain = find_chain(dag);
  if (!chain) return std::nullopt;
  const te::ComputeOp& op = *chain->anchor;
  const auto parts = find_contraction(dag, op);
  const schedule::Variant step{{initial.find(op.name())}, Algorithm::kIm2col};
  if (!parts || !step.check(initial)) return std::nullopt;
  const size_t n = op.axes.size();
  if (n < 3 || op.reduce_axes.size() != n - 1 || parts->w.indices.size() != n) return std::nullopt;
  if (!parts->w.indices[0].same_as(op.axes[1].var)) return std::nullopt;
  for (size_t d = 1; d < n; ++d) {
    if (!parts->w.indices[d].same_as(op.reduce_axes[d - 1].var)) return std::nullopt;
  }
  // Of a grouped convolution the input depends on the output channel.
  if (parts->x.strides[1] != 0) return std::nullopt;
  return Conv{*chain, parts->w.tensor, stored_like_output(dag, *chain)};
}

class Writer : private PlanWriter {
 public:
  Writer(const Conv& c, const schedule::State& initial, const Request& request)
      : PlanWriter(initial, request),
        c_(c),
        t_(initial.target()),
        op_(*c.chain.anchor),
        out_(c.chain.final->name()),
        sum_(op_.name() + ".cache"),
        patches_(op_.name() + ".p") {}

  std::optional<Plan> run() {
    const int64_t bytes = op_.output.dtype().bytes();
    const int64_t lanes = choose_lanes(op_.axes[1].extent, bytes, t_);
    const auto block = block_for(request(), c_.chain.final->output, lanes);
    if (!block || *block > t_.lanes(bytes) || *block < 2) return std::nullopt;
    size_knobs(*block);
    line("variant {} im2col", op_.name());
    line("cache_write {} register", op_.name());
    for (const te::ComputeOp* p : c_.chain.inlined) line("compute_inline {}", p->name());
    store_all(*block);
    tile_output();
    tile_sum();
    loop_by_vectors(*this, patches_);
    return take();
  }

 private:
  void size_knobs(int64_t v) {
    const int64_t kvecs = arith::ceil_div(op_.axes[1].extent, v), x = op_.axes.back().extent;
    RegisterTile r = choose_tile(kvecs, x, 1, t_);
    r.kb = choice("kb", r.kb, std::min<int64_t>(kvecs, 8));
    r.xn = choice("xn", r.xn, x);
    knobs().insert({{"v", v},
                    {"kb", r.kb},
                    {"xn", r.xn},
                    {"ko", arith::ceil_div(kvecs, r.kb)},
                    {"kv", r.kb * v}});
  }

  void store_all(int64_t block) {
    // n positions.. c taps..  =>  n positions.. (c taps)
    const auto rank = static_cast<int64_t>(op_.axes.size()) - 2;
    line("layout_fuse {} {} {}", patches_, 1 + rank, 1 + rank);
    std::vector<std::string> done{c_.w.name()};
    for (const std::string& s : c_.like_output) {
      const auto it = request().fixed.find(s);
      const auto b =
          it == request().fixed.end() ? std::optional(block) : block_of(it->second, block);
      if (!b) continue;
      store(s, blocked(op_.output.shape(), *b));
      done.push_back(s);
    }
    store(sum_, blocked(op_.output.shape(), block));
    store_fixed_inputs(done);
    // K C taps..  =>  K/kv (C taps) kv
    const std::string& w = c_.w.name();
    line("layout_split {} 0 [$ko, $kv]", w);
    std::vector<std::string> perm{"0"};
    for (int64_t d = 2; d < 3 + rank; ++d) perm.push_back(std::to_string(d));
    perm.emplace_back("1");
    line("layout_reorder {} [{}]\nlayout_fuse {} 1 {}", w, comma(perm), w, 1 + rank);
  }

  void tile_output() {
    const std::vector<te::Axis>& axes = c_.chain.final->axes;
    const std::string n = axes[0].var.name(), k = axes[1].var.name(), x = axes.back().var.name();
    line("split {} {}_0 [$kb]\nsplit {} {} [$xn] parts", out_, k, out_, x);
    std::vector<NamedLoop> outer{{n, axes[0].extent}, {k + "_0.0", knobs()["ko"]}};
    for (size_t d = 2; d + 1 < axes.size(); ++d)
      outer.push_back({axes[d].var.name(), axes[d].extent});
    outer.push_back({x + ".0", knobs()["xn"]});
    std::vector<std::string> order;
    int64_t work = 1;
    for (const NamedLoop& l : outer) {
      order.push_back(l.name);
      work *= l.extent;
    }
    order.insert(order.end(), {x + ".1", k + "_0.1", k + "_1"});
    line("reorder {} [{}]", out_, comma(order));
    line("unroll {} {}.1\nunroll {} {}_0.1\nvectorize {} {}_1", out_, x, out_, k, out_, k);
    line("compute_at {} {} {}.0", sum_, out_, x);
    outer.pop_back();  // what is attached stays at a loop of its own
    for (const te::Axis& a : op_.reduce_axes) work *= a.extent;
    deal_out(*this, out_, outer, work);
  }

  void tile_sum() {
    const std::string k = op_.axes[1].var.name(), x = op_.axes.back().var.name();
    std::vector<std::string> order;
    for (const te::Axis& a : op_.reduce_axes) order.push_back(a.var.name());
    for (size_t d = 2; d < op_.axes.size(); ++d) order.push_back(op_.axes[d].var.name());
    order.insert(order.end(), {k + "_0", k + "_1"});
    line("reorder {} [{}]", sum_, comma(order));
    line("unroll {} {}\nunroll {} {}_0\nvectorize {} {}_1", sum_, x, sum_, k, sum_, k);
  }

  const Conv& c_;
  const target::Target& t_;
  const te::ComputeOp& op_;
  std::string out_, sum_, patches_;
};

}  // namespace

std::optional<Plan> plan_im2col(const schedule::State& initial, const Request& request) {
  const auto asked = request.given.find(std::string(kAlgorithmKnob));
  constexpr int64_t kIm2col = kFirstAlgorithm + static_cast<int64_t>(Algorithm::kIm2col);
  if (asked == request.given.end() || asked->second != kIm2col) return std::nullopt;
  const auto c = match(initial);
  return c ? Writer(*c, initial, request).run() : std::nullopt;
}

}  // namespace tenon::templates
