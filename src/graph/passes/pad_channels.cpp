// SPDX-License-Identifier: Apache-2.0
//   conv(x: u8[1,3,224,224], w: i8[32,3,3,3])  ->  conv(pad(x): u8[1,4,224,224], pad(w): i8[32,4,3,3])
// Products of bytes are summed four at a time, and these four lie together. A quantiser that only this convolution reads
// writes the zeros itself.
#include "graph/passes.h"
#include "graph/passes/rewriter.h"
#include "te/splice.h"

namespace tenon::graph {
namespace {

constexpr int64_t kGroup = 4;

class PadChannels : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool run() {
    return each_node([&](size_t n) { return pad(n); });
  }

 private:
  bool pad(size_t at) {
    const auto* conv = std::get_if<Conv>(&g_.nodes[at].op);
    if (conv == nullptr || conv->params.groups != 1) return false;
    const ValueId x = g_.nodes[at].inputs[0], w = g_.nodes[at].inputs[1];
    const int64_t channels = shape(w)[1], missing = (kGroup - channels % kGroup) % kGroup;
    if (missing == 0 || !value(w).constant() || value(w).dtype != ir::kI8 ||
        value(x).dtype.bits != 8)
      return false;
    const ValueId padded = padded_input(x, missing);
    set_inputs(at, {padded, padded_weights(w, missing)});
    return true;
  }

  ValueId padded_weights(ValueId w, int64_t missing) {
    const Value given = value(w);
    Shape to = given.shape;
    to[1] += missing;
    int64_t inner = 1;
    for (size_t d = 2; d < to.size(); ++d) inner *= to[d];
    ir::Array a(given.dtype, to);
    const int64_t row = given.shape[1] * inner, wide = to[1] * inner;
    for (int64_t k = 0; k < to[0]; ++k) {
      std::copy_n(given.data->data() + k * row, row, a.data() + k * wide);
    }
    return add_value(
        {given.name, given.dtype, to, std::make_shared<const ir::Array>(std::move(a))});
  }

  ValueId padded_input(ValueId x, int64_t missing) {
    const Node* p = producer(x);
    const bool joins = p != nullptr && std::holds_alternative<Quantize>(p->op) && read_once(x);
    const Node before = joins ? *p : Node{};
    const std::vector<ValueId> inputs = joins ? before.inputs : std::vector<ValueId>{x};
    te::Builder b;
    std::vector<te::Tensor> in;
    for (const ValueId v : inputs) {
      in.push_back(b.input("x" + std::to_string(in.size()), value(v).dtype, shape(v)));
    }
    const te::Tensor from = joins ? append(b, "quantize", before.op, in)[0] : in[0];
    std::vector<int64_t> none(shape(x).size(), 0), after = none;
    after[1] = missing;
    b.output(te::pad(b, "pad", from, none, after));
    te::ComputeDag dag = te::inlined(b.finish("pad"), [](const te::ComputeOp&) { return true; });
    const Value of = value(x);
    Shape to = of.shape;
    to[1] += missing;
    const ValueId y = add_value({of.name, of.dtype, to, nullptr});
    add_node({Compute{std::make_shared<const te::ComputeDag>(std::move(dag))},
              inputs,
              {y},
              joins ? before.label : "pad",
              before.nodes,
              before.segment});
    return y;
  }
};

}  // namespace

void pad_channels(Graph& g, const PassContext&) {
  if (PadChannels(g).run()) g.compact();
}

}  // namespace tenon::graph
