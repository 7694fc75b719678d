// SPDX-License-Identifier: Apache-2.0
// What passes share that look around a node before they rewrite it: who makes and who reads each value.
//
//   class Delay : Rewriter { bool run() { return each_node([&](size_t n) { return delay(n); }); } };
//   while (Delay(g).run()) g.compact();
#pragma once

#include <functional>
#include <optional>

#include "graph/graph.h"
#include "ir/visit.h"

namespace tenon::graph {

class Rewriter {
 public:
  explicit Rewriter(Graph& g) : g_(g) { look(); }

 protected:
  // Offers each node of now to `rewrite`, which says whether it changed the graph. Whether any did: then more may be
  // found once what is dead is gone.
  template <typename F>
  bool each_node(F&& rewrite) {
    bool any = false;
    const size_t count = g_.nodes.size();
    for (size_t n = 0; n < count; ++n) {
      if (!rewrite(n)) continue;
      look();
      any = true;
    }
    return any;
  }

  const Value& value(ValueId v) const { return g_.value(v); }
  const Shape& shape(ValueId v) const { return g_.value(v).shape; }
  // The node that makes v; null: none does.
  Node* producer(ValueId v) const;
  // The only node that reads v, which is no output of the graph.
  std::optional<size_t> only_reader(ValueId v) const;
  bool read_once(ValueId v) const { return only_reader(v).has_value(); }

  // A map of one op over tensors of another shape. Its constants have one element and keep their shape; `places` says
  // what the old axes are in terms of the new ones.
  using Places = std::function<ir::VarMap(const te::ComputeOp& op, std::span<const ir::Var> axes)>;
  Compute map_at_shape(const Node& map, const Shape& to, const Places& places) const;

  Graph& g_;
  std::vector<std::vector<NodeId>> readers_;

 private:
  void look();
  std::vector<NodeId> producers_;
};

}  // namespace tenon::graph
