// SPDX-License-Identifier: Apache-2.0
// What no other family takes: cheap stages are inlined, the others stay where they are, over their
// storage, with outer loops parallel and vectors along their last dimension; a reduction sums up in
// a small local tile.
#include <algorithm>

#include "templates/anchor.h"
#include "templates/loops.h"
#include "templates/template.h"
#include "templates/write.h"

namespace tenon::templates {

using space::Builder;
using space::Loop;
using space::StageRef;

namespace {

bool is_cheap(const te::ComputeOp& op) { return !op.is_reduction() && !has_call(op); }

bool is_output(const te::ComputeDag& dag, const te::ComputeOp& op) {
  return std::any_of(dag.outputs.begin(), dag.outputs.end(),
                     [&](const te::Tensor& t) { return t.same_as(op.output); });
}

// Zeros around a reduction, or several copies of it, are written by a stage that copies it.
bool needs_copy(const layout::Layout& l) {
  return std::any_of(l.steps().begin(), l.steps().end(), [](const layout::LayoutStep& s) {
    return s.op == layout::LayoutOp::kPad || s.op == layout::LayoutOp::kUnfold;
  });
}

// The layouts that are asked for, and nothing else. Returns the sums of the stages that copy them.
std::map<int32_t, StageRef> store_edges(Builder& b, const Request& request) {
  std::map<int32_t, StageRef> sums;
  store_fixed_inputs(b, request);
  for (const te::Tensor& t : b.dag().outputs) {
    const auto it = request.fixed.find(t.name());
    if (it == request.fixed.end()) continue;
    const StageRef stage = b.stage(t.name());
    if (needs_copy(it->second) && b.dag().producer(t)->is_reduction())
      sums[stage.id] = b.cache_write(stage, ir::Scope::kGlobal);
    b.store(stage, it->second);
  }
  return sums;
}

// Sums in a local tile of one vector of the result.
//   C[i, j] = sum(k)  =>  C.cache[i, j.1] = sum(k) at j.0 of C
void sum_vectors(Builder& b, StageRef stage, std::vector<Loop>& loops, int64_t v) {
  const size_t rank = loops.size(), sums = b.now(stage).reduce_axes.size();
  const StageRef acc = b.cache_write(stage, ir::Scope::kLocal);
  const auto [outer, lanes] = b.split<2>(loops.back(), {v});
  b.vectorize(lanes);
  std::vector<Loop> order;
  for (size_t d = 0; d < sums; ++d) order.push_back(b.axis(acc, rank + d));
  order.push_back(b.axis(acc, rank - 1));
  b.reorder(order);
  b.compute_at(acc, outer);
  b.vectorize(order.back());  // attached, its extent is that of the vector
  loops.back() = outer;
}

void reduce(Builder& b, StageRef stage) {
  if (b.refused()) return;
  const te::ComputeOp op = b.now(stage);
  if (op.axes.empty()) return;
  const int64_t v = b.target().cpu().lanes(op.output.dtype().bytes());
  int64_t work = 1;
  for (const te::Axis& a : op.reduce_axes) work *= a.extent;
  std::vector<Loop> loops;
  for (size_t d = 0; d < op.axes.size(); ++d) {
    loops.push_back(b.axis(stage, d));
    work *= op.axes[d].extent;
  }
  if (v >= 2 && op.axes.back().extent >= v) sum_vectors(b, stage, loops, v);
  deal_out(b, loops, work);
}

// No nest has wider vectors than the last one that has any: that one's layout is asked for.
int64_t lanes_of_last(const Builder& b, const std::vector<StageRef>& stages) {
  for (auto it = stages.rbegin(); it != stages.rend(); ++it) {
    if (b.now(*it).is_reduction()) continue;
    if (const int64_t v = storage_lanes(b, *it); v > 1) return v;
  }
  return 64;
}

}  // namespace

std::optional<Written> write_plain(Builder& b, const Request& request) {
  const te::ComputeDag& dag = b.dag();
  std::vector<StageRef> kept;
  for (const te::OpRef& op : dag.ops) {
    if (is_cheap(*op) && !is_output(dag, *op)) {
      b.compute_inline(b.stage(op->name()));
    } else {
      kept.push_back(b.stage(op->name()));
    }
  }
  const auto sums = store_edges(b, request);
  const int64_t lanes = lanes_of_last(b, kept);
  for (const StageRef stage : kept) {
    if (b.refused()) break;
    if (b.now(stage).is_reduction()) {
      reduce(b, stage);
    } else {
      loop_over_storage(b, stage, lanes);
      if (const auto sum = sums.find(stage.id); sum != sums.end()) reduce(b, sum->second);
    }
  }
  return Written{};
}

std::optional<Written> write_none(Builder& b, const Request& request) {
  store_edges(b, request);
  return Written{};
}

}  // namespace tenon::templates
