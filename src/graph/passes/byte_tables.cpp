// SPDX-License-Identifier: Apache-2.0
//   quantize(f(dequantize(x)))  ->  table[x]
// x is of 8 bits, and f consists of maps whose other operands are one number each: 256 results say all of it. They are
// computed here, each by its definition. What is between may be in 8 bits, too:
//   r = dequantize(x); quantize(r * dequantize(quantize(sigmoid(r))))  ->  table[x]
// Parameters per channel, a second tensor and parameters that are computed are left as they are.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "graph/classify.h"
#include "graph/group.h"
#include "graph/passes.h"
#include "graph/passes/rewriter.h"
#include "te/quantize.h"

namespace tenon::graph {
namespace {

constexpr size_t kMostNodes = 64;

bool is_byte(ir::DType t) { return t.is_int() && t.bits == 8; }

// Whether an element depends on what is read alone, not on where it lies.
bool is_same_everywhere(const te::ComputeOp& op) {
  const ir::Expr others =
      ir::rewrite_loads(op.body, [](const ir::Load& l) { return ir::make_const(l.dtype, 0); });
  bool same = true;
  ir::visit(others, [&](const ir::Expr& e) { same = same && e.as<ir::VarNode>() == nullptr; });
  return same;
}

// The maps of `dag`, whose only input it is, for a row of all integers of 8 bits.
te::ComputeDag for_all_bytes(const te::ComputeDag& dag) {
  te::Builder b;
  std::unordered_map<const ir::BufferNode*, te::Tensor> rows;
  const te::Tensor& x = dag.inputs[0].tensor;
  rows.emplace(x.get(), b.input(x.name(), x.dtype(), {te::kTableEntries}));
  for (const te::OpRef& op : dag.ops) {
    const te::Tensor row = b.compute(op->name(), {te::kTableEntries}, [&](auto axes) {
      return ir::rewrite_loads(op->body, [&](const ir::Load& l) {
        return ir::load(rows.at(l.buffer.get()), {axes[0]});
      });
    });
    rows.emplace(op->output.get(), row);
  }
  b.output(rows.at(dag.outputs[0].get()));
  return b.finish(dag.name);
}

ir::Array all_bytes(ir::DType t) {
  ir::Array a(t, {te::kTableEntries});
  for (int64_t i = 0; i < a.elements(); ++i) a.set(i, {ir::lowest_int(t) + i, 0});
  return a;
}

class ByteTables : public Rewriter {
 public:
  using Rewriter::Rewriter;

  // From the last one on, so that what is between two steps of a table is not made one of its own.
  bool run() {
    bool any = false;
    for (size_t n = g_.nodes.size(); n-- > 0;) {
      if (!g_.nodes[n].outputs.empty() && std::holds_alternative<Quantize>(g_.nodes[n].op)) {
        any = tabulate(n) || any;
      }
    }
    return any;
  }

 private:
  // Nodes that compute a tensor from one of 8 bits.
  struct Chain {
    std::set<NodeId> nodes;            // in their order
    std::map<NodeId, ValueId> before;  // what they read that none of them makes, by who makes it
    ValueId from() const { return before.begin()->second; }
  };

  // A map of equal shapes and single numbers, of the same part of the graph as `end`.
  bool is_step(const Node& n, const Node& end) const {
    if (n.outputs.size() != 1 || n.segment != end.segment ||
        shape(n.outputs[0]) != shape(end.outputs[0]))
      return false;
    for (const ValueId v : n.inputs) {
      const Value& in = value(v);
      if (in.constant() ? in.elements() != 1 : in.shape != shape(n.outputs[0])) return false;
    }
    if (std::holds_alternative<Quantize>(n.op) || std::holds_alternative<Dequantize>(n.op))
      return true;
    const auto* c = std::get_if<Compute>(&n.op);
    return c != nullptr && classify(*c->dag) == Kind::kMap &&
           std::all_of(c->dag->ops.begin(), c->dag->ops.end(),
                       [](const te::OpRef& op) { return is_same_everywhere(*op); });
  }

  // Node `at` takes the place of what it makes. False: it is no step, and the chain is as it was.
  bool grow(Chain& c, NodeId at, const Node& end) const {
    if (at < 0 || c.nodes.size() == kMostNodes) return false;
    const Node& n = g_.nodes[static_cast<size_t>(at)];
    if (!is_step(n, end)) return false;
    c.before.erase(at);
    c.nodes.insert(at);
    for (const ValueId v : n.inputs) {
      if (!value(v).constant()) c.before.emplace(maker(v), v);
    }
    return true;
  }
  // The node that makes v; a number of its own below 0 where none does.
  NodeId maker(ValueId v) const {
    const Node* p = producer(v);
    return p == nullptr ? -1 - v : static_cast<NodeId>(p - g_.nodes.data());
  }

  // The shortest chain to node `at`, or a longer one over what only this chain reads.
  std::optional<Chain> chain_to(NodeId at) const {
    const Node& end = g_.nodes[static_cast<size_t>(at)];
    std::optional<Chain> found;
    Chain c;
    for (NodeId next = at; grow(c, next, end) && !c.before.empty();
         next = c.before.rbegin()->first) {
      if (c.before.size() > 1 || !is_byte(value(c.from()).dtype)) continue;
      found = c;
      if (!read_only_by(c.nodes, c.from())) break;
    }
    return found;
  }

  bool tabulate(size_t at) {
    if (!is_byte(std::get<Quantize>(g_.nodes[at].op).to)) return false;
    const auto chain = chain_to(static_cast<NodeId>(at));
    if (!chain) return false;
    const ValueId y = g_.nodes[at].outputs[0];
    const ValueId x = chain->from();
    const GroupDag steps = group_dag(g_, {chain->nodes.begin(), chain->nodes.end()}, {y});
    if (steps.inputs != std::vector<ValueId>{x}) return false;
    auto table = std::make_shared<const ir::Array>(
        te::evaluate(for_all_bytes(steps.dag), {all_bytes(value(x).dtype)})[0]);
    replace(at, x, add_value({"table", value(y).dtype, {te::kTableEntries}, std::move(table)}));
    for (auto n = chain->nodes.rbegin(); n != chain->nodes.rend(); ++n) {
      const Node& step = g_.nodes[static_cast<size_t>(*n)];
      if (step.outputs.empty()) adopt_names(g_.nodes[at], step.nodes);
    }
    return true;
  }

  // Node `at` becomes table[x].
  void replace(size_t at, ValueId x, ValueId table) {
    te::Builder b;
    const te::Tensor in = b.input("x0", value(x).dtype, shape(x));
    const te::Tensor known = b.input("x1", value(table).dtype, shape(table));
    b.output(te::look_up(b, "look_up", in, known));
    g_.nodes[at].op = Compute{std::make_shared<const te::ComputeDag>(b.finish("look_up"))};
    g_.nodes[at].label = "look_up";
    set_inputs(at, {x, table});
  }
};

}  // namespace

void byte_tables(Graph& g, const PassContext&) {
  if (ByteTables(g).run()) g.compact();
}

}  // namespace tenon::graph
