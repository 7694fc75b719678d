// SPDX-License-Identifier: Apache-2.0
#include "graph/classify.h"

#include <algorithm>

#include "ir/visit.h"
#include "te/access.h"
#include "te/quantize.h"

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

// A result that was computed before for each integer of 8 bits: a function of one element, as if it were computed here.
bool is_known_result(const te::ComputeDag& dag, const ir::Load& l) {
  return te::is_look_up(l) &&
         std::any_of(dag.inputs.begin(), dag.inputs.end(), [&](const te::Input& in) {
           return in.constant && l.buffer.same_as(in.tensor);
         });
}

bool all_reads(const te::ComputeDag& dag, const te::ComputeOp& op,
               const std::vector<ir::Var>& vars) {
  bool ok = true;
  ir::visit_loads(op.body, [&](const ir::Load& l) {
    ok = ok && (aligned(l, vars) || is_known_result(dag, l));
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
bool is_row_reduction(const te::ComputeDag& dag, const te::ComputeOp& op) {
  std::vector<ir::Var> vars;
  size_t kept = op.axes.size();
  while (kept > 0 && op.axes[kept - 1].extent == 1 && op.axes.size() - kept < op.reduce_axes.size())
    --kept;
  for (size_t keep : {kept, op.axes.size()}) {
    vars = vars_of({op.axes.begin(), op.axes.begin() + static_cast<std::ptrdiff_t>(keep)});
    for (const te::Axis& a : op.reduce_axes) vars.push_back(a.var);
    if (all_reads(dag, op, vars)) return true;
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
      rows = rows && is_row_reduction(dag, *op);
    } else {
      maps = maps && all_reads(dag, *op, vars_of(op->axes));
    }
  }
  if (!reduces) return maps ? Kind::kMap : Kind::kMove;
  return rows && maps ? Kind::kRows : Kind::kReduce;
}

}  // namespace tenon::graph
