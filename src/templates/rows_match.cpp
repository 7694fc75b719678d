// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/visit.h"
#include "templates/anchor.h"
#include "templates/edges.h"
#include "templates/rows.h"

namespace tenon::templates {

namespace {

// Dimension d of every op is that of the last one, and what ops read of each other is read there in
// place.
bool passes_through(const te::ComputeDag& dag, const te::ComputeOp& last, size_t d) {
  for (const te::OpRef& op : dag.ops) {
    if (op->axes.size() <= d || op->axes[d].extent != last.axes[d].extent) return false;
    bool in_place = true;
    ir::visit(op->body, [&](const ir::Expr& e) {
      const auto* l = e.as<ir::Load>();
      if (l == nullptr || dag.producer(l->buffer) == nullptr) return;
      in_place = in_place && (l->indices[d].same_as(op->axes[d].var) || op->axes[d].extent == 1);
    });
    if (!in_place) return false;
  }
  return true;
}

// Every read either walks through all dimensions of a row in their order, or does not depend on
// them.
bool can_join(const te::ComputeDag& dag, size_t first) {
  for (const te::OpRef& op : dag.ops) {
    std::vector<ir::Expr> row;
    for (size_t d = first; d < op->axes.size(); ++d) {
      if (op->axes[d].extent > 1) row.emplace_back(op->axes[d].var);
    }
    if (op->is_reduction() && !row.empty()) return false;
    for (const te::Axis& a : op->reduce_axes) row.emplace_back(a.var);
    for (const te::Access& a : te::accesses(*op)) {
      size_t used = 0;
      for (const ir::Expr& v : row) {
        const auto uses = [&](const ir::Expr& i) { return ir::uses_var(i, v.as<ir::VarNode>()); };
        used += std::any_of(a.indices.begin(), a.indices.end(), uses) ? 1 : 0;
      }
      if (used == 0) continue;
      if (used != row.size() || a.indices.size() != first + row.size()) return false;
      for (size_t d = 0; d < row.size(); ++d) {
        if (!a.indices[first + d].same_as(row[d])) return false;
      }
    }
  }
  return true;
}

// A sum of products where each operand is reused along an axis of the output wants tiles, not rows.
bool reuses_both(const te::ComputeDag& dag, const te::ComputeOp& op) {
  auto parts = find_contraction(dag, op, true);
  if (!parts) parts = find_contraction(dag, op);
  if (!parts) return false;
  const auto reused = [&](const te::Access& a) {
    for (size_t d = 0; d < op.axes.size(); ++d) {
      if (a.reused[d]) return true;
    }
    return false;
  };
  return reused(parts->x) && reused(parts->w);
}

}  // namespace

bool Rows::is_outer(size_t d) const {
  return std::find(outer.begin(), outer.end(), d) != outer.end();
}

int64_t Rows::length(const te::ComputeOp& op) const {
  int64_t n = 1;
  for (size_t d = 0; d < op.axes.size(); ++d) n *= is_outer(d) ? 1 : op.axes[d].extent;
  return n;
}

std::optional<Rows> rows_before(const te::RowOperand& operand, const target::Cpu& t) {
  Rows r;
  r.ops = operand.rows;
  r.last = r.ops.back().get();
  for (size_t d = 0; d + 1 < r.last->axes.size(); ++d) r.outer.push_back(d);
  for (const te::OpRef& op : r.ops) {
    if (r.length(*op) * op->output.dtype().bytes() > t.row_bytes) return std::nullopt;
  }
  return r;
}

std::optional<Rows> find_rows(const te::ComputeDag& dag, const Request& request,
                              const target::Cpu& t) {
  if (dag.outputs.size() != 1) return std::nullopt;
  for (const te::OpRef& op : dag.ops) {
    if (op->is_reduction() && reuses_both(dag, *op)) return std::nullopt;
  }
  Rows r;
  r.ops = dag.ops;
  r.last = dag.producer(dag.outputs[0]);
  size_t reduced = 0;
  for (const te::OpRef& op : dag.ops) {
    if (op->is_reduction()) reduced = std::max(reduced, op->reduce_axes.size());
  }
  if (reduced == 0) return std::nullopt;
  for (size_t d = 0; d < r.last->axes.size(); ++d) {
    if (passes_through(dag, *r.last, d)) r.outer.push_back(d);
  }
  if (r.outer.empty()) return std::nullopt;
  // Reduced dimensions that were kept with extent 1 belong to the row.
  while (r.outer.size() > 1 && r.last->axes[r.outer.back()].extent == 1) r.outer.pop_back();
  for (const te::OpRef& op : dag.ops) {
    if (r.length(*op) * op->output.dtype().bytes() > t.row_bytes) return std::nullopt;
  }
  // A reduction that is the last op has no row of its own: its operand tells where the row lies.
  const size_t rank = r.last->axes.size();
  r.across = r.outer.size() > 1 && r.is_outer(rank - 1) && r.length(*r.last) > 1;
  const bool leading = r.outer.back() == r.outer.size() - 1;
  if (!leading && !r.across) return std::nullopt;
  if (leading && !r.across && (reduced > 1 || rank > r.outer.size() + 1)) {
    r.joined = can_join(dag, r.outer.size());
    for (const te::Input& in : dag.inputs)
      r.joined = r.joined && (in.constant || may_be_plain(request, in.tensor));
  }
  return r;
}

}  // namespace tenon::templates
