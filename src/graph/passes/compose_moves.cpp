// SPDX-License-Identifier: Apache-2.0
// reshape(slice(x)) and the like as one move of x, where every index of x stays a linear form of the result's axes.
// A reshape behind a move is no view of x, so without this whatever reads it could not read x itself.
#include <optional>

#include "graph/passes.h"
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

class Compose {
 public:
  explicit Compose(Graph& g) : g_(g), producers_(g.producers()), readers_(g.readers()) {}

  void run() {
    for (size_t n = 0; n < g_.nodes.size(); ++n) {
      if (is_move(g_.nodes[n]) || is_reshape(g_.nodes[n])) compose(n);
    }
  }

 private:
  // Follows `at` back through moves and reshapes; takes the longest way that can be one move.
  void compose(size_t at) {
    std::vector<size_t> chain{at};
    std::optional<Compute> best;
    size_t length = 0;
    while (const auto p = before(chain)) {
      chain.push_back(*p);
      if (!is_move(g_.nodes[*p])) continue;
      auto one = as_one(chain);
      if (!one) break;
      best = std::move(one);
      length = chain.size();
    }
    if (!best) return;
    Node& n = g_.nodes[at];
    for (size_t i = 1; i < length; ++i) {
      const auto& names = g_.nodes[chain[i]].nodes;
      n.nodes.insert(n.nodes.begin(), names.begin(), names.end());
    }
    if (is_reshape(n)) n.label = g_.nodes[chain[1]].label;
    n.inputs[0] = g_.nodes[chain[length - 1]].inputs[0];
    n.op = std::move(*best);
  }

  // A reshape is free as a view of what a move has made: it becomes a move only where that is then not made.
  std::optional<size_t> before(const std::vector<size_t>& chain) const {
    const ValueId v = g_.nodes[chain.back()].inputs[0];
    const NodeId p = producers_[static_cast<size_t>(v)];
    if (p < 0) return std::nullopt;
    const Node& n = g_.nodes[static_cast<size_t>(p)];
    if (!is_move(n) && !is_reshape(n)) return std::nullopt;
    bool free = true;
    for (const size_t c : chain) free = free && is_reshape(g_.nodes[c]);
    const bool alone = readers_[static_cast<size_t>(v)].size() == 1 && !g_.is_output(v);
    if (free && !alone) return std::nullopt;
    return static_cast<size_t>(p);
  }

  // `chain` from the last node to the first.
  std::optional<Compute> as_one(const std::vector<size_t>& chain) const {
    const Value& source = g_.value(g_.nodes[chain.back()].inputs[0]);
    te::Builder b;
    te::Tensor t = b.input("x0", source.dtype, source.shape);
    for (size_t i = chain.size(); i-- > 0;) {
      t = append(b, "move" + std::to_string(i), g_.nodes[chain[i]].op, {&t, 1})[0];
    }
    b.output(t);
    const te::ComputeDag dag =
        te::inlined(b.finish("move"), [](const te::ComputeOp&) { return true; });
    for (const te::Access& a : te::accesses(*dag.ops[0])) {
      if (!a.affine) return std::nullopt;
    }
    return Compute{std::make_shared<const te::ComputeDag>(dag)};
  }

  Graph& g_;
  std::vector<NodeId> producers_;
  std::vector<std::vector<NodeId>> readers_;
};

}  // namespace

void compose_moves(Graph& g, const PassContext&) {
  Compose(g).run();
  g.compact();
}

}  // namespace tenon::graph
