// SPDX-License-Identifier: Apache-2.0
// Contractions of any other form, such as capsule convolution: vectors along the longest axis that only the second
// operand has, stored innermost in it and in the output, and a register tile of one axis of each operand.
#include <algorithm>

#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/plan_writer.h"

namespace tenon::templates {

namespace {

constexpr size_t kNone = static_cast<size_t>(-1);

struct General {
  Chain chain;
  te::Access x, w;
  te::Tensor source;  // behind the padding of x
  std::optional<Padding> padding;
  size_t vector = kNone;  // axis that only w has
  size_t column = kNone;  // another one, if there is
  size_t row = kNone;     // axis that only x has
};

// The axis of largest extent that `mine` depends on and `other` does not, `taken` left out; kNone if there is none.
size_t own_axis(const te::ComputeOp& op, const te::Access& mine, const te::Access& other,
                size_t taken, int64_t limit) {
  size_t best = kNone;
  for (size_t d = 0; d < op.axes.size(); ++d) {
    if (d == taken || mine.strides[d] == 0 || other.strides[d] != 0 || op.axes[d].extent < 2)
      continue;
    if (limit > 0 && op.axes[d].extent > limit) continue;
    if (best == kNone || op.axes[d].extent > op.axes[best].extent) best = d;
  }
  return best;
}

std::optional<General> match(const te::ComputeDag& dag) {
  auto chain = find_chain(dag);
  if (!chain) return std::nullopt;
  const te::ComputeOp& op = *chain->anchor;
  const auto parts = find_contraction(dag, op);
  if (!parts || !parts->x.affine || dag.producer(parts->w.tensor) != nullptr) return std::nullopt;
  General g{*chain, parts->x, parts->w, parts->x.tensor, find_padding(dag, parts->x.tensor)};
  if (g.padding) g.source = g.padding->source;
  if (dag.producer(g.source) != nullptr) return std::nullopt;
  g.vector = own_axis(op, g.w, g.x, kNone, 0);
  if (g.vector == kNone) return std::nullopt;
  g.column = own_axis(op, g.w, g.x, g.vector, 4);
  g.row = own_axis(op, g.x, g.w, kNone, 0);
  return g;
}

class Writer : private PlanWriter {
 public:
  Writer(const General& g, const schedule::State& initial, const Request& request)
      : PlanWriter(initial, request), g_(g), t_(initial.target()), op_(*g.chain.anchor) {
    out_ = g.chain.final->name();
    acc_ = op_.name() + ".cache";
  }

  Plan run() {
    const int64_t extent = op_.axes[g_.vector].extent;
    const int64_t v = choose_lanes(extent, op_.output.dtype().bytes(), t_);
    const int64_t columns = g_.column == kNone ? 1 : op_.axes[g_.column].extent;
    const int64_t most = std::max<int64_t>(1, (t_.vector_registers - columns - 1) / columns);
    const int64_t rows = g_.row == kNone ? 1 : op_.axes[g_.row].extent;
    knobs() = {{"v", v},
               {"vn", arith::ceil_div(extent, v)},
               {"rn", choice("rn", arith::ceil_div(rows, std::min(rows, most)), rows)}};
    line("cache_write {} register", op_.name());
    for (const te::ComputeOp* i : g_.chain.inlined) line("compute_inline {}", i->name());
    store_operands();
    tile_output();
    tile_sum();
    return take();
  }

 private:
  std::string name(const te::ComputeOp& op, size_t axis) const { return op.axes[axis].var.name(); }

  // Dimension `dim` of `rank` split in two: its blocks first, its lanes last.
  void vectors_last(const std::string& stage, size_t dim, size_t rank) {
    line("layout_split {} {} [$vn, $v]", stage, dim);
    std::vector<std::string> perm{std::to_string(dim)};
    for (size_t d = 0; d <= rank; ++d) {
      if (d != dim && d != dim + 1) perm.push_back(std::to_string(d));
    }
    perm.push_back(std::to_string(dim + 1));
    line("layout_reorder {} [{}]", stage, comma(perm));
  }

  void store_operands() {
    for (size_t d = 0; g_.padding && d < g_.source.rank(); ++d) {
      if (g_.padding->before[d] + g_.padding->after[d] > 0) {
        line("layout_pad {} {} {} {}", g_.source.name(), d, g_.padding->before[d],
             g_.padding->after[d]);
      }
    }
    for (size_t d = 0; d < g_.w.indices.size(); ++d) {
      if (plain_axis(g_.w.indices[d], op_) == g_.vector)
        vectors_last(g_.w.tensor.name(), d, g_.w.tensor.rank());
    }
    vectors_last(out_, g_.vector, op_.axes.size());
    vectors_last(acc_, g_.vector, op_.axes.size());
    store_fixed_inputs({g_.w.tensor.name()});
  }

  void tile_output() {
    const te::ComputeOp& like = *g_.chain.final;
    const std::string vector = name(like, g_.vector);
    std::vector<std::string> outer{vector + "_0"};
    std::vector<std::string> inner;
    for (size_t d = 0; d < like.axes.size(); ++d) {
      if (d != g_.vector && d != g_.column && d != g_.row) outer.push_back(name(like, d));
    }
    if (g_.row != kNone) {
      line("split {} {} [$rn] parts", out_, name(like, g_.row));
      outer.push_back(name(like, g_.row) + ".0");
      inner.push_back(name(like, g_.row) + ".1");
    }
    if (g_.column != kNone) inner.push_back(name(like, g_.column));
    std::vector<std::string> order = outer;
    order.insert(order.end(), inner.begin(), inner.end());
    order.push_back(vector + "_1");
    line("reorder {} [{}]", out_, comma(order));
    for (const std::string& i : inner) line("unroll {} {}", out_, i);
    line("vectorize {} {}_1", out_, vector);
    line("compute_at {} {} {}", acc_, out_, outer.back());
    deal_out(like, outer);
  }

  // The fewest outer loops that keep all cores busy; the one that may have unequal parts is left alone.
  void deal_out(const te::ComputeOp& like, const std::vector<std::string>& outer) {
    std::vector<std::string> fused{outer[0]};
    int64_t pieces = knobs()["vn"];
    for (size_t d = 0; d < like.axes.size() && balance(pieces, t_.cores) < 0.97; ++d) {
      if (d == g_.vector || d == g_.column || d == g_.row) continue;
      fused.push_back(name(like, d));
      pieces *= like.axes[d].extent;
    }
    std::string joined = fused[0];
    for (size_t i = 1; i < fused.size(); ++i) joined += "@" + fused[i];
    if (fused.size() > 1) line("fuse {} [{}]", out_, comma(fused));
    line("parallel {} {}", out_, joined);
  }

  void tile_sum() {
    std::vector<std::string> order;
    for (const te::Axis& a : op_.reduce_axes) order.push_back(a.var.name());
    for (const size_t d : {g_.row, g_.column}) {
      if (d != kNone) order.push_back(name(op_, d));
    }
    order.push_back(name(op_, g_.vector) + "_1");
    line("reorder {} [{}]", acc_, comma(order));
    for (const size_t d : {g_.row, g_.column}) {
      if (d != kNone) line("unroll {} {}", acc_, name(op_, d));
    }
    line("vectorize {} {}_1", acc_, name(op_, g_.vector));
  }

  const General& g_;
  const target::Target& t_;
  const te::ComputeOp& op_;
  std::string out_, acc_;
};

}  // namespace

std::optional<Plan> plan_contraction(const schedule::State& initial, const Request& request) {
  const auto g = match(initial.dag());
  if (!g || (g->padding && (!request.borders || request.fixed.contains(g->source.name()))))
    return std::nullopt;
  return Writer(*g, initial, request).run();
}

}  // namespace tenon::templates
