// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "graph/passes.h"
#include "graph/passes/rewriter.h"

namespace tenon::graph {
namespace {

bool is_identity(const std::vector<int64_t>& perm) {
  for (size_t d = 0; d < perm.size(); ++d) {
    if (perm[d] != static_cast<int64_t>(d)) return false;
  }
  return true;
}

// Dimensions longer than 1 keep their order: nothing moves in memory.
bool moves_nothing(const std::vector<int64_t>& perm, const Shape& in) {
  int64_t last = -1;
  for (const int64_t p : perm) {
    if (in[static_cast<size_t>(p)] == 1) continue;
    if (p < last) return false;
    last = p;
  }
  return true;
}

class Simplify : public Rewriter {
 public:
  using Rewriter::Rewriter;

  void run() {
    for (Node& n : g_.nodes) {
      if (std::holds_alternative<Transpose>(n.op)) transpose(n);
      if (std::holds_alternative<Reshape>(n.op)) reshape(n);
    }
  }

 private:
  void transpose(Node& n) {
    auto& t = std::get<Transpose>(n.op);
    const Node* before = producer(n.inputs[0]);
    if (before != nullptr && std::holds_alternative<Transpose>(before->op)) {
      const auto& first = std::get<Transpose>(before->op).perm;
      for (int64_t& p : t.perm) p = first[static_cast<size_t>(p)];
      n.inputs[0] = before->inputs[0];
      adopt_names(n, before->nodes);
    }
    if (is_identity(t.perm)) {
      replace_uses(n.outputs[0], n.inputs[0]);
    } else if (moves_nothing(t.perm, shape(n.inputs[0]))) {
      n.op = Reshape{shape(n.outputs[0])};
      n.label = "reshape";
    }
  }

  void reshape(Node& n) {
    const Node* before = producer(n.inputs[0]);
    if (before != nullptr && std::holds_alternative<Reshape>(before->op)) {
      n.inputs[0] = before->inputs[0];
      adopt_names(n, before->nodes);
    }
    if (shape(n.inputs[0]) == shape(n.outputs[0])) {
      replace_uses(n.outputs[0], n.inputs[0]);
    }
  }
};

}  // namespace

void simplify_moves(Graph& g, const PassContext&) {
  Simplify(g).run();
  g.compact();
}

}  // namespace tenon::graph
