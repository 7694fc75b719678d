// SPDX-License-Identifier: Apache-2.0
//   y = dequantize(x); f(y); g(y)  ->  f(dequantize(x)); g(dequantize(x))
// Fusion joins a node with its only reader: both then read 8 bits, and no real numbers are stored between them.
#include <algorithm>

#include "graph/passes.h"
#include "graph/passes/rewriter.h"

namespace tenon::graph {
namespace {

class SpreadDequantize : public Rewriter {
 public:
  explicit SpreadDequantize(Graph& g) : Rewriter(g), readers_(g.readers()) {}

  bool run() {
    return each_node([&](size_t n) { return spread(n); });
  }

 private:
  bool spread(size_t at) {
    const Node n = g_.nodes[at];
    if (!makes_real(g_, n)) return false;
    const ValueId y = n.outputs[0];
    const auto& readers = readers_[static_cast<size_t>(y)];
    for (size_t i = 1; i < readers.size(); ++i) {
      const Value of = value(y);
      const ValueId copy = add_value({of.name, of.dtype, of.shape, nullptr});
      Node again = n;
      again.outputs = {copy};
      add_node(again);
      const auto reader = static_cast<size_t>(readers[i]);
      std::vector<ValueId> inputs = g_.nodes[reader].inputs;
      std::replace(inputs.begin(), inputs.end(), y, copy);
      set_inputs(reader, std::move(inputs));
    }
    return readers.size() > 1;
  }

  std::vector<std::vector<NodeId>> readers_;
};

}  // namespace

void spread_dequantize(Graph& g, const PassContext&) {
  if (SpreadDequantize(g).run()) g.compact();
}

}  // namespace tenon::graph
