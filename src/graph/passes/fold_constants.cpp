// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "graph/builder.h"
#include "graph/literals.h"
#include "graph/passes.h"

namespace tenon::graph {
namespace {

bool is_foldable(const Graph& g, const Node& n) {
  const bool known = std::all_of(n.inputs.begin(), n.inputs.end(),
                                 [&](ValueId v) { return g.value(v).constant(); });
  const bool small = std::all_of(n.outputs.begin(), n.outputs.end(),
                                 [&](ValueId v) { return g.value(v).bytes() <= kLargestFolded; });
  return known && small;
}

// A table that every reader can compute as cheaply as read (a range, a mask) would only grow the weights.
bool grows_much(const Graph& g, const Node& n) {
  int64_t in = 0;
  int64_t out = 0;
  for (const ValueId v : n.inputs) in += g.value(v).bytes();
  for (const ValueId v : n.outputs) out += g.value(v).bytes();
  return out > (int64_t{16} << 20) && out > 8 * in;
}

// Where a known scalar decides that another input is never read, the node stops asking for it. What
// only this input needed is then dropped with it.
//   where(false, a, b)  ->  where(b)
void forget_unread(const Graph& g, Node& n) {
  auto* compute = std::get_if<Compute>(&n.op);
  if (compute == nullptr) return;
  te::ComputeDag dag = *compute->dag;
  Literals known;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const Value& v = g.value(n.inputs[i]);
    if (v.constant() && v.elements() == 1)
      known.emplace(dag.inputs[i].tensor.get(), literal(*v.data));
  }
  write_literals(dag, known);
  const std::vector<size_t> kept = drop_unread(dag);
  const size_t literals = known.size();
  if (kept.size() + literals >= n.inputs.size()) return;
  std::vector<ValueId> inputs;
  for (const size_t i : kept) inputs.push_back(n.inputs[i]);
  n.inputs = std::move(inputs);
  compute->dag = std::make_shared<const te::ComputeDag>(std::move(dag));
}

}  // namespace

void fold_constants(Graph& g, const PassContext& context) {
  for (Node& n : g.nodes) {
    forget_unread(g, n);
    if (!is_foldable(g, n) || grows_much(g, n)) continue;
    std::vector<ir::Array> in;
    for (const ValueId v : n.inputs) in.push_back(*g.value(v).data);
    std::vector<ir::Array> out = context.evaluate(define(g, n), in);
    for (size_t i = 0; i < out.size(); ++i) {
      g.value(n.outputs[i]).data = std::make_shared<const ir::Array>(std::move(out[i]));
    }
    n.inputs.clear();
    n.outputs.clear();
  }
  std::erase_if(g.nodes, [](const Node& n) { return n.outputs.empty(); });
  g.compact();
}

}  // namespace tenon::graph
