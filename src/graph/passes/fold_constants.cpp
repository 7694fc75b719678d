// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "graph/builder.h"
#include "graph/literals.h"
#include "graph/passes.h"

namespace tenon::graph {
namespace {

// A model of a few bytes can ask for any amount of work on constants. What is beyond these bounds is computed at run time.
constexpr double kMostPoints = 1e10;      // of the loops of all folded nodes: some seconds
constexpr double kPointsOfAKernel = 5e6;  // what it costs to compile one
constexpr double kInterpreted = 250;      // how many times slower a point is without
constexpr double kMostBytes = 4e9;        // of results that are there at a time
constexpr double kMostGrowth = 8;         // or so many times the constants of the model

// Where a known scalar decides that another input is never read, the node stops asking for it. What
// only this input needed is then dropped with it.
//   where(false, a, b)  ->  where(b)
void forget_unread(const Graph& g, Node& n) {
  auto* compute = std::get_if<Compute>(&n.op);
  if (compute == nullptr) return;
  te::ComputeDag dag = *compute->dag;
  Literals known;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const Value& v = g.value(n.inputs[i]);
    if (v.constant() && v.elements() == 1)
      known.emplace(dag.inputs[i].tensor.get(), literal(*v.data));
  }
  write_literals(dag, known);
  const std::vector<size_t> kept = drop_unread(dag);
  const size_t literals = known.size();
  if (kept.size() + literals >= n.inputs.size()) return;
  std::vector<ValueId> inputs;
  for (const size_t i : kept) inputs.push_back(n.inputs[i]);
  n.inputs = std::move(inputs);
  compute->dag = std::make_shared<const te::ComputeDag>(std::move(dag));
}

class FoldConstants {
 public:
  FoldConstants(Graph& g, const PassContext& context, bool weights)
      : g_(g), context_(context), weights_(weights), readers_(g.values.size(), 0) {
    for (const Node& n : g.nodes) {
      for (const ValueId v : n.inputs) ++readers_[static_cast<size_t>(v)];
    }
    for (const ValueId v : g.outputs) ++readers_[static_cast<size_t>(v)];
    double given = 0;
    for (const Value& v : g.values) given += v.constant() ? static_cast<double>(v.bytes()) : 0;
    bytes_left_ = std::max(kMostBytes, kMostGrowth * given);
  }

  void run() {
    for (Node& n : g_.nodes) {
      forget_unread(g_, n);
      if (is_foldable(n) && !grows_much(n) && (weights_ || !makes_real(g_, n))) fold(n);
    }
    std::erase_if(g_.nodes, [](const Node& n) { return n.outputs.empty(); });
  }

 private:
  int64_t bytes(const std::vector<ValueId>& values) const {
    int64_t sum = 0;
    for (const ValueId v : values) sum += g_.value(v).bytes();
    return sum;
  }

  bool is_foldable(const Node& n) const {
    const bool known = std::all_of(n.inputs.begin(), n.inputs.end(),
                                   [&](ValueId v) { return g_.value(v).constant(); });
    return known && std::all_of(n.outputs.begin(), n.outputs.end(),
                                [&](ValueId v) { return g_.value(v).bytes() <= kLargestFolded; });
  }

  // A table that every reader can compute as cheaply as read (a range, a mask) would only grow the weights.
  bool grows_much(const Node& n) const {
    const int64_t out = bytes(n.outputs);
    return out > (int64_t{16} << 20) && out > 8 * bytes(n.inputs);
  }

  void fold(Node& n) {
    const te::ComputeDag dag = define(g_, n);
    const double work = points(dag) + std::min(kPointsOfAKernel, kInterpreted * points(dag));
    const auto made = static_cast<double>(bytes(n.outputs));
    if (work > points_left_ || made > bytes_left_) return;
    points_left_ -= work;
    bytes_left_ -= made;
    std::vector<ir::Array> in;
    for (const ValueId v : n.inputs) in.push_back(*g_.value(v).data);
    std::vector<ir::Array> out = context_.evaluate(dag, in);
    for (size_t i = 0; i < out.size(); ++i) {
      g_.value(n.outputs[i]).data = std::make_shared<const ir::Array>(std::move(out[i]));
    }
    for (const ValueId v : n.inputs) release(v);
    n.inputs.clear();
    n.outputs.clear();
  }

  // What all readers have been folded with is needed no more.
  void release(ValueId v) {
    if (--readers_[static_cast<size_t>(v)] > 0) return;
    bytes_left_ += static_cast<double>(g_.value(v).bytes());
    g_.value(v).data.reset();
  }

  Graph& g_;
  const PassContext& context_;
  bool weights_;  // 8-bit ones that are dequantised are folded too
  std::vector<int64_t>
      readers_;  // per value: how often nodes that are left read it, outputs included
  double points_left_ = kMostPoints;
  double bytes_left_ = 0;
};

}  // namespace

double points(const te::ComputeDag& dag) {
  double total = 0;
  for (const te::OpRef& op : dag.ops) {
    double n = 1;
    for (const te::Axis& a : op->axes) n *= static_cast<double>(a.extent);
    for (const te::Axis& a : op->reduce_axes) n *= static_cast<double>(a.extent);
    total += n;
  }
  return total;
}

void fold_constants(Graph& g, const PassContext& context) {
  FoldConstants(g, context, true).run();
  g.compact();
}

void fold_but_weights(Graph& g, const PassContext& context) {
  FoldConstants(g, context, false).run();
  g.compact();
}

}  // namespace tenon::graph
