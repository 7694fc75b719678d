// SPDX-License-Identifier: Apache-2.0
#include "schedule/algorithms/strassen.h"

#include <algorithm>

#include "arith/simplify.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace tenon::schedule {
namespace {

using ir::Expr;
using te::Axis;

// The reduction axis of more than one step, if there is just one.
std::optional<size_t> find_k(const te::ComputeOp& op) {
  std::optional<size_t> k;
  for (size_t d = 0; d < op.reduce_axes.size(); ++d) {
    if (op.reduce_axes[d].extent == 1) continue;
    if (k) return std::nullopt;
    k = d;
  }
  return k;
}

// Each index of w is the column, k, or the only step of another reduction.
bool take_weights(const te::ComputeOp& op, Product& p) {
  int columns = 0, steps = 0;
  for (size_t d = 0; d < p.w->indices.size(); ++d) {
    const Expr& index = p.w->indices[d];
    const int64_t extent = p.w->buffer.shape()[d];
    if (ir::is_const(index, 0)) continue;
    if (index.same_as(op.reduce_axes[p.k].var)) {
      p.k_dim = d;
      steps += extent == op.reduce_axes[p.k].extent ? 1 : 2;
      continue;
    }
    const auto is_index = [&](const Axis& a) { return index.same_as(a.var); };
    if (std::any_of(op.reduce_axes.begin(), op.reduce_axes.end(), is_index)) continue;
    const auto axis = std::find_if(op.axes.begin(), op.axes.end(), is_index);
    if (axis == op.axes.end()) return false;
    p.column = static_cast<size_t>(axis - op.axes.begin());
    p.column_dim = d;
    columns += extent == axis->extent ? 1 : 2;
  }
  return columns == 1 && steps == 1;
}

// The longest run of axes beside the column.
void take_rows(const te::ComputeOp& op, Product& p) {
  p.rows = 0;
  for (size_t d = 0; d < op.axes.size();) {
    const size_t first = d;
    int64_t rows = 1;
    for (; d < op.axes.size() && d != p.column; ++d) rows *= op.axes[d].extent;
    if (d > first && rows >= p.rows) {
      p.rows = rows;
      p.first = first;
      p.last = d;
    }
    if (d == p.column) ++d;
  }
}

class Strassen {
 public:
  Strassen(State& s, StageId stage)
      : s_(s), id_(stage), op_(s.stage(stage).op), p_(*find_product(s, *op_)) {
    k_extent_ = op_->reduce_axes[p_.k].extent;
    half_rows_ = half_of(p_.rows);
    half_k_ = half_of(k_extent_);
    half_columns_ = half_of(op_->axes[p_.column].extent);
  }

  void run() {
    const ir::Buffer w = turn_weights(
        s_, p_.w->buffer, WeightTransform(Algorithm::kStrassen, {p_.k_dim, p_.column_dim}));
    read_quarters(combine(multiply(add_up(), w)));
  }

 private:
  std::string k_name() const { return op_->reduce_axes[p_.k].var.name(); }

  // Axes that are neither rows nor the column.
  std::vector<size_t> outer_axes() const {
    std::vector<size_t> out;
    for (size_t d = 0; d < op_->axes.size(); ++d) {
      if (d != p_.column && (d < p_.first || d >= p_.last)) out.push_back(d);
    }
    return out;
  }
  std::vector<Expr> add_outer(Shape& shape) const {
    std::vector<Expr> out;
    for (const size_t d : outer_axes())
      out.push_back(shape.add(op_->axes[d].var.name(), op_->axes[d].extent));
    return out;
  }

  static Expr shifted(const Expr& e, int64_t by) { return by == 0 ? e : e + number(by); }

  // One of x's quarters; zero beyond the end of a half that is one shorter.
  Expr read_quarter(size_t quarter, const std::vector<Expr>& outer, const Expr& t, const Expr& k,
                    const arith::Ranges& ranges) const {
    const bool lower = quarter >= 2, right = quarter % 2 == 1;
    Expr row = shifted(t, lower ? half_rows_ : 0);
    const Expr step = shifted(k, right ? half_k_ : 0);
    Expr inside;
    if (lower && p_.rows % 2 != 0) inside = ir::lt(row, number(p_.rows));
    if (right && k_extent_ % 2 != 0) {
      const Expr ok = ir::lt(step, number(k_extent_));
      inside = inside.defined() ? ir::logical_and(inside, ok) : ok;
    }
    ir::VarMap map;
    const std::vector<size_t> others = outer_axes();
    for (size_t i = 0; i < others.size(); ++i) map[op_->axes[others[i]].var.node()] = outer[i];
    for (const Axis& r : op_->reduce_axes) map[r.var.node()] = number(0);
    map[op_->reduce_axes[p_.k].var.node()] = step;
    // Rows are one dimension here: each of their axes is a digit.
    for (size_t d = p_.last; d-- > p_.first;) {
      const int64_t extent = op_->axes[d].extent;
      map[op_->axes[d].var.node()] = d == p_.first ? row : ir::floor_mod(row, number(extent));
      if (d > p_.first) row = ir::floor_div(row, number(extent));
    }
    std::vector<Expr> at;
    for (const Expr& i : p_.x->indices)
      at.push_back(arith::simplify(ir::substitute(i, map), ranges));
    const Expr value = ir::load(p_.x->buffer, at);
    return inside.defined() ? ir::select(inside, value, ir::zero_of(ir::kF32)) : value;
  }

  ir::Buffer add_up() {
    Shape shape;
    const Expr product = shape.add("sp", kStrassenProducts);
    const std::vector<Expr> outer = add_outer(shape);
    const Expr t = shape.add("st", half_rows_);
    const Expr k = shape.add(k_name(), half_k_);
    arith::Ranges ranges;
    for (const Axis& a : shape.axes) ranges.bind(a.var, {0, a.extent - 1});
    const Expr body = choose_row(strassen_matrices().a, product, [&](size_t quarter) {
      return read_quarter(quarter, outer, t, k, ranges);
    });
    return add_stage(s_, id_, "v", std::move(shape), body);
  }

  ir::Buffer multiply(const ir::Buffer& v, const ir::Buffer& w) {
    Shape shape;
    std::vector<Expr> at{shape.add("sp", kStrassenProducts)};
    std::vector<Expr> weights = at;
    for (const Expr& o : add_outer(shape)) at.push_back(o);
    at.push_back(shape.add("st", half_rows_));
    const Expr column = shape.add(op_->axes[p_.column].var.name(), half_columns_);
    const Axis k{ir::Var(k_name()), half_k_};
    at.emplace_back(k.var);
    for (size_t d = 0; d < p_.w->indices.size(); ++d) {
      weights.push_back(d == p_.k_dim ? Expr(k.var) : d == p_.column_dim ? column : number(0));
    }
    return add_stage(s_, id_, "m", std::move(shape), ir::load(v, at) * ir::load(w, weights), {k});
  }

  ir::Buffer combine(const ir::Buffer& m) {
    Shape shape;
    const std::vector<Expr> outer = add_outer(shape);
    const Expr lower = shape.add("si", 2), right = shape.add("sj", 2);
    const Expr t = shape.add("st", half_rows_);
    const Expr column = shape.add(op_->axes[p_.column].var.name(), half_columns_);
    const Expr quarter = lower * number(2) + right;
    const Expr body = choose_row(strassen_matrices().c, quarter, [&](size_t product) {
      std::vector<Expr> at{number(static_cast<int64_t>(product))};
      at.insert(at.end(), outer.begin(), outer.end());
      at.insert(at.end(), {t, column});
      return ir::load(m, at);
    });
    return add_stage(s_, id_, "y", std::move(shape), body);
  }

  void read_quarters(const ir::Buffer& y) {
    std::vector<Expr> at;
    for (const size_t d : outer_axes()) at.emplace_back(op_->axes[d].var);
    Expr row = op_->axes[p_.first].var;
    for (size_t d = p_.first + 1; d < p_.last; ++d)
      row = row * number(op_->axes[d].extent) + op_->axes[d].var;
    const Expr column = op_->axes[p_.column].var;
    const Expr rows = number(half_rows_), columns = number(half_columns_);
    at.insert(at.end(), {ir::floor_div(row, rows), ir::floor_div(column, columns),
                         ir::floor_mod(row, rows), ir::floor_mod(column, columns)});
    read_result(s_, id_, ir::load(y, at), Algorithm::kStrassen);
  }

  State& s_;
  StageId id_;
  te::OpRef op_;  // as it was
  Product p_;
  int64_t k_extent_ = 0, half_rows_ = 0, half_k_ = 0, half_columns_ = 0;
};

}  // namespace

std::optional<Product> find_product(const State& s, const te::ComputeOp& op) {
  const auto both = find_operands(op);
  const auto k = find_k(op);
  if (!both || !k) return std::nullopt;
  Product p{*both};
  p.k = *k;
  if (!is_constant(s, *p.w)) std::swap(p.x, p.w);
  if (!is_constant(s, *p.w) || !take_weights(op, p)) return std::nullopt;
  take_rows(op, p);
  const ir::VarNode* column = op.axes[p.column].var.node();
  for (const Expr& i : p.x->indices) {
    if (i.loads() || ir::uses_var(i, column)) return std::nullopt;
  }
  return p.rows > 1 && op.axes[p.column].extent > 1 ? std::optional(p) : std::nullopt;
}

double strassen_elements(const te::ComputeOp& op, const Product& p) {
  double outer = kStrassenProducts;
  for (const Axis& a : op.axes) outer *= static_cast<double>(a.extent);
  const auto columns = static_cast<double>(op.axes[p.column].extent);
  outer *= static_cast<double>(half_of(p.rows)) / static_cast<double>(p.rows) / columns;
  const int64_t wide = std::max(op.axes[p.column].extent, op.reduce_axes[p.k].extent);
  return outer * static_cast<double>(half_of(wide));
}

void compute_by_strassen(State& s, StageId stage) { Strassen(s, stage).run(); }

}  // namespace tenon::schedule
