// SPDX-License-Identifier: Apache-2.0
#include "graph/fuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/define.h"
#include "graph/fusion_checks.h"
#include "graph/group.h"
#include "ir/ir.h"
#include "support/check.h"
#include "te/attention.h"
#include "te/splice.h"

namespace tenon::graph {
namespace {

constexpr const char* kAll = "*";

void name_groups(const Graph& g, const std::vector<Group*>& groups) {
  std::map<std::string, int> uses;
  for (const Group* group : groups) ++uses[g.value(group->outputs[0]).name];
  for (size_t i = 0; i < groups.size(); ++i) {
    const std::string& name = g.value(groups[i]->outputs[0]).name;
    groups[i]->name = name.empty() || uses[name] > 1 ? fmt::format("#{}", i) : name;
  }
}

bool is_view(const Node& n) { return std::holds_alternative<Reshape>(n.op); }

class Fuser {
 public:
  Fuser(const Graph& g, const std::set<std::string>& pairs, const target::Limits& limits)
      : g_(g),
        asked_(pairs),
        limits_(limits),
        producers_(g.producers()),
        readers_(g.readers()),
        is_output_(g.output_flags()),
        root_(g.views()) {
    owner_.assign(g.nodes.size(), -1);
    for (size_t n = 0; n < g.nodes.size(); ++n) {
      if (is_view(g.nodes[n])) continue;
      owner_[n] = static_cast<int>(groups_.size());
      groups_.push_back({{static_cast<NodeId>(n)}, g.nodes[n].outputs, Kind::kOther});
      groups_.back().kind = classify(define(g, g.nodes[n]));
    }
  }

  std::vector<Group> run() {
    join_all(&Fuser::maps_into_maps, false);
    join_all(&Fuser::epilogues, true);
    join_until_done(&Fuser::rows);
    join_until_done(&Fuser::moves);
    join_all(&Fuser::operands, false);
    join_all(&Fuser::weights, false);
    for (size_t i = 0; i < groups_.size(); ++i) join_attention(static_cast<int>(i));
    join_all(&Fuser::row_operands, false);
    std::vector<Group*> all;
    for (const size_t i : in_order()) all.push_back(&groups_[i]);
    name_groups(g_, all);
    if (!asked_.empty()) join_pairs();
    return finish();
  }

 private:
  using Rule = bool (Fuser::*)(const Group& first, const Group& second, Kind merged);

  // Joins each group with its only reader where `rule` allows. Backward when the later of two producers
  // should win, as at a residual sum.
  bool join_all(Rule rule, bool backward) {
    bool any = false;
    for (size_t i = 0; i < groups_.size(); ++i) {
      const size_t at = backward ? groups_.size() - 1 - i : i;
      while (!groups_[at].nodes.empty()) {
        const int reader = only_reader(groups_[at]);
        if (reader < 0 || !join(static_cast<int>(at), reader, rule, backward)) break;
        any = true;
      }
    }
    return any;
  }

  // A group that has grown may take in what it refused before. None grows more often than it has room for nodes.
  void join_until_done(Rule rule) {
    for (size_t round = 0; round < kMostOps && join_all(rule, false); ++round) {
    }
  }

  // The one group that reads the only output of `a`; -1: none, several, or the outside.
  int only_reader(const Group& a) const {
    if (a.outputs.size() != 1 || is_output_[static_cast<size_t>(a.outputs[0])]) return -1;
    int reader = -1;
    for (const NodeId n : readers_[static_cast<size_t>(a.outputs[0])]) {
      const int o = owner_[static_cast<size_t>(n)];
      if (o < 0 || (reader >= 0 && o != reader)) return -1;
      reader = o;
    }
    return reader >= 0 && groups_[static_cast<size_t>(reader)].outputs.size() == 1 ? reader : -1;
  }

  // The merged group takes the place of the first when `keep_first`, of the second otherwise.
  bool join(int first, int second, Rule rule, bool keep_first) {
    Group& a = groups_[static_cast<size_t>(first)];
    Group& b = groups_[static_cast<size_t>(second)];
    if (a.nodes.size() + b.nodes.size() > kMostOps) return false;
    Group merged;
    merged.nodes = a.nodes;
    merged.nodes.insert(merged.nodes.end(), b.nodes.begin(), b.nodes.end());
    std::sort(merged.nodes.begin(), merged.nodes.end());
    merged.outputs = b.outputs;
    merged.name = b.name;
    if (rule == &Fuser::pairs) merged.joined = a.name;
    if (!(this->*rule)(a, b, Kind::kOther)) return false;
    const te::ComputeDag dag = group_dag(g_, merged.nodes, merged.outputs).dag;
    if (!is_small(dag)) return false;
    merged.kind = classify(dag);
    if (!(this->*rule)(a, b, merged.kind) || (b.kind == Kind::kHeavy && !is_affine(dag)))
      return false;
    if (rule == &Fuser::operands && !keeps_columns(dag)) return false;
    if (rule == &Fuser::row_operands && !is_row_operand(dag, limits_)) return false;
    const int to = keep_first ? first : second;
    for (const NodeId n : merged.nodes) owner_[static_cast<size_t>(n)] = to;
    (keep_first ? b : a) = Group{};
    groups_[static_cast<size_t>(to)] = std::move(merged);
    return true;
  }

  int64_t elements(const Group& a) const { return g_.value(a.outputs[0]).elements(); }
  const Shape& shape(const Group& a) const { return g_.value(a.outputs[0]).shape; }

  // The rules: asked before the merged dag is built (kOther) and after.
  bool maps_into_maps(const Group& a, const Group& b, Kind) {
    return a.kind == Kind::kMap && b.kind == Kind::kMap && elements(a) == elements(b) &&
           !narrows_sum(a);
  }
  // It makes fewer bytes of what a contraction sums up, which is better stored so: it belongs to that one first.
  bool narrows_sum(const Group& a) const {
    for (const NodeId n : a.nodes) {
      for (const ValueId v : g_.nodes[static_cast<size_t>(n)].inputs) {
        const int before = source(v);
        if (before >= 0 && groups_[static_cast<size_t>(before)].kind == Kind::kHeavy &&
            g_.value(a.outputs[0]).bytes() < g_.value(v).bytes())
          return true;
      }
    }
    return false;
  }
  bool epilogues(const Group& a, const Group& b, Kind) {
    return (a.kind == Kind::kHeavy || a.kind == Kind::kReduce) && b.kind == Kind::kMap &&
           shape(a) == shape(b);
  }
  bool rows(const Group& a, const Group& b, Kind merged) {
    const auto fits = [](Kind k) { return k == Kind::kRows || k == Kind::kMap; };
    return fits(a.kind) && fits(b.kind) && (a.kind == Kind::kRows || b.kind == Kind::kRows) &&
           (merged == Kind::kOther || merged == Kind::kRows);
  }
  bool moves(const Group& a, const Group& b, Kind) {
    const auto cheap = [](Kind k) { return k == Kind::kMove || k == Kind::kMap; };
    return cheap(a.kind) && cheap(b.kind) && (a.kind == Kind::kMove || b.kind == Kind::kMove) &&
           elements(b) <= elements(a);
  }
  // A pure move that a contraction can read through: a transpose, a slice.
  bool operands(const Group& a, const Group& b, Kind) {
    if (a.kind != Kind::kMove || b.kind != Kind::kHeavy) return false;
    const bool product = std::any_of(b.nodes.begin(), b.nodes.end(), [&](NodeId n) {
      return std::holds_alternative<MatMul>(g_.nodes[static_cast<size_t>(n)].op);
    });
    if (!product) return false;
    return only_moves(a);
  }

  // A layer norm that only a product reads.
  bool row_operands(const Group& a, const Group& b, Kind) {
    return (a.kind == Kind::kRows || a.kind == Kind::kReduce) && b.kind == Kind::kHeavy;
  }

  // Every element is one of what it reads; a slice at the beginning is such a map too.
  bool only_moves(const Group& a) const {
    if (a.nodes.empty() || (a.kind != Kind::kMove && a.kind != Kind::kMap)) return false;
    for (const NodeId n : a.nodes) {
      for (const te::OpRef& op : define(g_, g_.nodes[static_cast<size_t>(n)]).ops) {
        if (op->body.as<ir::Load>() == nullptr) return false;
      }
    }
    return true;
  }

  // Weights of a convolution that are computed from constant ones.
  bool weights(const Group& a, const Group& b, Kind) {
    if (a.kind != Kind::kMap || b.kind != Kind::kHeavy || a.nodes.size() != 1) return false;
    const Node* conv = only_conv(g_, b.nodes);
    const auto& inputs = g_.nodes[static_cast<size_t>(a.nodes[0])].inputs;
    return conv != nullptr && conv->inputs[1] == a.outputs[0] &&
           std::any_of(inputs.begin(), inputs.end(), [&](ValueId v) {
             return g_.value(v).constant() && g_.value(v).shape == shape(a);
           });
  }

  // A depthwise convolution and the pointwise one that alone reads it, if it was asked for.
  bool pairs(const Group& a, const Group& b, Kind) {
    if (!asked_.contains(kAll) && !asked_.contains(b.name)) return false;
    const Node* first = only_conv(g_, a.nodes);
    const Node* second = only_conv(g_, b.nodes);
    return first != nullptr && second != nullptr && is_depthwise(g_, *first, limits_) &&
           is_pointwise(g_, *second, limits_) && second->inputs[0] == a.outputs[0] &&
           readers_[static_cast<size_t>(a.outputs[0])].size() == 1;
  }

  void join_pairs() {
    join_all(&Fuser::pairs, false);
    std::set<std::string> joined;
    for (const Group& group : groups_) {
      if (!group.joined.empty()) joined.insert(group.name);
    }
    for (const std::string& name : asked_) {
      if (joined.contains(name) || name == kAll) continue;
      throw UserError("the pair chosen for " + name + " does not fit this model",
                      "it was chosen for another model or by another version");
    }
  }

  // softmax(q k) v as one group: `rows` between two products, with the transpose behind the second one.
  bool join_attention(int rows) {
    const Kind kind = groups_[static_cast<size_t>(rows)].kind;
    if (limits_.fused_attention == 0 || (kind != Kind::kRows && kind != Kind::kReduce))
      return false;
    const int second = only_reader(groups_[static_cast<size_t>(rows)]);
    const int first = product_before(rows);
    if (first < 0 || second < 0 || groups_[static_cast<size_t>(second)].kind != Kind::kHeavy)
      return false;
    std::vector<int> parts = moves_before(first);
    const std::vector<int> more = moves_before(second);
    parts.insert(parts.end(), more.begin(), more.end());
    parts.insert(parts.end(), {first, rows, second});
    const int behind = only_reader(groups_[static_cast<size_t>(second)]);
    if (behind >= 0 && groups_[static_cast<size_t>(behind)].kind == Kind::kMove) {
      parts.push_back(behind);
      if (join_parts(parts)) return true;
      parts.pop_back();
    }
    return join_parts(parts);
  }

  // Moves that only this product reads.
  std::vector<int> moves_before(int product) const {
    std::vector<int> found;
    for (const NodeId n : groups_[static_cast<size_t>(product)].nodes) {
      for (const ValueId v : g_.nodes[static_cast<size_t>(n)].inputs) {
        const NodeId p = producers_[static_cast<size_t>(v)];
        const int o = p < 0 ? -1 : owner_[static_cast<size_t>(p)];
        if (o < 0 || o == product || !only_moves(groups_[static_cast<size_t>(o)])) continue;
        const bool known = std::find(found.begin(), found.end(), o) != found.end();
        if (!known && only_reader(groups_[static_cast<size_t>(o)]) == product) found.push_back(o);
      }
    }
    return found;
  }

  // The product whose only reader is `rows`; -1: none.
  int product_before(int rows) const {
    for (const NodeId n : groups_[static_cast<size_t>(rows)].nodes) {
      for (const ValueId v : g_.nodes[static_cast<size_t>(n)].inputs) {
        const NodeId p = producers_[static_cast<size_t>(v)];
        const int o = p < 0 ? -1 : owner_[static_cast<size_t>(p)];
        if (o < 0 || o == rows) continue;
        const Group& group = groups_[static_cast<size_t>(o)];
        if (group.kind == Kind::kHeavy && only_reader(group) == rows) return o;
      }
    }
    return -1;
  }

  bool join_parts(const std::vector<int>& parts) {
    Group merged;
    for (const int p : parts) {
      const auto& nodes = groups_[static_cast<size_t>(p)].nodes;
      merged.nodes.insert(merged.nodes.end(), nodes.begin(), nodes.end());
    }
    std::sort(merged.nodes.begin(), merged.nodes.end());
    merged.outputs = groups_[static_cast<size_t>(parts.back())].outputs;
    merged.kind = Kind::kHeavy;
    const te::ComputeDag dag =
        te::with_single_moves(group_dag(g_, merged.nodes, merged.outputs).dag);
    const auto found = te::find_attention(dag);
    if (!is_small(dag) || !found || !attention_pays(*found, limits_) || !is_affine(dag))
      return false;
    for (const int p : parts) groups_[static_cast<size_t>(p)] = Group{};
    for (const NodeId n : merged.nodes) owner_[static_cast<size_t>(n)] = parts.back();
    groups_[static_cast<size_t>(parts.back())] = std::move(merged);
    return true;
  }

  std::vector<Group> finish() const {
    std::vector<Group> out;
    for (const size_t i : in_order()) out.push_back(groups_[i]);
    return out;
  }

  // Groups in an order in which they can run.
  std::vector<size_t> in_order() const {
    std::vector<size_t> order;
    std::vector<char> done(groups_.size(), 0);
    for (size_t i = 0; i < groups_.size(); ++i) place(i, done, order);
    return order;
  }

  void place(size_t first, std::vector<char>& done, std::vector<size_t>& order) const {
    std::vector<std::pair<size_t, bool>> stack{{first, false}};
    while (!stack.empty()) {
      const auto [at, ready] = stack.back();
      stack.pop_back();
      if (done[at] != 0) continue;
      if (ready) {
        done[at] = 1;
        if (!groups_[at].nodes.empty()) order.push_back(at);
        continue;
      }
      stack.emplace_back(at, true);
      for (const NodeId n : groups_[at].nodes) {
        for (const ValueId v : g_.nodes[static_cast<size_t>(n)].inputs) {
          const int before = source(v);
          if (before >= 0 && before != static_cast<int>(at) &&
              done[static_cast<size_t>(before)] == 0)
            stack.emplace_back(static_cast<size_t>(before), false);
        }
      }
    }
  }

  // The group that computes a value, looking through views.
  int source(ValueId v) const {
    const NodeId p = producers_[static_cast<size_t>(root_[static_cast<size_t>(v)])];
    return p < 0 ? -1 : owner_[static_cast<size_t>(p)];
  }

  const Graph& g_;
  const std::set<std::string>& asked_;  // pairs
  const target::Limits& limits_;
  std::vector<NodeId> producers_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> is_output_;
  std::vector<ValueId> root_;  // per value: what it is a view of
  std::vector<Group> groups_;
  std::vector<int> owner_;  // per node; -1 for a view
};

}  // namespace

std::vector<Group> fuse(const Graph& g, const std::set<std::string>& pairs,
                        const target::Limits& limits) {
  return Fuser(g, pairs, limits).run();
}

std::vector<Group> one_per_node(const Graph& g) {
  std::vector<Group> groups;
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    if (is_view(g.nodes[n])) continue;
    groups.push_back(
        {{static_cast<NodeId>(n)}, g.nodes[n].outputs, classify(define(g, g.nodes[n]))});
  }
  std::vector<Group*> all;
  for (Group& group : groups) all.push_back(&group);
  name_groups(g, all);
  return groups;
}

}  // namespace tenon::graph
