// SPDX-License-Identifier: Apache-2.0
// This template fits every dag: each stage that is stored is a kernel with one element per thread, and a sum
// that is read in its own place is computed by the thread that reads it.
#include <algorithm>

#include "templates/anchor.h"
#include "templates/gpu/kernels.h"

namespace tenon::templates {

using space::Builder;
using space::Loop;
using space::StageRef;

namespace {

// One sum with element-wise work behind it: the last stage is the only kernel.
void write_chain(Builder& b, const Chain& chain) {
  const StageRef final = b.stage(chain.final->name());
  for (const te::ComputeOp* op : chain.inlined) {
    if (op != chain.anchor) b.compute_inline(b.stage(op->name()));
  }
  const auto threads = gpu::bind_elements(b, final);
  const StageRef sum = b.stage(chain.anchor->name());
  if (chain.final != chain.anchor && threads) b.compute_at(sum, *threads);
  gpu::write_out_sums(b, sum);
}

// A stage that is dear to compute twice is stored.
bool is_kept(const te::ComputeDag& dag, const te::ComputeOp& op) {
  return gpu::is_output(dag, op) || op.is_reduction() || has_call(op);
}

}  // namespace

std::optional<Written> write_gpu_elements(Builder& b, const Request& request) {
  const te::ComputeDag& dag = b.dag();
  gpu::store_edges(b, request);
  if (const auto chain = find_chain(dag)) {
    write_chain(b, *chain);
    return Written{};
  }
  for (const te::OpRef& op : dag.ops) {
    if (!is_kept(dag, *op)) b.compute_inline(b.stage(op->name()));
  }
  for (const te::OpRef& op : dag.ops) {
    if (!is_kept(dag, *op)) continue;
    gpu::bind_elements(b, b.stage(op->name()));
    if (op->is_reduction()) gpu::write_out_sums(b, b.stage(op->name()));
  }
  return Written{};
}

std::optional<Written> write_gpu_none(Builder& b, const Request& request) {
  gpu::store_edges(b, request);
  return Written{};
}

}  // namespace tenon::templates
