// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "graph/builder.h"
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

}  // namespace

void fold_constants(Graph& g, const PassContext& context) {
  for (Node& n : g.nodes) {
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
