// SPDX-License-Identifier: Apache-2.0
#include "te/access.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "ir/equal.h"
#include "ir/visit.h"

namespace tenon::te {
namespace {

std::vector<Axis> all_axes(const ComputeOp& op) {
  std::vector<Axis> all = op.axes;
  all.insert(all.end(), op.reduce_axes.begin(), op.reduce_axes.end());
  return all;
}

bool same_read(const Access& a, const ir::Load& load) {
  if (!a.tensor.same_as(load.buffer)) {
    return false;
  }
  for (size_t d = 0; d < a.indices.size(); ++d) {
    if (!ir::equal(a.indices[d], load.indices[d])) {
      return false;
    }
  }
  return true;
}

bool depends_on(const std::vector<ir::Expr>& indices, const ir::Var& v) {
  return std::any_of(indices.begin(), indices.end(),
                     [&](const ir::Expr& e) { return ir::uses_var(e, v.node()); });
}

Access analyse(const ir::Load& load, const std::vector<Axis>& axes) {
  Access a;
  a.tensor = load.buffer;
  a.indices = load.indices;
  a.affine = true;
  for (const ir::Expr& index : load.indices) {
    a.map.push_back(arith::to_linear(index));
    a.affine = a.affine && a.map.back().is_affine();
  }
  for (const Axis& axis : axes) {
    int64_t stride = 0;
    for (size_t d = 0; d < a.map.size(); ++d) {
      stride += a.map[d].coefficient(axis.var.node()) * load.buffer->strides[d];
    }
    a.strides.push_back(stride);
    a.reused.push_back(axis.extent > 1 && !depends_on(load.indices, axis.var));
  }
  return a;
}

// The constant k if `e` is axis + k.
bool is_shift_of(const ir::Expr& e, const ir::Var& axis) {
  const arith::Linear l = arith::to_linear(e);
  return l.terms.size() == 1 && l.coefficient(axis.node()) == 1;
}

struct SimpleAccess {
  bool simple = false;  // every index is a constant or an output axis plus a constant
  bool missing = false;
  bool duplicated = false;
  bool same_order = true;
};

SimpleAccess classify(const ComputeOp& op, const Access& access) {
  std::vector<int> uses(op.axes.size(), 0);
  SimpleAccess result;
  size_t last = 0;
  for (const ir::Expr& index : access.indices) {
    if (arith::to_linear(index).terms.empty()) {
      continue;
    }
    const auto axis = std::find_if(op.axes.begin(), op.axes.end(),
                                   [&](const Axis& a) { return is_shift_of(index, a.var); });
    if (axis == op.axes.end()) {
      return result;
    }
    const auto at = static_cast<size_t>(axis - op.axes.begin());
    ++uses[at];
    result.same_order = result.same_order && at >= last;
    last = at;
  }
  result.simple = true;
  for (size_t i = 0; i < uses.size(); ++i) {  // an axis of one element may stand as 0
    result.missing = result.missing || (uses[i] == 0 && op.axes[i].extent > 1);
  }
  result.duplicated = std::any_of(uses.begin(), uses.end(), [](int n) { return n > 1; });
  return result;
}

// A branch or an exp in the body makes inlining a choice rather than a certain gain.
bool is_costly_to_repeat(const ir::Expr& body) {
  bool costly = false;
  ir::visit(body, [&](const ir::Expr& e) {
    const auto* call = e.as<ir::Call>();
    costly = costly || e.as<ir::Select>() != nullptr ||
             (call != nullptr && call->fn == ir::Intrinsic::kExp);
  });
  return costly;
}

int64_t product(const std::vector<Axis>& axes) {
  int64_t p = 1;
  for (const Axis& a : axes) {
    p *= a.extent;
  }
  return p;
}

std::vector<Access> reads_of(const ComputeOp& reader, const Tensor& t) {
  std::vector<Access> found;
  for (Access& a : accesses(reader)) {
    if (a.tensor.same_as(t)) {
      found.push_back(std::move(a));
    }
  }
  return found;
}

}  // namespace

std::vector<Access> accesses(const ComputeOp& op) {
  const std::vector<Axis> axes = all_axes(op);
  std::vector<Access> found;
  ir::visit(op.body, [&](const ir::Expr& e) {
    const auto* load = e.as<ir::Load>();
    if (load == nullptr) {
      return;
    }
    if (std::none_of(found.begin(), found.end(),
                     [&](const Access& a) { return same_read(a, *load); })) {
      found.push_back(analyse(*load, axes));
    }
  });
  return found;
}

bool has_data_reuse(const ComputeOp& op) {
  // An axis counts for a tensor if none of the tensor's reads depends on it.
  std::unordered_map<const ir::BufferNode*, std::vector<bool>> free_axes;
  for (const Access& a : accesses(op)) {
    auto [entry, fresh] = free_axes.emplace(a.tensor.get(), a.reused);
    for (size_t i = 0; !fresh && i < a.reused.size(); ++i) {
      entry->second[i] = entry->second[i] && a.reused[i];
    }
  }
  int reused_tensors = 0;
  for (const auto& [tensor, free] : free_axes) {
    const auto end = free.begin() + static_cast<std::ptrdiff_t>(op.axes.size());
    reused_tensors += std::find(free.begin(), end, true) != end ? 1 : 0;
  }
  return reused_tensors >= 2 || (reused_tensors >= 1 && op.is_reduction());
}

bool is_strictly_inlinable(const ComputeOp& op) {
  if (op.is_reduction()) {
    return false;
  }
  const std::vector<Access> reads = accesses(op);
  if (reads.empty()) {
    return true;
  }
  return !is_costly_to_repeat(op.body) &&
         std::all_of(reads.begin(), reads.end(), [&](const Access& a) {
           const SimpleAccess s = classify(op, a);
           return s.simple && s.same_order && !s.duplicated;
         });
}

bool is_elementwise_match(const ComputeOp& producer, const ComputeOp& consumer) {
  if (producer.output.shape() != consumer.output.shape()) {
    return false;
  }
  const std::vector<Access> reads = reads_of(consumer, producer.output);
  return !reads.empty() && std::all_of(reads.begin(), reads.end(), [&](const Access& a) {
    const SimpleAccess s = classify(consumer, a);
    return s.simple && s.same_order && !s.missing && !s.duplicated;
  });
}

bool is_elementwise_match(const ComputeDag& dag, const ComputeOp& op, const ComputeOp& target) {
  const ComputeOp* at = &op;
  while (at != &target) {
    const std::vector<const ComputeOp*> readers = dag.readers(at->output);
    if (readers.size() != 1 || !is_elementwise_match(*at, *readers[0])) {
      return false;
    }
    at = readers[0];
  }
  return true;
}

bool needs_rfactor(const ComputeOp& op, int cores) {
  const int64_t spatial = product(op.axes);
  const int64_t reduced = product(op.reduce_axes);
  if (has_data_reuse(op)) {
    return spatial <= reduced && spatial <= int64_t{16} * cores;
  }
  return reduced > 1 && reduced > cores;
}

int common_outer_axes(const ComputeOp& producer, const ComputeOp& consumer) {
  const std::vector<Access> reads = reads_of(consumer, producer.output);
  if (reads.empty()) {
    return 0;
  }
  const size_t most = std::min(producer.axes.size(), consumer.axes.size());
  size_t n = 0;
  while (n < most && producer.axes[n].extent == consumer.axes[n].extent &&
         std::all_of(reads.begin(), reads.end(), [&](const Access& a) {
           return is_shift_of(a.indices[n], consumer.axes[n].var);
         })) {
    ++n;
  }
  return static_cast<int>(n);
}

int common_outer_axes(const ComputeDag& dag, const ComputeOp& op, const ComputeOp& target) {
  // Ops are in topological order, so one sweep carries the smallest count of any path to each op.
  std::unordered_map<const ComputeOp*, int> least{{&op, static_cast<int>(op.axes.size())}};
  for (const OpRef& ref : dag.ops) {
    const auto here = least.find(ref.get());
    if (here == least.end()) {
      continue;
    }
    const int count = here->second;
    for (const ComputeOp* reader : dag.readers(ref->output)) {
      const int through = std::min(count, common_outer_axes(*ref, *reader));
      const auto [entry, fresh] = least.emplace(reader, through);
      entry->second = std::min(entry->second, through);
    }
  }
  const auto found = least.find(&target);
  return found == least.end() ? 0 : found->second;
}

}  // namespace tenon::te
