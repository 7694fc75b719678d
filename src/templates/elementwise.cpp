// SPDX-License-Identifier: Apache-2.0
// Element-wise chains and data movement: everything inlined into the output, its loops fused as far as they go,
// vectors innermost, blocks in parallel.
#include "templates/anchor.h"
#include "templates/families.h"
#include "templates/plan_writer.h"

namespace tenon::templates {

namespace {

// The axis along which an operand is contiguous while the last one strides through it: square tiles keep both in cache.
std::optional<size_t> transposed_axis(const te::ComputeOp& op,
                                      const std::vector<te::Access>& accesses) {
  for (const te::Access& a : accesses) {
    const size_t last = op.axes.size() - 1;
    if (!a.affine || a.strides[last] <= 1) continue;
    for (size_t d = 0; d < last; ++d) {
      if (a.strides[d] == 1 && op.axes[d].extent > 1) return d;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Plan> plan_elementwise(const te::ComputeDag& dag, const target::Target& t) {
  if (dag.outputs.size() != 1) return std::nullopt;
  for (const te::OpRef& op : dag.ops) {
    if (op->is_reduction()) return std::nullopt;
  }
  const te::ComputeOp& op = *dag.producer(dag.outputs[0]);
  if (op.axes.empty()) return std::nullopt;
  PlanWriter p;
  for (const te::OpRef& o : dag.ops) {
    if (o.get() != &op) p.line("compute_inline {}", o->name());
  }
  // Loops may be fused when every access moves through memory as through one long dimension, or not at all.
  size_t first = op.axes.size() - 1;
  const auto accesses = te::accesses(op);
  const auto fusable = [&](size_t d) {
    for (const te::Access& a : accesses) {
      if (!a.affine || a.strides[d] != a.strides[d + 1] * op.axes[d + 1].extent) return false;
    }
    return dag.ops.size() == 1;
  };
  while (first > 0 && fusable(first - 1)) --first;
  std::string inner = op.axes[first].var.name();
  int64_t length = op.axes[first].extent;
  for (size_t d = first + 1; d < op.axes.size(); ++d) {
    inner += "@" + op.axes[d].var.name();
    length *= op.axes[d].extent;
  }
  if (first + 1 < op.axes.size()) {
    std::vector<std::string> names;
    for (size_t d = first; d < op.axes.size(); ++d) names.push_back(op.axes[d].var.name());
    p.line("fuse {} [{}]", op.name(), comma(names));
  }
  const int64_t v = t.lanes(op.output.dtype().bytes());
  const bool wide = length >= v && v >= 2;
  p.knobs() = {{"v", v}, {"u", 4}, {"block", 4096}};
  const bool blocks = wide && length >= 4096 * 4 && first == 0;
  if (blocks) {
    p.line("split {} {} [$block, $v]", op.name(), inner);
    p.knobs()["block"] = 1024 / std::max<int64_t>(1, v / 4);
    p.line("vectorize {} {}.2", op.name(), inner);
    p.line("parallel {} {}.0", op.name(), inner);
    return p.take();
  }
  if (wide) {
    p.line("split {} {} [$v]", op.name(), inner);
    p.line("vectorize {} {}.1", op.name(), inner);
    if (const auto across = transposed_axis(op, accesses)) {
      const std::string other = op.axes[*across].var.name();
      p.line("split {} {} [$v]", op.name(), other);
      p.line("reorder {} [{}.0, {}.0, {}.1, {}.1]", op.name(), other, inner, other, inner);
      if (*across == 0) {
        p.line("parallel {} {}.0", op.name(), other);
        return p.take();
      }
    }
  }
  if (first > 0) {
    p.line("parallel {} {}", op.name(), op.axes[0].var.name());
  } else if (wide && length >= 16 * v) {
    p.line("parallel {} {}.0", op.name(), inner);
  }
  return p.take();
}

std::optional<Plan> plan_none(const te::ComputeDag&, const target::Target&) { return Plan{}; }

}  // namespace tenon::templates
