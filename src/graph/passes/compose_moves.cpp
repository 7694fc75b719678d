// SPDX-License-Identifier: Apache-2.0
// reshape(slice(x)) and the like as one move of x, where every index of x stays a linear form of the result's axes.
// A reshape behind a move is no view of x, so without this whatever reads it could not read x itself.
#include <algorithm>
#include <optional>

#include "graph/passes.h"
#include "graph/passes/rewriter.h"
#include "te/access.h"
#include "te/splice.h"

namespace tenon::graph {
namespace {

bool is_reshape(const Node& n) { return std::holds_alternative<Reshape>(n.op); }

// Every element of the only output is one of the only input.
bool is_move(const Node& n) {
  if (n.inputs.size() != 1) return false;
  if (std::holds_alternative<Transpose>(n.op)) return true;
  const auto* c = std::get_if<Compute>(&n.op);
  return c != nullptr && c->dag->ops.size() == 1 && c->dag->outputs.size() == 1 &&
         c->dag->ops[0]->body.as<ir::Load>() != nullptr;
}

// Nodes that are looked at as one. Those before are one move already where they can be.
constexpr size_t kLongest = 8;

class Compose : public Rewriter {
 public:
  using Rewriter::Rewriter;

  void run() {
    for (Node& n : g_.nodes) {
      if (is_move(n) || is_reshape(n)) compose(n);
    }
  }

 private:
  // Follows n back through moves and reshapes; takes the longest way that can be one move.
  void compose(Node& n) {
    std::vector<const Node*> chain{&n};
    std::optional<Compute> best;
    size_t length = 0;
    while (const Node* p = chain.size() < kLongest ? before(chain) : nullptr) {
      chain.push_back(p);
      if (!is_move(*p)) continue;
      auto one = as_one(chain);
      if (!one) break;
      best = std::move(one);
      length = chain.size();
    }
    if (!best) return;
    for (size_t i = 1; i < length; ++i) {
      adopt_names(n, chain[i]->nodes);
    }
    if (is_reshape(n)) n.label = chain[1]->label;
    n.inputs[0] = chain[length - 1]->inputs[0];
    n.op = std::move(*best);
  }

  // A reshape is free as a view of what a move has made: it becomes a move only where that is then not made.
  const Node* before(const std::vector<const Node*>& chain) const {
    const ValueId v = chain.back()->inputs[0];
    const Node* p = producer(v);
    if (p == nullptr || (!is_move(*p) && !is_reshape(*p))) return nullptr;
    const bool free =
        std::all_of(chain.begin(), chain.end(), [](const Node* n) { return is_reshape(*n); });
    return free && !read_once(v) ? nullptr : p;
  }

  // `chain` from the last node to the first.
  std::optional<Compute> as_one(const std::vector<const Node*>& chain) const {
    const Value& source = value(chain.back()->inputs[0]);
    te::Builder b;
    te::Tensor t = b.input("x0", source.dtype, source.shape);
    for (size_t i = chain.size(); i-- > 0;) {
      t = append(b, "move" + std::to_string(i), chain[i]->op, {&t, 1})[0];
    }
    b.output(t);
    const te::ComputeDag dag =
        te::inlined(b.finish("move"), [](const te::ComputeOp&) { return true; });
    for (const te::Access& a : te::accesses(*dag.ops[0])) {
      if (!a.affine) return std::nullopt;
    }
    return Compute{std::make_shared<const te::ComputeDag>(dag)};
  }
};

}  // namespace

void compose_moves(Graph& g, const PassContext&) {
  Compose(g).run();
  g.compact();
}

}  // namespace tenon::graph
