// SPDX-License-Identifier: Apache-2.0
#include "schedule/algorithms/gemm.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::schedule {
namespace {

using ir::Expr;
using te::Axis;

bool uses(const ir::Load& read, const Axis& a) {
  return std::any_of(read.indices.begin(), read.indices.end(),
                     [&](const Expr& i) { return ir::uses_var(i, a.var.node()); });
}

// The last run of neighbouring axes that `mine` reads and `other` does not.
GemmSide side_of(const State& s, const te::ComputeOp& op, const ir::Load& mine,
                 const ir::Load& other) {
  GemmSide side{.read = &mine};
  const auto is_own = [&](size_t d) {
    return op.axes[d].extent > 1 && uses(mine, op.axes[d]) && !uses(other, op.axes[d]);
  };
  size_t end = op.axes.size();
  while (end > 0 && !is_own(end - 1)) --end;
  side.first = end;
  while (side.first > 0 && is_own(side.first - 1)) --side.first;
  side.count = end - side.first;
  for (size_t d = side.first; d < end; ++d) side.extent *= op.axes[d].extent;
  side.constant = is_constant(s, mine) &&
                  std::all_of(mine.indices.begin(), mine.indices.end(), [](const Expr& i) {
                    return i.as<ir::VarNode>() != nullptr || ir::const_int(i);
                  });
  return side;
}

// An index is more than this axis: a position in a window.
bool is_tap(const Axis& a, const ir::Load& read) {
  return std::any_of(read.indices.begin(), read.indices.end(), [&](const Expr& i) {
    return i.as<ir::VarNode>() == nullptr && ir::uses_var(i, a.var.node());
  });
}

// The values of some axes, given that of all of them as one.
void take_apart(const Expr& whole, std::span<const Axis> axes, ir::VarMap& map) {
  int64_t inside = 1;
  for (const Axis& a : axes) inside *= a.extent;
  for (size_t j = 0; j < axes.size(); ++j) {
    inside /= axes[j].extent;
    Expr v = ir::floor_div(whole, inside);
    if (j > 0) v = ir::floor_mod(v, axes[j].extent);
    map[axes[j].var.node()] = v;
  }
}

Expr put_together(std::span<const Axis> axes) {
  Expr v(0);
  for (const Axis& a : axes) v = v * Expr(a.extent) + a.var;
  return v;
}

std::span<const Axis> axes_of(const te::ComputeOp& op, const GemmSide& side) {
  return std::span(op.axes).subspan(side.first, side.count);
}

std::vector<Expr> substituted(const std::vector<Expr>& indices, const ir::VarMap& map) {
  std::vector<Expr> out;
  for (const Expr& i : indices) out.push_back(ir::substitute(i, map));
  return out;
}

// The operand of one side as a stage: what is outside, the sum, the side.
ir::Buffer add_operand(State& s, StageId stage, const te::ComputeOp& op, const Gemm& g,
                       const GemmSide& side, const char* name) {
  Shape shape;
  ir::VarMap map;
  for (const size_t d : g.outer) {
    if (uses(*side.read, op.axes[d]))
      map[op.axes[d].var.node()] = shape.add(op.axes[d].var.name(), op.axes[d].extent);
  }
  take_apart(shape.add("i", g.length), g.sums, map);
  take_apart(shape.add("p", side.extent), axes_of(op, side), map);
  return add_stage(s, stage, name, shape,
                   ir::load(side.read->buffer, substituted(side.read->indices, map)));
}

}  // namespace

std::optional<Gemm> find_gemm(const State& s, const te::ComputeOp& op) {
  const auto both = find_operands(op);
  if (!both) return std::nullopt;
  Gemm g{side_of(s, op, *both->x, *both->w), side_of(s, op, *both->w, *both->x), {}, 1, 1, {}};
  if (g.slow.first > g.fast.first) std::swap(g.slow, g.fast);
  if (g.slow.count == 0 || g.fast.count == 0) return std::nullopt;
  for (size_t d = 0; d < op.axes.size(); ++d) {
    if (g.slow.holds(d) || g.fast.holds(d)) continue;
    g.outer.push_back(d);
    g.outer_extent *= op.axes[d].extent;
  }
  for (const Axis& a : op.reduce_axes) {
    g.length *= a.extent;
    if (is_tap(a, *g.slow.read) || is_tap(a, *g.fast.read)) g.sums.push_back(a);
  }
  for (const Axis& a : op.reduce_axes) {
    if (!is_tap(a, *g.slow.read) && !is_tap(a, *g.fast.read)) g.sums.push_back(a);
  }
  return g;
}

double gemm_elements(const Gemm& g) {
  const auto outer = static_cast<double>(g.outer_extent), length = static_cast<double>(g.length);
  const auto slow = static_cast<double>(g.slow.extent), fast = static_cast<double>(g.fast.extent);
  return outer * std::max({length * slow, length * fast, slow * fast});
}

void compute_by_gemm(State& s, StageId stage) {
  const te::OpRef op = s.stage(stage).op;
  const Gemm g = *find_gemm(s, *op);
  Shape shape;
  ir::VarMap map;  // of the result's axes
  std::vector<Expr> at;
  for (const size_t d : g.outer) {
    map[op->axes[d].var.node()] = shape.add(op->axes[d].var.name(), op->axes[d].extent);
    at.emplace_back(op->axes[d].var);
  }
  const ir::Var sum("i");
  take_apart(sum, g.sums, map);
  const auto operand = [&](const GemmSide& side, const char* name, const Expr& own) {
    if (side.constant) return ir::load(side.read->buffer, substituted(side.read->indices, map));
    const ir::Buffer buffer = add_operand(s, stage, *op, g, side, name);
    std::vector<Expr> indices;
    for (const size_t d : g.outer) {
      if (uses(*side.read, op->axes[d])) indices.push_back(map.at(op->axes[d].var.node()));
    }
    indices.insert(indices.end(), {sum, own});
    return ir::load(buffer, indices);
  };
  const Expr slow = shape.add("m", g.slow.extent), fast = shape.add("p", g.fast.extent);
  take_apart(slow, axes_of(*op, g.slow), map);
  take_apart(fast, axes_of(*op, g.fast), map);
  const Expr a = operand(g.slow, "x", slow), b = operand(g.fast, "y", fast);
  at.push_back(put_together(axes_of(*op, g.slow)));
  at.push_back(put_together(axes_of(*op, g.fast)));
  const ir::Buffer product = add_stage(s, stage, "g", shape, a * b, {{sum, g.length}});
  read_result(s, stage, ir::load(product, at), Algorithm::kGemm);
}

}  // namespace tenon::schedule
