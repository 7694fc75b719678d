// SPDX-License-Identifier: Apache-2.0
#include "schedule/algorithms/phases.h"

#include <algorithm>

#include "arith/linear.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::schedule {
namespace {

using ir::Expr;
using te::Axis;

int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

// n, k, positions; c and a tap for each position; indices of x and w in this order.
bool is_convolution(const te::ComputeOp& op, const Operands& o) {
  const size_t n = op.axes.size();
  if (n < 3 || op.reduce_axes.size() != n - 1) return false;
  if (o.x->indices.size() != n || o.w->indices.size() != n) return false;
  if (!o.x->indices[0].same_as(op.axes[0].var) || !o.w->indices[0].same_as(op.axes[1].var) ||
      !o.x->indices[1].same_as(op.reduce_axes[0].var))
    return false;
  for (size_t d = 1; d < n; ++d) {
    if (!o.w->indices[d].same_as(op.reduce_axes[d - 1].var)) return false;
  }
  return true;
}

// p + tap*dilation: the dilation; 1 for what stays as it is, nothing for other indices than a window's.
std::optional<int64_t> dilation_of(const Expr& index, const Axis& at, const Axis& tap) {
  const arith::Linear l = arith::to_linear(index);
  const int64_t by = l.coefficient(tap.var.node());
  if (!l.is_affine() || l.constant != 0 || l.terms.size() > 2) return std::nullopt;
  return l.coefficient(at.var.node()) == 1 && by > 1 && l.terms.size() == 2 ? by : 1;
}

class Phases {
 public:
  Phases(State& s, StageId stage)
      : s_(s), id_(stage), op_(s.stage(stage).op), d_(*find_dilated(*op_)) {}

  void run() {
    const ir::Buffer images = split_input();
    const ir::Buffer result = convolve(images);
    std::vector<Expr> at{op_->axes[0].var * number(d_.images), op_->axes[1].var};
    int64_t step = d_.images;
    for (size_t d = 0; d < d_.phases.size(); ++d) {
      const Expr p = op_->axes[2 + d].var;
      const int64_t f = d_.phases[d];
      step /= f;
      if (f > 1) at[0] = at[0] + ir::floor_mod(p, number(f)) * number(step);
      at.push_back(f > 1 ? ir::floor_div(p, number(f)) : p);
    }
    read_result(s_, id_, ir::load(result, at), Algorithm::kPhases);
  }

 private:
  // Which phase of dimension `d` image `n` holds.
  Expr phase(const Expr& n, size_t d) const {
    int64_t step = 1;
    for (size_t i = d + 1; i < d_.phases.size(); ++i) step *= d_.phases[i];
    return ir::floor_mod(ir::floor_div(n, number(step)), number(d_.phases[d]));
  }

  ir::Buffer split_input() {
    const auto& x = d_.x->buffer.shape();
    Shape shape;
    const Expr n = shape.add(op_->axes[0].var.name(), x[0] * d_.images);
    std::vector<Expr> at{ir::floor_div(n, number(d_.images)),
                         shape.add(op_->reduce_axes[0].var.name(), x[1])};
    Expr inside;
    for (size_t d = 0; d < d_.phases.size(); ++d) {
      const int64_t f = d_.phases[d];
      const Expr q = shape.add(op_->axes[2 + d].var.name(), ceil_of(x[2 + d], f));
      at.push_back(f > 1 ? q * number(f) + phase(n, d) : q);
      if (x[2 + d] % f == 0) continue;
      const Expr ok = ir::lt(at.back(), number(x[2 + d]));
      inside = inside.defined() ? ir::logical_and(inside, ok) : ok;
    }
    Expr value = ir::load(d_.x->buffer, at);
    if (inside.defined()) value = ir::select(inside, value, ir::zero_of(ir::kF32));
    return add_stage(s_, id_, "x", shape, value);
  }

  ir::Buffer convolve(const ir::Buffer& images) {
    Shape shape;
    std::vector<Axis> reduce;
    ir::VarMap map;
    const Expr n = shape.add(op_->axes[0].var.name(), op_->axes[0].extent * d_.images);
    const Expr k = shape.add(op_->axes[1].var.name(), op_->axes[1].extent);
    for (const Axis& r : op_->reduce_axes) {
      reduce.push_back({ir::Var(r.var.name()), r.extent});
      map[r.var.node()] = reduce.back().var;
    }
    std::vector<Expr> at{n, reduce[0].var}, weights{k, reduce[0].var};
    for (size_t d = 0; d < d_.phases.size(); ++d) {
      const Axis& p = op_->axes[2 + d];
      const Expr q = shape.add(p.var.name(), ceil_of(p.extent, d_.phases[d]));
      map[p.var.node()] = q;
      at.push_back(d_.phases[d] > 1 ? q + reduce[1 + d].var
                                    : ir::substitute(d_.x->indices[2 + d], map));
      weights.emplace_back(reduce[1 + d].var);
    }
    return add_stage(s_, id_, "u", shape, ir::load(images, at) * ir::load(d_.w->buffer, weights),
                     reduce);
  }

  State& s_;
  StageId id_;
  te::OpRef op_;  // as it was
  Dilated d_;
};

}  // namespace

std::optional<Dilated> find_dilated(const te::ComputeOp& op) {
  const auto both = find_operands(op);
  if (!both) return std::nullopt;
  Dilated found{*both, {}, 1, 0};
  if (!is_convolution(op, found)) std::swap(found.x, found.w);
  if (!is_convolution(op, found)) return std::nullopt;
  double in = 1, out = static_cast<double>(op.axes[0].extent * op.axes[1].extent);
  for (const int64_t e : found.x->buffer.shape()) in *= static_cast<double>(e);
  for (size_t d = 2; d < op.axes.size(); ++d) {
    const auto f = dilation_of(found.x->indices[d], op.axes[d], op.reduce_axes[d - 1]);
    if (!f) return std::nullopt;
    found.phases.push_back(*f);
    found.images *= *f;
    in += in * static_cast<double>(*f) / static_cast<double>(found.x->buffer.shape()[d]);
    out *= static_cast<double>(op.axes[d].extent + *f);
  }
  found.elements = std::max(in, out);
  return found.images > 1 ? std::optional(found) : std::nullopt;
}

void compute_by_phases(State& s, StageId stage) { Phases(s, stage).run(); }

}  // namespace tenon::schedule
