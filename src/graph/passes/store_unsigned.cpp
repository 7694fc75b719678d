// SPDX-License-Identifier: Apache-2.0
//   dequantize(quantize(x, s, z, i8), s, z)  ->  dequantize(quantize(x, s, z + 128, u8), s, z + 128)
// The numbers are the same. Instructions that multiply four bytes at a time want one factor unsigned, and that is the
// activation: weights are signed.
#include <algorithm>

#include "graph/passes.h"
#include "graph/passes/rewriter.h"

namespace tenon::graph {
namespace {

constexpr int64_t kMoved = 128;

class StoreUnsigned : public Rewriter {
 public:
  explicit StoreUnsigned(Graph& g)
      : Rewriter(g), readers_(g.readers()), outputs_(g.output_flags()) {}

  bool run() {
    return each_node([&](size_t n) { return move(n); });
  }

 private:
  bool move(size_t at) {
    const auto* q = std::get_if<Quantize>(&g_.nodes[at].op);
    if (q == nullptr || q->to != ir::kI8 || !has_known_zero(g_.nodes[at])) return false;
    const ValueId x = g_.nodes[at].outputs[0];
    const auto& readers = readers_[static_cast<size_t>(x)];
    const bool all = std::all_of(readers.begin(), readers.end(), [&](NodeId id) {
      const Node& n = g_.nodes[static_cast<size_t>(id)];
      return std::holds_alternative<Dequantize>(n.op) && n.inputs[0] == x && has_known_zero(n);
    });
    if (!all || outputs_[static_cast<size_t>(x)]) return false;
    std::get<Quantize>(g_.nodes[at].op).to = ir::kU8;
    g_.value(x).dtype = ir::kU8;
    move_zero(at);
    for (const NodeId id : readers) move_zero(static_cast<size_t>(id));
    return true;
  }

  bool has_known_zero(const Node& n) const {
    return n.inputs.size() < 3 || value(n.inputs[2]).constant();
  }

  void move_zero(size_t at) {
    std::vector<ValueId> inputs = g_.nodes[at].inputs;
    const ir::Array given =
        inputs.size() > 2 ? *value(inputs[2]).data : ir::Array(ir::kI8, std::vector<int64_t>());
    ir::Array moved(ir::kU8, given.shape());
    for (int64_t i = 0; i < given.elements(); ++i) {
      moved.set_double(i, given.get_double(i) + static_cast<double>(kMoved));
    }
    inputs.resize(2);
    inputs.push_back(add_value(
        {"zero", ir::kU8, given.shape(), std::make_shared<const ir::Array>(std::move(moved))}));
    set_inputs(at, std::move(inputs));
  }

  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> outputs_;
};

}  // namespace

void store_unsigned(Graph& g, const PassContext&) {
  if (StoreUnsigned(g).run()) g.compact();
}

}  // namespace tenon::graph
