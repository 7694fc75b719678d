// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "graph/passes.h"
#include "graph/passes/rewriter.h"
#include "support/hash.h"

namespace tenon::graph {
namespace {

struct HashOp {
  Hasher h;

  void ints(const std::vector<int64_t>& v) {
    h.add(static_cast<uint64_t>(v.size()));
    for (const int64_t x : v) h.add(x);
  }
  void params(const te::ConvParams& p) {
    ints(p.stride);
    ints(p.pad_before);
    ints(p.pad_after);
    ints(p.dilation);
    h.add(p.groups).add(p.pad_value);
  }
  void operator()(const Conv& c) { params(c.params); }
  void operator()(const ConvTranspose& c) {
    params(c.params);
    ints(c.output_pad);
  }
  void operator()(const MatMul& m) { h.add(int64_t{m.trans_a}).add(int64_t{m.trans_b}); }
  void operator()(const Transpose& t) { ints(t.perm); }
  void operator()(const Reshape& r) { ints(r.shape); }
  void type(ir::DType t) { h.add(ir::to_string(t)); }
  void operator()(const Quantize& q) {
    type(q.to);
    type(q.precision);
  }
  void operator()(const Dequantize& q) { type(q.to); }
  void operator()(const Compute& c) { h.add(c.dag->structural_hash()); }
};

class MergeEqual : public Rewriter {
 public:
  using Rewriter::Rewriter;

  void run() {
    std::map<std::pair<uint64_t, std::vector<ValueId>>, const Node*> seen;
    for (const Node& n : g_.nodes) {
      HashOp hash;
      hash.h.add(static_cast<uint64_t>(n.op.index()));
      std::visit(hash, n.op);
      const auto [it, first] = seen.try_emplace({hash.h.value(), n.inputs}, &n);
      if (first) continue;
      for (size_t i = 0; i < n.outputs.size(); ++i) {
        replace_uses(n.outputs[i], it->second->outputs[i]);
      }
    }
  }
};

}  // namespace

void merge_equal(Graph& g, const PassContext&) {
  MergeEqual(g).run();
  g.compact();
}

}  // namespace tenon::graph
