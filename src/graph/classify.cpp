// SPDX-License-Identifier: Apache-2.0
#include "graph/classify.h"

#include <algorithm>

#include "ir/visit.h"
#include "te/access.h"

namespace tenon::graph {
namespace {

// Index d of a tensor read by an op whose axes are `vars`, aligned at the end as numpy broadcasts.
bool aligned(const ir::Load& l, const std::vector<ir::Var>& vars) {
  const size_t rank = l.indices.size();
  if (rank > vars.size()) return false;
  for (size_t d = 0; d < rank; ++d) {
    const ir::Var& v = vars[vars.size() - rank + d];
    if (l.indices[d].same_as(v)) continue;
    if (!(ir::is_const(l.indices[d], 0) && l.buffer.shape()[d] == 1)) return false;
  }
  return true;
}

bool all_reads(const te::ComputeOp& op, const std::vector<ir::Var>& vars) {
  bool ok = true;
  ir::visit(op.body, [&](const ir::Expr& e) {
    if (const auto* l = e.as<ir::Load>()) ok = ok && aligned(*l, vars);
  });
  return ok;
}

std::vector<ir::Var> vars_of(const std::vector<te::Axis>& axes) {
  std::vector<ir::Var> v;
  for (const te::Axis& a : axes) v.push_back(a.var);
  return v;
}

// The reduction's axes stand where the trailing dimensions of what it reads are: [i, j] summed over j,
// with the reduced dimensions kept as 1 or dropped.
bool is_row_reduction(const te::ComputeOp& op) {
  std::vector<ir::Var> vars;
  size_t kept = op.axes.size();
  while (kept > 0 && op.axes[kept - 1].extent == 1 && op.axes.size() - kept < op.reduce_axes.size())
    --kept;
  for (size_t keep : {kept, op.axes.size()}) {
    vars = vars_of({op.axes.begin(), op.axes.begin() + static_cast<std::ptrdiff_t>(keep)});
    for (const te::Axis& a : op.reduce_axes) vars.push_back(a.var);
    if (all_reads(op, vars)) return true;
  }
  return false;
}

// Two different tensors are multiplied into a sum, one of them reused over an output axis.
bool is_heavy(const te::ComputeOp& op) { return op.is_reduction() && te::has_data_reuse(op); }

}  // namespace

Kind classify(const te::ComputeDag& dag) {
  if (dag.outputs.size() != 1) return Kind::kOther;
  bool reduces = false;
  bool rows = true;
  bool maps = true;
  for (const te::OpRef& op : dag.ops) {
    if (op->is_reduction()) {
      if (is_heavy(*op)) return Kind::kHeavy;
      reduces = true;
      rows = rows && is_row_reduction(*op);
    } else {
      maps = maps && all_reads(*op, vars_of(op->axes));
    }
  }
  if (!reduces) return maps ? Kind::kMap : Kind::kMove;
  return rows && maps ? Kind::kRows : Kind::kReduce;
}

}  // namespace tenon::graph
