// SPDX-License-Identifier: Apache-2.0
#include "plan/layout_rules.h"

#include "schedule/state.h"
#include "templates/edges.h"

namespace tenon::plan {
namespace {

using graph::Call;
using graph::ValueId;
using layout::Layout;
using templates::blocked;

// The block of N C/b spatial.. b; nothing for any other layout.
std::optional<int64_t> block_of(const Layout& l) {
  const auto& shape = l.logical_shape();
  if (shape.size() < 3) return std::nullopt;
  const int64_t b = l.storage_shape().empty() ? 0 : l.storage_shape().back();
  if (b <= 1 || shape[1] % b != 0) return std::nullopt;
  return layout::same_storage(l, blocked(shape, b)) ? std::optional(b) : std::nullopt;
}

}  // namespace

LayoutRules::LayoutRules(const graph::Graph& g, const graph::Partition& p,
                         std::shared_ptr<const target::Target> target,
                         std::vector<schedule::Algorithm> without)
    : g_(g),
      p_(p),
      target_(std::move(target)),
      without_(std::move(without)),
      wishes_(p.tasks.size()),
      plain_(g.values.size(), 0),
      readers_(g.values.size(), 0) {
  for (const Call& c : p.calls) {
    for (const ValueId v : c.inputs) ++readers_[static_cast<size_t>(root(v))];
  }
  for (const ValueId v : g.inputs) plain_[static_cast<size_t>(root(v))] = 1;
  for (const ValueId v : g.outputs) plain_[static_cast<size_t>(root(v))] = 1;
  for (size_t v = 0; v < g.values.size(); ++v) {
    if (p.view_of[v] != static_cast<ValueId>(v)) plain_[static_cast<size_t>(p.view_of[v])] = 1;
  }
}

const templates::Choice& LayoutRules::wish(int32_t task) const {
  auto& w = wishes_[static_cast<size_t>(task)];
  if (!w) {
    const schedule::State initial(p_.tasks[static_cast<size_t>(task)].dag, target_);
    w = templates::choose(initial, {.borders = false, .without = without_});
  }
  return *w;
}

std::map<std::string, Layout> LayoutRules::wished_edges(int32_t task) const {
  std::map<std::string, Layout> edges = wish(task).edges;
  for (const te::Input& in : p_.tasks[static_cast<size_t>(task)].dag->inputs) {
    if (in.constant) edges.erase(in.tensor.name());
  }
  return edges;
}

bool LayoutRules::same_family(int32_t task, const std::map<std::string, Layout>& edges) const {
  const schedule::State initial(p_.tasks[static_cast<size_t>(task)].dag, target_);
  return templates::choose(initial, {.fixed = edges, .borders = false, .without = without_}).name ==
         wish(task).name;
}

ValueId LayoutRules::leader(const Call& c) const {
  ValueId best = -1;
  for (const ValueId v : c.inputs) {
    if (g_.value(v).constant()) continue;
    if (best < 0 || g_.value(v).elements() > g_.value(best).elements()) best = v;
  }
  return best;
}

Layout LayoutRules::follow(ValueId leader, const Layout& l, ValueId out) const {
  const auto& shape = g_.value(out).shape;
  if (g_.value(leader).shape == shape) return l;
  const auto b = block_of(l);
  return b && shape.size() >= 3 && shape[1] % *b == 0 ? blocked(shape, *b) : plain(out);
}

}  // namespace tenon::plan
