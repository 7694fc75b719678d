// SPDX-License-Identifier: Apache-2.0
// Element-wise chains and data movement: everything inlined into the output, which takes the layout of the tensors that
// it is computed from element by element.
#include <algorithm>

#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/loops.h"

namespace tenon::templates {

namespace {

// Every read of the tensor is at the op's own axes.
bool in_place(const te::ComputeOp& op, const std::vector<te::Access>& accesses,
              const te::Tensor& t) {
  bool found = false;
  for (const te::Access& a : accesses) {
    if (!a.tensor.same_as(t)) continue;
    found = true;
    if (a.indices.size() != op.axes.size() || t.shape() != op.output.shape()) return false;
    for (size_t d = 0; d < a.indices.size(); ++d) {
      if (!a.indices[d].same_as(op.axes[d].var) && op.axes[d].extent > 1) return false;
    }
  }
  return found;
}

// Every read is at the op's own axes up to a shift, as in concatenation, or of something small: any layout that all
// tensors share is as good as another.
bool is_aligned(const te::ComputeOp& op, const std::vector<te::Access>& accesses) {
  int64_t all = 1;
  for (const int64_t n : op.output.shape()) all *= n;
  for (const te::Access& a : accesses) {
    int64_t elements = 1;
    for (const int64_t n : a.tensor.shape()) elements *= n;
    bool own = a.affine && a.indices.size() == op.axes.size();
    for (size_t d = 0; own && d < a.indices.size(); ++d) {
      const arith::Linear& l = a.map[d];
      own = l.terms.empty() || (l.terms.size() == 1 && l.coefficient(op.axes[d].var.node()) == 1);
    }
    if (!own && elements * 4 > all) return false;
  }
  return true;
}

}  // namespace

std::optional<Plan> plan_elementwise(const schedule::State& initial, const Edges& edges) {
  const te::ComputeDag& dag = initial.dag();
  if (dag.outputs.size() != 1) return std::nullopt;
  for (const te::OpRef& op : dag.ops) {
    if (op->is_reduction()) return std::nullopt;
  }
  const std::string out = dag.outputs[0].name();
  PlanWriter p(initial, edges);
  for (const te::OpRef& o : dag.ops) {
    if (o->name() != out) p.line("compute_inline {}", o->name());
  }
  if (p.refused()) return p.take();
  const te::ComputeOp op = p.now(out);
  const auto accesses = te::accesses(op);
  std::vector<std::string> alike;  // free tensors, best stored like the output
  std::optional<layout::Layout> asked;
  for (const te::Input& in : dag.inputs) {
    const auto it = edges.fixed.find(in.tensor.name());
    const bool same = in_place(op, accesses, in.tensor);
    if (same && it == edges.fixed.end()) alike.push_back(in.tensor.name());
    if (same && it != edges.fixed.end() && !asked) asked = it->second;
  }
  if (const auto it = edges.fixed.find(out); it != edges.fixed.end()) asked = it->second;
  p.store_fixed_inputs();
  if (asked) {
    p.store(out, *asked);
    for (const std::string& s : alike) p.store(s, *asked);
  }
  loop_over_storage(p, out);
  if (is_aligned(op, accesses)) p.set_flexible();
  return p.take();
}

}  // namespace tenon::templates
