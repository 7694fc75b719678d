// SPDX-License-Identifier: Apache-2.0
// Reductions of other dimensions than the last one: vectors of columns, a few side by side in
// registers, each row read as it lies.
#include <algorithm>

#include "templates/anchor.h"
#include "templates/edges.h"
#include "templates/loops.h"
#include "templates/template.h"
#include "templates/write.h"

namespace tenon::templates {

namespace {

using space::Loop;
using space::StageRef;

constexpr int64_t kMostVectors = 8;  // side by side

// Every read is plain and along the last axis, none along what is reduced.
bool matches(const te::ComputeDag& dag, const Chain& chain) {
  const te::ComputeOp& op = *chain.anchor;
  if (op.axes.empty() || op.axes.back().extent < 2) return false;
  const size_t last = op.axes.size() - 1;
  bool long_row = false;
  for (const te::Access& a : te::accesses(op)) {
    if (!a.affine || a.strides[last] > 1) return false;
    for (size_t r = 0; r < op.reduce_axes.size(); ++r) {
      const int64_t stride = a.strides[op.axes.size() + r];
      if (op.reduce_axes[r].extent > 1 && stride > 0 && stride < op.axes.back().extent)
        return false;
    }
    // A product reuses its operands: tiles are better.
    for (size_t d = 0; d <= last; ++d) {
      if (a.reused[d]) return false;
    }
    long_row = long_row || a.strides[last] == 1;
  }
  return long_row && dag.outputs.size() == 1;
}

class Writer {
 public:
  Writer(const Chain& chain, space::Builder& b, const Request& request)
      : chain_(chain), b_(b), request_(request), op_(*chain.anchor) {
    out_ = b.stage(chain.final->name());
  }

  void run() {
    acc_ = b_.cache_write(b_.stage(op_.name()), ir::Scope::kRegister);
    for (const te::ComputeOp* i : chain_.inlined) b_.compute_inline(b_.stage(i->name()));
    store_fixed_inputs(b_, request_);
    tile_output();
    tile_sum();
  }

 private:
  // As many vectors as keep all cores busy.
  int64_t side_by_side(int64_t vectors, int64_t others) const {
    const int cores = b_.target().cpu().cores;
    int64_t n = std::min(vectors, kMostVectors);
    while (n > 1 && balance(others * arith::ceil_div(vectors, n), cores) < 0.9) --n;
    return n;
  }

  void tile_output() {
    const target::Cpu& t = b_.target().cpu();
    const int64_t columns = op_.axes.back().extent;
    v_ = choose_lanes(columns, op_.output.dtype().bytes(), t);
    while (v_ > columns) v_ /= 2;
    std::vector<Loop> outer;
    int64_t others = 1, work = 1;
    for (size_t d = 0; d + 1 < op_.axes.size(); ++d) {
      outer.push_back(b_.axis(out_, d));
      others *= op_.axes[d].extent;
    }
    for (const te::Axis& a : op_.reduce_axes) work *= a.extent;
    const int64_t n = side_by_side(arith::ceil_div(columns, v_), others);
    const auto [tiles, vectors, lanes] = b_.split<3>(b_.axis(out_, op_.axes.size() - 1), {n, v_});
    b_.unroll(vectors);
    b_.vectorize(lanes);
    b_.compute_at(acc_, tiles);
    outer.push_back(tiles);
    deal_out_tiles(outer, work * others * arith::ceil_div(columns, v_));
  }

  // Attached stages stay at a loop of their own where there is another.
  void deal_out_tiles(std::vector<Loop> outer, int64_t work) {
    const int cores = b_.target().cpu().cores;
    const Loop tiles = outer.back();
    outer.pop_back();
    int64_t others = 1;
    for (const Loop& l : outer) others *= b_.extent(l);
    if (balance(others, cores) >= 0.9) return deal_out(b_, outer, work);
    if (cores > 1 && work >= b_.target().cpu().parallel_vectors && b_.extent(tiles) > 1)
      b_.parallel(tiles);
  }

  void tile_sum() {
    if (b_.refused()) return;
    const size_t rank = op_.axes.size();
    std::vector<Loop> order;
    for (size_t r = 0; r < op_.reduce_axes.size(); ++r) order.push_back(b_.axis(acc_, rank + r));
    const auto [vectors, lanes] = b_.split<2>(b_.axis(acc_, rank - 1), {v_});
    order.insert(order.end(), {vectors, lanes});
    b_.reorder(order);
    b_.unroll(vectors);
    b_.vectorize(lanes);
  }

  const Chain& chain_;
  space::Builder& b_;
  const Request& request_;
  const te::ComputeOp& op_;
  StageRef out_, acc_;
  int64_t v_ = 1;  // lanes
};

}  // namespace

std::optional<Written> write_columns(space::Builder& b, const Request& request) {
  const auto chain = find_chain(b.dag());
  if (!chain || !matches(b.dag(), *chain) || !may_be_plain(request, b.dag().outputs[0]))
    return std::nullopt;
  Writer(*chain, b, request).run();
  return Written{};
}

}  // namespace tenon::templates
