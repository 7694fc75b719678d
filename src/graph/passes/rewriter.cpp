// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/rewriter.h"

#include <algorithm>

#include "support/check.h"

namespace tenon::graph {
namespace {

constexpr size_t kMostNames = 64;

}  // namespace

Rewriter::Rewriter(Graph& g)
    : g_(g), producers_(g.producers()), readers_(g.readers()), outputs_(g.values.size()) {
  for (size_t i = 0; i < g.outputs.size(); ++i) {
    outputs_[static_cast<size_t>(g.outputs[i])].push_back(i);
  }
}

Node* Rewriter::producer(ValueId v) const {
  const NodeId p = producers_[static_cast<size_t>(v)];
  return p < 0 ? nullptr : &g_.nodes[static_cast<size_t>(p)];
}

bool Rewriter::reads(NodeId n, ValueId v) const {
  const auto& inputs = g_.nodes[static_cast<size_t>(n)].inputs;
  return std::find(inputs.begin(), inputs.end(), v) != inputs.end();
}

// Looks no further than to the second one, and throws away on the way what is out of date.
std::vector<NodeId> Rewriter::some_readers(ValueId v) const {
  Readers& all = readers_[static_cast<size_t>(v)];
  std::vector<NodeId> found;
  for (size_t i = 0; i < all.size() && found.size() < 2;) {
    if (reads(all[i], v) && (found.empty() || found[0] != all[i])) {
      found.push_back(all[i++]);
      continue;
    }
    all[i] = all.back();
    all.pop_back();
  }
  return found;
}

std::optional<size_t> Rewriter::only_reader(ValueId v) const {
  if (!outputs_[static_cast<size_t>(v)].empty()) return std::nullopt;
  const std::vector<NodeId> readers = some_readers(v);
  if (readers.size() != 1) return std::nullopt;
  return static_cast<size_t>(readers[0]);
}

bool Rewriter::read_only_by(const std::set<NodeId>& nodes, ValueId v) const {
  const Readers& all = readers_[static_cast<size_t>(v)];
  return outputs_[static_cast<size_t>(v)].empty() &&
         std::all_of(all.begin(), all.end(),
                     [&](NodeId n) { return nodes.contains(n) || !reads(n, v); });
}

bool Rewriter::is_unread(ValueId v) const {
  return outputs_[static_cast<size_t>(v)].empty() && some_readers(v).empty();
}

ValueId Rewriter::add_value(Value v) {
  producers_.push_back(-1);
  readers_.emplace_back();
  outputs_.emplace_back();
  return g_.add_value(std::move(v));
}

void Rewriter::add_node(Node n) {
  const auto id = static_cast<NodeId>(g_.nodes.size());
  for (const ValueId v : n.inputs) readers_[static_cast<size_t>(v)].push_back(id);
  for (const ValueId v : n.outputs) producers_[static_cast<size_t>(v)] = id;
  g_.nodes.push_back(std::move(n));
}

void Rewriter::set_inputs(size_t n, std::vector<ValueId> inputs) {
  for (const ValueId v : inputs) readers_[static_cast<size_t>(v)].push_back(static_cast<NodeId>(n));
  std::swap(g_.nodes[n].inputs, inputs);
  drop_unread(std::move(inputs));
}

void Rewriter::drop_unread(std::vector<ValueId> values) {
  while (!values.empty()) {
    const ValueId v = values.back();
    values.pop_back();
    Node* p = producer(v);
    if (p == nullptr || !std::all_of(p->outputs.begin(), p->outputs.end(),
                                     [&](ValueId out) { return is_unread(out); }))
      continue;
    for (const ValueId out : p->outputs) producers_[static_cast<size_t>(out)] = -1;
    p->outputs.clear();
    values.insert(values.end(), p->inputs.begin(), p->inputs.end());
    p->inputs.clear();
  }
}

void Rewriter::replace_uses(ValueId from, ValueId to) {
  TENON_CHECK(from != to) << value(from).name << " in place of itself";
  Readers readers = std::move(readers_[static_cast<size_t>(from)]);
  readers_[static_cast<size_t>(from)].clear();
  for (const NodeId n : readers) {
    auto& inputs = g_.nodes[static_cast<size_t>(n)].inputs;
    std::replace(inputs.begin(), inputs.end(), from, to);
  }
  Readers& all = readers_[static_cast<size_t>(to)];
  all.insert(all.end(), readers.begin(), readers.end());
  std::vector<size_t> outputs = std::move(outputs_[static_cast<size_t>(from)]);
  outputs_[static_cast<size_t>(from)].clear();
  for (const size_t i : outputs) {
    g_.outputs[i] = to;
    outputs_[static_cast<size_t>(to)].push_back(i);
  }
}

Compute Rewriter::map_at_shape(const Node& map, const Shape& to, const Places& places) const {
  const te::ComputeDag& dag = *std::get<Compute>(map.op).dag;
  te::Builder b;
  std::vector<te::Tensor> in;
  for (size_t i = 0; i < dag.inputs.size(); ++i) {
    const te::Tensor& t = dag.inputs[i].tensor;
    const bool one = value(map.inputs[i]).constant();
    in.push_back(b.input("x" + std::to_string(i), t.dtype(), one ? t.shape() : to));
  }
  b.output(b.compute(map.label, to, [&](std::span<const ir::Var> axes) -> ir::Expr {
    const ir::Expr body = ir::substitute(dag.ops[0]->body, places(*dag.ops[0], axes));
    return ir::rewrite(body, [&](const ir::Expr& e) -> ir::Expr {
      const auto* l = e.as<ir::Load>();
      if (l == nullptr) return e;
      for (size_t i = 0; i < in.size(); ++i) {
        if (!l->buffer.same_as(dag.inputs[i].tensor)) continue;
        if (!value(map.inputs[i]).constant())
          return ir::load(in[i], std::vector<ir::Expr>(axes.begin(), axes.end()));
        return ir::load(in[i], std::vector<ir::Expr>(in[i].rank(), ir::Expr(0)));
      }
      return e;
    });
  }));
  return {std::make_shared<const te::ComputeDag>(b.finish(map.label))};
}

void adopt_names(Node& to, const std::vector<std::string>& from) {
  const size_t room = kMostNames - std::min(kMostNames, to.nodes.size());
  const auto kept = from.begin() + static_cast<std::ptrdiff_t>(std::min(room, from.size()));
  to.nodes.insert(to.nodes.begin(), from.begin(), kept);
}

}  // namespace tenon::graph
