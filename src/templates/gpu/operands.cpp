// SPDX-License-Identifier: Apache-2.0
#include "templates/gpu/operands.h"

#include <algorithm>
#include <numeric>

#include "arith/linear.h"
#include "templates/anchor.h"
#include "templates/gpu/kernels.h"
#include "templates/write.h"

namespace tenon::templates::gpu {

using schedule::Gemm;
using schedule::GemmSide;
using space::Loop;
using space::StageRef;

namespace {

constexpr int64_t kLanes = 4;
constexpr int64_t kBanks = 32;

// Elements between two steps of an axis; 0: no dimension goes by it alone. A tap of which there is
// only one moves nothing.
int64_t stride_of(const GemmSide& side, const te::Axis& axis, const Gemm& g) {
  ir::VarMap single;
  for (const te::Axis& a : g.sums) {
    if (a.extent == 1) single[a.var.node()] = ir::Expr(0);
  }
  int64_t stride = 0;
  for (size_t d = 0; d < side.read->indices.size(); ++d) {
    if (!ir::uses_var(side.read->indices[d], axis.var.node())) continue;
    if (stride != 0 || !ir::substitute(side.read->indices[d], single).same_as(axis.var)) return 0;
    stride = side.read->buffer->strides[d];
  }
  return stride;
}

bool is_along_sum(const GemmSide& side, const Gemm& g) {
  return !side.constant && stride_of(side, g.sums.back(), g) == 1 &&
         g.sums.back().extent % kLanes == 0;
}

}  // namespace

void Operands::lay_out() {
  lay_out(g_.slow);
  lay_out(g_.fast);
}

void Operands::lay_out(const Side& side) {
  if (b_.refused()) return;
  if (side.constant) return lay_out_constant(side);
  if (in_quads(side)) lay_out_quads(side);
}

// i p  =>  i/4 p 4: four numbers that lie side by side in memory are fetched at once.
// Where threads have n rows each, i/4 n p/n 4: neighbouring threads read neighbours.
void Operands::lay_out_quads(const Side& side) {
  const StageRef stage = made(b_, name_of(side));
  const auto rank = static_cast<int64_t>(b_.now(stage).axes.size());
  b_.layout_split(stage, rank - 2, {g_.length / kLanes, kLanes});
  std::vector<int64_t> order;
  for (int64_t d = 0; d + 1 < rank; ++d) order.push_back(d);
  if (is_apart(side)) {
    b_.layout_split(stage, rank, {side.extent / own(side), own(side)});
    order.push_back(rank + 1);
  }
  order.insert(order.end(), {rank, rank - 1});
  b_.layout_reorder(stage, order);
  const int64_t count = swizzle_of(side);
  const Banks banks = ask_banks(stage, count);
  (&side == &g_.slow ? slow_banks_ : fast_banks_) = banks;
  const auto last = static_cast<int64_t>(order.size()) - 1;
  if (banks == Banks::kSwizzle) b_.layout_swizzle(stage, last - 1, rank - 2, count);
}

// How many quads along the side lie in an order of their own. Which that is goes by the place along the sum, inside of
// what is fetched at once.
int64_t Operands::swizzle_of(const Side& side) const {
  constexpr int64_t kQuads = kBanks / kLanes;
  const int64_t apart = is_apart(side) ? own(side) : 1;
  const int64_t all =
      std::gcd(std::gcd(side.extent / apart, width(side) / apart), tile_.depth / kLanes);
  return std::gcd(all, kQuads);
}

// Threads that fetch write along the sum, and those that multiply read along the side.
Operands::Banks Operands::ask_banks(StageRef stage, int64_t count) {
  const auto shown = [&](const schedule::Trace& trace) -> std::optional<int64_t> {
    for (const schedule::Step& s : trace) {
      const auto* swizzle = std::get_if<schedule::LayoutSwizzle>(&s);
      if (swizzle != nullptr && swizzle->stage == stage)
        return static_cast<int64_t>(Banks::kSwizzle);
      const auto* align = std::get_if<schedule::StorageAlign>(&s);
      if (align != nullptr && align->stage == stage) return static_cast<int64_t>(Banks::kPad);
    }
    return static_cast<int64_t>(Banks::kPlain);
  };
  const auto pad = static_cast<int64_t>(Banks::kPad), plain = static_cast<int64_t>(Banks::kPlain);
  std::vector<int64_t> ways{pad, plain};
  if (count > 1) ways.push_back(static_cast<int64_t>(Banks::kSwizzle));
  const space::Value way = b_.ask({space::HoleKind::kSwitch, stage.id, 0}, "banks",
                                  space::Domain::of(std::move(ways)), pad, nullptr, shown);
  return static_cast<Banks>(int64_t{way});
}

// A constant is stored as it is fetched: along the sums outside, along its side inside.
void Operands::lay_out_constant(const Side& side) {
  std::vector<int64_t> order, along, mine;
  for (size_t d = 0; d < side.read->indices.size(); ++d) {
    const auto axis = plain_axis(side.read->indices[d], op_);
    if (axis && *axis >= op_.axes.size()) continue;
    (axis && side.holds(*axis) ? mine : order).push_back(static_cast<int64_t>(d));
  }
  for (const te::Axis& a : g_.sums) {
    for (size_t d = 0; d < side.read->indices.size(); ++d) {
      if (side.read->indices[d].same_as(a.var)) along.push_back(static_cast<int64_t>(d));
    }
  }
  const auto outside = static_cast<int64_t>(order.size());
  order.insert(order.end(), along.begin(), along.end());
  order.insert(order.end(), mine.begin(), mine.end());
  const StageRef stage = b_.stage(side.read->buffer.name());
  if (!std::is_sorted(order.begin(), order.end())) b_.layout_reorder(stage, order);
  const auto sums = static_cast<int64_t>(along.size());
  if (mine.size() > 1) {
    b_.layout_fuse(stage, outside + sums, static_cast<int64_t>(mine.size()));
  }
  if (sums > 1) b_.layout_fuse(stage, outside, sums);
  if (&side == &g_.fast && is_wide()) keep_apart(stage, outside + 1);
}

// p  =>  p/(t*n*4) n t 4: a thread reads its vectors one after the other, and neighbouring threads
// read neighbours.
void Operands::keep_apart(StageRef stage, int64_t dim) {
  b_.layout_split(
      stage, dim,
      {g_.fast.extent / tile_.block_fast(), tile_.fast_threads, tile_.fast / kLanes, kLanes});
  std::vector<int64_t> order;
  for (int64_t d = 0; d <= dim; ++d) order.push_back(d);
  order.insert(order.end(), {dim + 2, dim + 1, dim + 3});
  b_.layout_reorder(stage, order);
}

std::string Operands::name_of(const Side& side) const {
  return op_.name() + (&side == &g_.slow ? ".x" : ".y");
}

StageRef Operands::stage_of(const Side& side, StageRef sum) {
  if (!side.constant) return made(b_, name_of(side));
  return b_.cache_read(b_.stage(side.read->buffer.name()), {sum}, ir::Scope::kShared);
}

void Operands::fetch(StageRef stage, const Side& side, Loop steps) {
  b_.compute_shared(stage, steps);
  const bool rows = in_rows(side) && width(side) % kLanes == 0 && side.extent % kLanes == 0;
  const bool quads = in_quads(side);
  if (quads) fetch_rows(stage, side);
  // A result that is smaller than a tile has fewer threads.
  const int64_t y = std::min(tile_.slow_threads, arith::ceil_div(g_.slow.extent, tile_.slow));
  const int64_t x = std::min(tile_.fast_threads, arith::ceil_div(g_.fast.extent, tile_.fast));
  fetch_together(b_, stage, {.x = x, .y = y, .z = tile_.groups}, quads || rows ? kLanes : 1);
}

// Neighbouring threads fetch neighbours along the sum, and leave them in different banks.
void Operands::fetch_rows(StageRef stage, const Side& side) {
  if (b_.refused()) return;
  std::vector<Loop> order;
  for (size_t d = 0; d < b_.now(stage).axes.size(); ++d) order.push_back(b_.axis(stage, d));
  const auto sum = static_cast<int64_t>(order.size()) - (is_apart(side) ? 4 : 3);
  std::rotate(order.begin() + sum, order.begin() + sum + 1, order.end() - 1);
  b_.reorder(order);
  if ((&side == &g_.slow ? slow_banks_ : fast_banks_) == Banks::kPad)
    b_.storage_align(stage, sum, kBanks, kLanes);
}

// The operand is read along the sum without gaps, and so are the pieces of it.
bool Operands::in_quads(const Side& side) const {
  return is_along_sum(side, g_) && tile_.depth % kLanes == 0;
}

// Neighbours along the side are neighbours in memory.
bool Operands::in_rows(const Side& side) const {
  if (side.constant) return true;
  int64_t step = 1;
  for (size_t d = side.first + side.count; d-- > side.first;) {
    if (stride_of(side, op_.axes[d], g_) != step) return false;
    step *= op_.axes[d].extent;
  }
  return true;
}

// Rows of an operand by fours are stored by which of a thread's rows they are.
bool Operands::is_apart(const Side& side) const {
  return own(side) > 1 && side.extent % own(side) == 0;
}

// Threads have more than one vector each of a fast side that is stored as it is fetched.
bool Operands::is_wide() const {
  return tile_.fast > kLanes && tile_.fast % kLanes == 0 && g_.fast.constant &&
         g_.fast.extent % tile_.block_fast() == 0;
}

}  // namespace tenon::templates::gpu
