// SPDX-License-Identifier: Apache-2.0
#include "plan/layouts.h"

#include <algorithm>

#include "plan/layout_rules.h"
#include "task/task.h"

namespace tenon::plan {
namespace {

using graph::Call;
using graph::ValueId;
using layout::Layout;

class Planner {
 public:
  Planner(const LayoutRules& rules, const Layouts& chosen)
      : rules_(rules), g_(rules.g()), p_(rules.p()), chosen_(edges_of(chosen)) {}

  LayoutPlan run() {
    for (const ValueId v : g_.inputs) {
      if (g_.value(v).elements() > 0) produce(v, plain(v));  // nothing reads the others
    }
    for (size_t i = 0; i < p_.calls.size(); ++i) plan(i);
    return std::move(plan_);
  }

 private:
  using Edges = std::map<std::string, Layout>;

  // By call; empty: not decided before.
  std::vector<Edges> edges_of(const Layouts& chosen) const {
    std::vector<Edges> out(p_.calls.size());
    for (size_t i = 0; i < out.size(); ++i) {
      const Call& c = p_.calls[i];
      const auto it = chosen.find(c.name);
      if (it == chosen.end()) continue;
      out[i] = task::parse_edges(it->second, *p_.tasks[static_cast<size_t>(c.task)].dag);
      check_views(c, out[i]);
      check_stored(c, out[i]);
    }
    return out;
  }

  // Some program can store them so.
  void check_stored(const Call& c, const Edges& edges) const {
    const auto& dag = p_.tasks[static_cast<size_t>(c.task)].dag;
    const auto any = std::make_shared<const target::Target>();  // replay asks nothing of it
    const std::string why = task::why_not_stored(task::make_task(dag, edges, any));
    if (why.empty()) return;
    throw UserError("the layouts chosen for " + c.name + " do not fit: " + why,
                    "they were changed, or made for another model or by another version");
  }

  void check_views(const Call& c, const Edges& edges) const {
    const te::ComputeDag& dag = *p_.tasks[static_cast<size_t>(c.task)].dag;
    for (size_t i = 0; i < dag.inputs.size(); ++i) {
      const ValueId v = c.inputs[i];
      if (dag.inputs[i].constant || root(v) == v) continue;
      if (!layout::same_storage(edges.at(dag.inputs[i].tensor.name()), plain(v))) {
        throw UserError("the layouts chosen for " + c.name + " do not fit this model",
                        "they were made for another model or by another version");
      }
    }
  }

  ValueId root(ValueId v) const { return rules_.root(v); }
  Layout plain(ValueId v) const { return rules_.plain(v); }
  const templates::Choice& wish(int32_t task) const { return rules_.wish(task); }

  int32_t add_slot(ValueId v, Layout l) {
    plan_.slots.push_back({v, std::move(l)});
    const auto slot = static_cast<int32_t>(plan_.slots.size()) - 1;
    slots_of_[v].push_back(slot);
    return slot;
  }
  int32_t produce(ValueId v, Layout l) { return add_slot(root(v), std::move(l)); }

  const Layout& layout_of(int32_t slot) const {
    return plan_.slots[static_cast<size_t>(slot)].layout;
  }

  // The slot that holds `v` as it was first stored. A view is row-major, and so is its root.
  int32_t stored(ValueId v) const { return slots_of_.at(root(v)).front(); }
  Layout stored_layout(ValueId v) const { return root(v) == v ? layout_of(stored(v)) : plain(v); }

  // The slot that holds `v` in layout `l`: one that exists, or the result of a conversion.
  int32_t slot_as(ValueId v, const Layout& l) {
    if (root(v) != v) {
      TENON_CHECK(layout::same_storage(l, plain(v))) << "a view asked for in another layout";
      return stored(v);
    }
    for (const int32_t s : slots_of_.at(v)) {
      if (layout::same_storage(layout_of(s), l)) return s;
    }
    const int32_t from = stored(v);
    PlannedCall c;
    c.dag = std::make_shared<const te::ComputeDag>(
        conversion_dag(g_.value(v).dtype, g_.value(v).shape));
    c.task = "relay";
    c.edges = {{"x0", layout_of(from)}, {"relay", l}};
    c.inputs = {from};
    c.constants = {-1};
    c.outputs = {add_slot(v, l)};
    c.nodes = {"relay of " + g_.value(v).name};
    plan_.calls.push_back(c);
    return plan_.calls.back().outputs[0];
  }

  void plan(size_t call) {
    const Call& c = p_.calls[call];
    const Edges& chosen = chosen_[call];
    const graph::Computation& task = p_.tasks[static_cast<size_t>(c.task)];
    const te::ComputeDag& dag = *task.dag;
    PlannedCall out;
    out.dag = task.dag;
    out.task = task.key;
    out.nodes = c.nodes;
    out.call = static_cast<int32_t>(call);
    std::vector<Layout> outputs = output_layouts(c, chosen);
    for (size_t i = 0; i < dag.inputs.size(); ++i) {
      const ValueId v = c.inputs[i];
      const bool constant = dag.inputs[i].constant;
      out.constants.push_back(constant ? v : -1);
      if (constant) {
        out.inputs.push_back(-1);
        continue;
      }
      const std::string& name = dag.inputs[i].tensor.name();
      const Layout wanted = chosen.empty() ? input_layout(c, i, outputs) : chosen.at(name);
      out.inputs.push_back(slot_as(v, wanted));
      out.edges.emplace(name, wanted);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      out.edges.emplace(dag.outputs[i].name(), outputs[i]);
      out.outputs.push_back(produce(c.outputs[i], outputs[i]));
    }
    if (task.kind == graph::Kind::kMap) out.in_place = shareable(out);
    plan_.calls.push_back(std::move(out));
    for (const ValueId v : c.outputs) make_plain(v);
  }

  // What is stored in several places is read from one of them, which the first write would change.
  static bool stored_once(const Layout& l) {
    return std::none_of(l.steps().begin(), l.steps().end(), [](const layout::LayoutStep& s) {
      return s.op == layout::LayoutOp::kUnfold;
    });
  }

  // The first input that an element-wise call reads exactly where it writes.
  static int32_t shareable(const PlannedCall& c) {
    const te::Tensor& out = c.dag->outputs[0];
    if (!stored_once(c.edges.at(out.name()))) return -1;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      const te::Tensor& in = c.dag->inputs[i].tensor;
      if (c.inputs[i] < 0 || in.shape() != out.shape() || in.dtype().bytes() != out.dtype().bytes())
        continue;
      if (layout::same_storage(c.edges.at(in.name()), c.edges.at(out.name())))
        return static_cast<int32_t>(i);
    }
    return -1;
  }

  // Where row-major memory is needed but the kernel is much better at another form, a conversion follows it.
  void make_plain(ValueId v) {
    if (!rules_.must_be_plain(v)) return;
    const int32_t slot = slot_as(v, plain(v));
    auto& slots = slots_of_.at(v);
    std::swap(slots.front(), *std::find(slots.begin(), slots.end(), slot));
  }

  std::vector<Layout> output_layouts(const Call& c, const Edges& chosen) {
    std::vector<Layout> out;
    const te::ComputeDag& dag = *p_.tasks[static_cast<size_t>(c.task)].dag;
    for (size_t i = 0; i < c.outputs.size(); ++i) {
      const ValueId v = c.outputs[i];
      const bool needs_plain = rules_.must_be_plain(v);
      if (!chosen.empty()) {
        out.push_back(chosen.at(dag.outputs[i].name()));
      } else if (rules_.all_plain() ||
                 (needs_plain && (takes_plain_output(c.task) || takes_plain(c)))) {
        out.push_back(plain(v));
      } else if (wish(c.task).flexible) {
        out.push_back(followed(c, v));
      } else {
        out.push_back(wish(c.task).edges.at(dag.outputs[i].name()));
      }
    }
    return out;
  }

  // The same family writes row-major outputs too.
  bool takes_plain_output(int32_t task) {
    if (wish(task).flexible) return true;
    const te::ComputeDag& dag = *p_.tasks[static_cast<size_t>(task)].dag;
    std::map<std::string, Layout> edges = rules_.wished_edges(task);
    for (const te::Tensor& t : dag.outputs) edges.insert_or_assign(t.name(), Layout(t.shape()));
    return rules_.same_family(task, edges);
  }

  // The same family does without any other layout than the row-major one, in which its inputs lie.
  bool takes_plain(const Call& c) {
    const te::ComputeDag& dag = *p_.tasks[static_cast<size_t>(c.task)].dag;
    std::map<std::string, Layout> edges;
    for (size_t i = 0; i < dag.inputs.size(); ++i) {
      if (dag.inputs[i].constant) continue;
      if (!lies_plain(c.inputs[i])) return false;
      edges.emplace(dag.inputs[i].tensor.name(), plain(c.inputs[i]));
    }
    for (const te::Tensor& t : dag.outputs) edges.emplace(t.name(), Layout(t.shape()));
    return rules_.same_family(c.task, edges);
  }

  // Stored row-major and in no other way, for one reader.
  bool lies_plain(ValueId v) const {
    return root(v) == v && slots_of_.at(v).size() == 1 && rules_.readers(v) == 1 &&
           layout::same_storage(stored_layout(v), plain(v));
  }

  // A row-major tensor that a contraction alone reads is better read as it is than converted in a step of its own: what
  // one core writes there another one reads.
  bool takes_plain_input(const Call& c, size_t i, const std::vector<Layout>& outputs) {
    const ValueId v = c.inputs[i];
    if (!lies_plain(v)) return false;
    const te::ComputeDag& dag = *p_.tasks[static_cast<size_t>(c.task)].dag;
    std::map<std::string, Layout> edges = rules_.wished_edges(c.task);
    for (size_t o = 0; o < outputs.size(); ++o)
      edges.insert_or_assign(dag.outputs[o].name(), outputs[o]);
    edges.insert_or_assign(dag.inputs[i].tensor.name(), plain(v));
    return rules_.same_family(c.task, edges);
  }

  Layout followed(const Call& c, ValueId out) const {
    const ValueId leader = rules_.leader(c);
    const Layout l = leader < 0 ? plain(out) : rules_.follow(leader, stored_layout(leader), out);
    if (!layout::same_storage(l, plain(out)) || g_.value(out).dtype.bits != 8) return l;
    return wanted_by_reader(out).value_or(l);
  }

  // How the only reader of 8-bit numbers wants them, if it is no follower itself: its dot products take groups of channels,
  // which a plain tensor does not have.
  std::optional<Layout> wanted_by_reader(ValueId v) const {
    if (rules_.readers(v) != 1 || root(v) != v) return std::nullopt;
    for (const Call& c : p_.calls) {
      const auto at = std::find(c.inputs.begin(), c.inputs.end(), v);
      if (at == c.inputs.end()) continue;
      const auto i = static_cast<size_t>(at - c.inputs.begin());
      const std::string& name = p_.tasks[static_cast<size_t>(c.task)].dag->inputs[i].tensor.name();
      if (wish(c.task).flexible) return std::nullopt;
      return wish(c.task).edges.at(name);
    }
    return std::nullopt;
  }

  Layout input_layout(const Call& c, size_t i, const std::vector<Layout>& outputs) {
    const ValueId v = c.inputs[i];
    if (rules_.all_plain() || root(v) != v) return plain(v);
    const te::ComputeDag& dag = *p_.tasks[static_cast<size_t>(c.task)].dag;
    if (!wish(c.task).flexible) {
      const Layout& wished = wish(c.task).edges.at(dag.inputs[i].tensor.name());
      return takes_plain_input(c, i, outputs) ? plain(v) : wished;
    }
    const bool like_output =
        outputs.size() == 1 && g_.value(v).shape == g_.value(c.outputs[0]).shape;
    return like_output ? outputs[0] : stored_layout(v);
  }

  const LayoutRules& rules_;
  const graph::Graph& g_;
  const graph::Partition& p_;
  std::vector<Edges> chosen_;  // by call
  std::map<ValueId, std::vector<int32_t>> slots_of_;
  LayoutPlan plan_;
};

}  // namespace

te::ComputeDag conversion_dag(ir::DType t, const std::vector<int64_t>& shape) {
  te::Builder b;
  const te::Tensor x = b.input("x0", t, shape);
  b.output(te::elementwise(b, "relay", {x}, [](std::span<const ir::Expr> e) { return e[0]; }));
  return b.finish("relay");
}

LayoutPlan plan_layouts(const LayoutRules& rules, const Layouts& chosen) {
  return Planner(rules, chosen).run();
}

LayoutPlan plan_layouts(const graph::Graph& g, const graph::Partition& p,
                        const target::Target& target) {
  return plan_layouts(LayoutRules(g, p, std::make_shared<const target::Target>(target)), {});
}

LayoutPlan plan_plain(const graph::Graph& g, const graph::Partition& p) {
  return plan_layouts(LayoutRules(g, p, nullptr), {});
}

}  // namespace tenon::plan
