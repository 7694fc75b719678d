// SPDX-License-Identifier: Apache-2.0
// Contractions of any other form, such as capsule convolution: vectors along the longest axis that
// only the second operand has, stored innermost in it and in the output, and a register tile of one
// axis of each operand.
#include <algorithm>

#include "templates/anchor.h"
#include "templates/template.h"
#include "templates/write.h"

namespace tenon::templates {

using space::Builder;
using space::Domain;
using space::HoleKind;
using space::Loop;
using space::StageRef;
using space::Value;

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

// The axis of largest extent that `mine` depends on and `other` does not, `taken` left out; kNone
// if there is none.
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

class Writer {
 public:
  Writer(const General& g, Builder& b, const Request& request)
      : b_(b),
        request_(request),
        g_(g),
        t_(b.target().cpu()),
        op_(*g.chain.anchor),
        out_(b.stage(g.chain.final->name())),
        v_(choose_lanes(op_.axes[g.vector].extent, op_.output.dtype().bytes(), t_)),
        vn_(arith::ceil_div(op_.axes[g.vector].extent, v_)) {}

  void run() {
    acc_ = b_.cache_write(b_.stage(op_.name()), ir::Scope::kRegister);
    for (const te::ComputeOp* i : g_.chain.inlined) b_.compute_inline(b_.stage(i->name()));
    store_operands();
    tile_output();
    tile_sum();
  }

 private:
  // Dimension `dim` of `rank` split in two: its blocks first, its lanes last.
  void vectors_last(StageRef stage, size_t dim, size_t rank) {
    const auto at = static_cast<int64_t>(dim);
    b_.layout_split(stage, at, {vn_, v_});
    std::vector<int64_t> perm{at};
    for (int64_t d = 0; d <= static_cast<int64_t>(rank); ++d) {
      if (d != at && d != at + 1) perm.push_back(d);
    }
    perm.push_back(at + 1);
    b_.layout_reorder(stage, perm);
  }

  void store_operands() {
    for (size_t d = 0; g_.padding && d < g_.source.rank(); ++d) {
      const int64_t before = g_.padding->before[d], after = g_.padding->after[d];
      if (before + after > 0)
        b_.layout_pad(b_.stage(g_.source.name()), static_cast<int64_t>(d), before, after);
    }
    for (size_t d = 0; d < g_.w.indices.size(); ++d) {
      if (plain_axis(g_.w.indices[d], op_) == g_.vector)
        vectors_last(b_.stage(g_.w.tensor.name()), d, g_.w.tensor.rank());
    }
    vectors_last(out_, g_.vector, op_.axes.size());
    vectors_last(acc_, g_.vector, op_.axes.size());
    store_fixed_inputs(b_, request_, {g_.w.tensor.name()});
  }

  // Where an axis that is not the vector's stands behind its blocks; the blocks and the lanes
  // themselves.
  Loop axis(StageRef stage, size_t d) const { return b_.axis(stage, d < g_.vector ? d + 1 : d); }
  Loop blocks(StageRef stage) const { return b_.axis(stage, 0); }
  Loop lanes(StageRef stage) const { return b_.axis(stage, op_.axes.size()); }

  Value ask_row_parts() {
    const int64_t columns = g_.column == kNone ? 1 : op_.axes[g_.column].extent;
    const int64_t most = std::max<int64_t>(1, (t_.vector_registers - columns - 1) / columns);
    const int64_t rows = op_.axes[g_.row].extent;
    const int64_t rule = arith::ceil_div(rows, std::min(rows, most));
    return b_.ask({HoleKind::kParts, out_.id, 0}, "rn", parts_in_registers(rows, columns, rule, t_),
                  rule);
  }

  void tile_output() {
    std::vector<Loop> outer{blocks(out_)}, inner;
    for (size_t d = 0; d < op_.axes.size(); ++d) {
      if (d != g_.vector && d != g_.column && d != g_.row) outer.push_back(axis(out_, d));
    }
    const std::vector<Loop> even = outer;
    if (g_.row != kNone) {
      const auto [rows, row] = b_.parts(axis(out_, g_.row), ask_row_parts());
      outer.push_back(rows);
      inner.push_back(row);
    }
    if (g_.column != kNone) inner.push_back(axis(out_, g_.column));
    std::vector<Loop> order = outer;
    order.insert(order.end(), inner.begin(), inner.end());
    order.push_back(lanes(out_));
    b_.reorder(order);
    for (const Loop& i : inner) b_.unroll(i);
    b_.vectorize(lanes(out_));
    b_.compute_at(acc_, outer.back());
    share_out(even);
  }

  // The fewest outer loops that keep all cores busy; the one that may have unequal parts is left
  // alone.
  void share_out(const std::vector<Loop>& even) {
    std::vector<Loop> taken;
    int64_t pieces = 1;
    for (const Loop& l : even) {
      if (!taken.empty() && balance(pieces, t_.cores) >= 0.97) break;
      taken.push_back(l);
      pieces *= b_.extent(l);
    }
    b_.parallel(b_.fuse(taken));
  }

  void tile_sum() {
    std::vector<Loop> order, unrolled;
    for (size_t d = 0; d < op_.reduce_axes.size(); ++d)
      order.push_back(b_.axis(acc_, op_.axes.size() + 1 + d));
    for (const size_t d : {g_.row, g_.column}) {
      if (d != kNone) unrolled.push_back(axis(acc_, d));
    }
    order.insert(order.end(), unrolled.begin(), unrolled.end());
    order.push_back(lanes(acc_));
    b_.reorder(order);
    for (const Loop& l : unrolled) b_.unroll(l);
    b_.vectorize(lanes(acc_));
  }

  Builder& b_;
  const Request& request_;
  const General& g_;
  const target::Cpu& t_;
  const te::ComputeOp& op_;
  StageRef out_, acc_;
  int64_t v_, vn_;  // lanes, vectors
};

}  // namespace

std::optional<Written> write_contraction(Builder& b, const Request& request) {
  const auto g = match(b.dag());
  if (!g || (g->padding && (!request.borders || request.fixed.contains(g->source.name()))))
    return std::nullopt;
  Writer(*g, b, request).run();
  return Written{};
}

}  // namespace tenon::templates
