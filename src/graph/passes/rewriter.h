// SPDX-License-Identifier: Apache-2.0
// What passes share that look around a node before they rewrite it: who makes and who reads each value. It is kept up to
// date by what changes the graph here, at the cost of what is changed; so a pass over n nodes takes about n steps.
//
//   class Delay : Rewriter { bool run() { return each_node([&](size_t n) { return delay(n); }); } };
//   if (Delay(g).run()) g.compact();
#pragma once

#include <functional>
#include <optional>
#include <set>

#include "graph/graph.h"
#include "ir/visit.h"

namespace tenon::graph {

class Rewriter {
 public:
  explicit Rewriter(Graph& g);

 protected:
  // Offers each node of now that is still there to `rewrite`, which says whether it changed the graph. Whether any did.
  template <typename F>
  bool each_node(F&& rewrite) {
    bool any = false;
    const size_t count = g_.nodes.size();
    for (size_t n = 0; n < count; ++n) {
      if (!g_.nodes[n].outputs.empty() && rewrite(n)) any = true;
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
  // Every reader of v is among `nodes`, and v is no output of the graph.
  bool read_only_by(const std::set<NodeId>& nodes, ValueId v) const;
  bool is_unread(ValueId v) const;  // nor is it an output

  ValueId add_value(Value v);
  void add_node(Node n);
  // Nodes whose results nobody reads after it are emptied; compact() drops them. So add first what shall read them.
  void set_inputs(size_t n, std::vector<ValueId> inputs);
  // Everything that read `from` reads `to` instead; graph outputs too. What computes `from` stays until compact().
  void replace_uses(ValueId from, ValueId to);

  // A map of one op over tensors of another shape. Its constants have one element and keep their shape; `places` says
  // what the old axes are in terms of the new ones.
  using Places = std::function<ir::VarMap(const te::ComputeOp& op, std::span<const ir::Var> axes)>;
  Compute map_at_shape(const Node& map, const Shape& to, const Places& places) const;

  Graph& g_;

 private:
  using Readers = std::vector<NodeId>;  // may hold some that read it no more, or one twice

  bool reads(NodeId n, ValueId v) const;
  // Up to two different nodes that read v.
  std::vector<NodeId> some_readers(ValueId v) const;
  void drop_unread(std::vector<ValueId> values);

  std::vector<NodeId> producers_;
  mutable std::vector<Readers> readers_;
  std::vector<std::vector<size_t>> outputs_;  // per value: which outputs of the graph it is
};

// The names of `from` come before those of `to`, which takes its work over. A node keeps a bounded number of names: a
// thousand views of each other would otherwise have half a million.
void adopt_names(Node& to, const std::vector<std::string>& from);

}  // namespace tenon::graph
