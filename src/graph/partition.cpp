// SPDX-License-Identifier: Apache-2.0
#include "graph/partition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "graph/fuse.h"
#include "graph/group.h"
#include "support/hash.h"
#include "te/attention.h"
#include "te/splice.h"
#include "te/text.h"

namespace tenon::graph {
namespace {

bool only_moves(const te::ComputeOp& op) { return op.body.as<ir::Load>() != nullptr; }

// Moves in front of a contraction are written into its accesses, so that templates see plain affine reads.
te::ComputeDag without_moves(te::ComputeDag dag, Kind kind) {
  if (kind != Kind::kHeavy) return dag;
  te::ComputeDag single = te::with_single_moves(dag);
  if (te::find_attention(single)) return single;  // its template packs operands as they are moved
  return te::inlined(dag, only_moves);
}

// Names of the model's nodes that the group stands for, each once.
std::vector<std::string> node_names(const Graph& g, const Group& group) {
  std::vector<std::string> names;
  std::unordered_set<std::string_view> seen;
  for (const NodeId n : group.nodes) {
    for (const std::string& name : g.nodes[static_cast<size_t>(n)].nodes) {
      if (seen.insert(name).second) names.push_back(name);
    }
  }
  return names;
}

// A refusal says which nodes of the model it is about; three names are enough to find them.
GroupDag defined(const Graph& g, const Group& group) {
  try {
    return group_dag(g, group.nodes, group.outputs);
  } catch (const UserError& e) {
    std::vector<std::string> names = node_names(g, group);
    const size_t more = names.size() - std::min<size_t>(names.size(), 3);
    names.resize(names.size() - more);
    throw UserError(fmt::format("nodes {}{}: {}", fmt::join(names, ", "),
                                more > 0 ? fmt::format(" and {} more", more) : "", e.what()));
  }
}

}  // namespace

std::string key_of(const te::ComputeDag& dag) {
  return fmt::format("{:016x}", Hasher().add(te::to_text(dag)).value());
}

Partition partition(const Graph& g, const PartitionOptions& options) {
  Partition p;
  p.view_of = g.views();
  std::unordered_map<std::string, int32_t> known;
  for (const Group& group :
       options.fuse ? fuse(g, options.pairs, options.limits) : one_per_node(g)) {
    GroupDag made = defined(g, group);
    const te::ComputeDag dag = without_moves(std::move(made.dag), group.kind);
    const std::string key = key_of(dag);
    const auto [it, first] = known.emplace(key, static_cast<int32_t>(p.tasks.size()));
    if (first) p.tasks.push_back({std::make_shared<const te::ComputeDag>(dag), key, group.kind, 0});
    ++p.tasks[static_cast<size_t>(it->second)].calls;
    p.calls.push_back({it->second, std::move(made.inputs), group.outputs, node_names(g, group),
                       group.name, group.joined});
  }
  return p;
}

void own_outputs(Graph& g) {
  const auto producers = g.producers();
  const std::vector<ValueId> of = g.views();
  std::set<ValueId> taken;
  for (ValueId& out : g.outputs) {
    const ValueId root = of[static_cast<size_t>(out)];
    const bool computed = producers[static_cast<size_t>(root)] >= 0 && !g.value(root).constant();
    if ((computed && taken.insert(root).second) || g.value(out).elements() == 0) continue;
    te::Builder b;
    const Value source = g.value(out);
    const te::Tensor x = b.input("x0", source.dtype, source.shape);
    b.output(te::elementwise(b, "copy", {x}, [](std::span<const ir::Expr> e) { return e[0]; }));
    const ValueId copy = g.add_value({source.name, source.dtype, source.shape, nullptr});
    g.nodes.push_back({Compute{std::make_shared<const te::ComputeDag>(b.finish("copy"))},
                       {out},
                       {copy},
                       "copy",
                       {}});
    out = copy;
  }
}

}  // namespace tenon::graph
