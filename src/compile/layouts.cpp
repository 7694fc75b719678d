// SPDX-License-Identifier: Apache-2.0
#include "compile/layouts.h"

#include <algorithm>
#include <optional>
#include <set>

#include "schedule/state.h"
#include "support/hash.h"
#include "te/text.h"
#include "templates/template.h"

namespace tenon::compile {
namespace {

using graph::Call;
using graph::ValueId;
using layout::Layout;

// The block of N C/b spatial.. b; nothing for any other layout.
std::optional<int64_t> block_of(const Layout& l) {
  const auto& shape = l.logical_shape();
  if (shape.size() < 3) return std::nullopt;
  const int64_t b = l.storage_shape().empty() ? 0 : l.storage_shape().back();
  if (b <= 1 || shape[1] % b != 0) return std::nullopt;
  std::vector<int64_t> perm{0, 1};
  for (size_t d = 3; d <= shape.size(); ++d) perm.push_back(static_cast<int64_t>(d));
  perm.push_back(2);
  const Layout blocked = Layout(shape).split(1, {shape[1] / b, b}).reorder(perm);
  return layout::same_storage(l, blocked) ? std::optional(b) : std::nullopt;
}

Layout blocked(const std::vector<int64_t>& shape, int64_t b) {
  std::vector<int64_t> perm{0, 1};
  for (size_t d = 3; d <= shape.size(); ++d) perm.push_back(static_cast<int64_t>(d));
  perm.push_back(2);
  return Layout(shape).split(1, {shape[1] / b, b}).reorder(perm);
}

// The identity as a dag; every conversion is one under two layouts.
te::ComputeDag copy_dag(ir::DType t, const std::vector<int64_t>& shape) {
  te::Builder b;
  const te::Tensor x = b.input("x0", t, shape);
  b.output(te::elementwise(b, "relay", {x}, [](std::span<const ir::Expr> e) { return e[0]; }));
  return b.finish("relay");
}

class Planner {
 public:
  Planner(const graph::Graph& g, const graph::Partition& p, const target::Target* target)
      : g_(g), p_(p), wishes_(p.tasks.size()) {
    if (target != nullptr) target_ = std::make_shared<const target::Target>(*target);
    find_plain();
  }

  LayoutPlan run() {
    for (const ValueId v : g_.inputs) {
      if (g_.value(v).elements() > 0) produce(v, plain(v));  // nothing reads the others
    }
    for (const Call& c : p_.calls) plan(c);
    return std::move(plan_);
  }

 private:
  ValueId root(ValueId v) const { return p_.view_of[static_cast<size_t>(v)]; }
  Layout plain(ValueId v) const { return Layout(g_.value(v).shape); }

  // Values that others see as row-major memory: what the caller gives or gets, and what has views.
  void find_plain() {
    readers_.assign(g_.values.size(), 0);
    for (const Call& c : p_.calls) {
      for (const ValueId v : c.inputs) ++readers_[static_cast<size_t>(root(v))];
    }
    plain_.assign(g_.values.size(), 0);
    for (const ValueId v : g_.inputs) plain_[static_cast<size_t>(root(v))] = 1;
    for (const ValueId v : g_.outputs) plain_[static_cast<size_t>(root(v))] = 1;
    for (size_t v = 0; v < g_.values.size(); ++v) {
      if (p_.view_of[v] != static_cast<ValueId>(v)) plain_[static_cast<size_t>(p_.view_of[v])] = 1;
    }
  }

  const templates::Choice& wish(int32_t task) {
    auto& w = wishes_[static_cast<size_t>(task)];
    if (!w) {
      const schedule::State initial(p_.tasks[static_cast<size_t>(task)].dag, target_);
      w = templates::choose(initial, {{}, false});
    }
    return *w;
  }

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
    c.dag = std::make_shared<const te::ComputeDag>(copy_dag(g_.value(v).dtype, g_.value(v).shape));
    c.task = "relay";
    c.edges = {{"x0", layout_of(from)}, {"relay", l}};
    c.inputs = {from};
    c.constants = {-1};
    c.outputs = {add_slot(v, l)};
    c.nodes = {"relay of " + g_.value(v).name};
    plan_.calls.push_back(c);
    return plan_.calls.back().outputs[0];
  }

  void plan(const Call& c) {
    const graph::Task& task = p_.tasks[static_cast<size_t>(c.task)];
    const te::ComputeDag& dag = *task.dag;
    PlannedCall out;
    out.dag = task.dag;
    out.task = task.key;
    out.nodes = c.nodes;
    std::vector<Layout> outputs = output_layouts(c);
    for (size_t i = 0; i < dag.inputs.size(); ++i) {
      const ValueId v = c.inputs[i];
      const bool constant = dag.inputs[i].constant;
      out.constants.push_back(constant ? v : -1);
      if (constant) {
        out.inputs.push_back(-1);
        continue;
      }
      const Layout wanted = input_layout(c, i, outputs);
      out.inputs.push_back(slot_as(v, wanted));
      out.edges.emplace(dag.inputs[i].tensor.name(), wanted);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      out.edges.emplace(dag.outputs[i].name(), outputs[i]);
      out.outputs.push_back(produce(c.outputs[i], outputs[i]));
    }
    if (task.kind == graph::Kind::kMap) out.in_place = shareable(out);
    plan_.calls.push_back(std::move(out));
    for (const ValueId v : c.outputs) make_plain(v);
  }

  // The first input that an element-wise call reads exactly where it writes.
  static int32_t shareable(const PlannedCall& c) {
    const te::Tensor& out = c.dag->outputs[0];
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
    if (plain_[static_cast<size_t>(v)] == 0) return;
    const int32_t slot = slot_as(v, plain(v));
    auto& slots = slots_of_.at(v);
    std::swap(slots.front(), *std::find(slots.begin(), slots.end(), slot));
  }

  std::vector<Layout> output_layouts(const Call& c) {
    std::vector<Layout> out;
    const te::ComputeDag& dag = *p_.tasks[static_cast<size_t>(c.task)].dag;
    for (size_t i = 0; i < c.outputs.size(); ++i) {
      const ValueId v = c.outputs[i];
      const bool needs_plain = plain_[static_cast<size_t>(v)] != 0;
      if (target_ == nullptr || (needs_plain && (takes_plain_output(c.task) || takes_plain(c)))) {
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
    std::map<std::string, Layout> edges = wished_edges(task);
    for (const te::Tensor& t : dag.outputs) edges.insert_or_assign(t.name(), Layout(t.shape()));
    return same_family(task, edges);
  }

  // What it wishes for tensors that are not constant.
  std::map<std::string, Layout> wished_edges(int32_t task) {
    std::map<std::string, Layout> edges = wish(task).edges;
    for (const te::Input& in : p_.tasks[static_cast<size_t>(task)].dag->inputs) {
      if (in.constant) edges.erase(in.tensor.name());
    }
    return edges;
  }

  bool same_family(int32_t task, const std::map<std::string, Layout>& edges) const {
    const schedule::State initial(p_.tasks[static_cast<size_t>(task)].dag, target_);
    return templates::choose(initial, {edges, false}).name ==
           wishes_[static_cast<size_t>(task)]->name;
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
    return same_family(c.task, edges);
  }

  // Stored row-major and in no other way, for one reader.
  bool lies_plain(ValueId v) const {
    return root(v) == v && slots_of_.at(v).size() == 1 && readers_[static_cast<size_t>(v)] == 1 &&
           layout::same_storage(stored_layout(v), plain(v));
  }

  // A row-major tensor that a contraction alone reads is better read as it is than converted in a step of its own: what
  // one core writes there another one reads.
  bool takes_plain_input(const Call& c, size_t i, const std::vector<Layout>& outputs) {
    const ValueId v = c.inputs[i];
    if (!lies_plain(v)) return false;
    const te::ComputeDag& dag = *p_.tasks[static_cast<size_t>(c.task)].dag;
    std::map<std::string, Layout> edges = wished_edges(c.task);
    for (size_t o = 0; o < outputs.size(); ++o)
      edges.insert_or_assign(dag.outputs[o].name(), outputs[o]);
    edges.insert_or_assign(dag.inputs[i].tensor.name(), plain(v));
    return same_family(c.task, edges);
  }

  // As the largest input is stored, where the output can be.
  Layout followed(const Call& c, ValueId out) const {
    const auto& shape = g_.value(out).shape;
    int64_t most = -1;
    Layout best = plain(out);
    for (const ValueId v : c.inputs) {
      if (g_.value(v).constant() || g_.value(v).elements() <= most) continue;
      const Layout l = stored_layout(v);
      most = g_.value(v).elements();
      best = plain(out);
      if (g_.value(v).shape == shape) {
        best = l;
      } else if (const auto b = block_of(l); b && shape.size() >= 3 && shape[1] % *b == 0) {
        best = blocked(shape, *b);
      }
    }
    return best;
  }

  Layout input_layout(const Call& c, size_t i, const std::vector<Layout>& outputs) {
    const ValueId v = c.inputs[i];
    if (target_ == nullptr || root(v) != v) return plain(v);
    const te::ComputeDag& dag = *p_.tasks[static_cast<size_t>(c.task)].dag;
    if (!wish(c.task).flexible) {
      const Layout& wished = wish(c.task).edges.at(dag.inputs[i].tensor.name());
      return takes_plain_input(c, i, outputs) ? plain(v) : wished;
    }
    const bool like_output =
        outputs.size() == 1 && g_.value(v).shape == g_.value(c.outputs[0]).shape;
    return like_output ? outputs[0] : stored_layout(v);
  }

  const graph::Graph& g_;
  const graph::Partition& p_;
  std::shared_ptr<const target::Target> target_;  // null: everything row-major
  std::vector<std::optional<templates::Choice>> wishes_;
  std::vector<char> plain_;
  std::vector<int> readers_;  // calls, by value
  std::map<ValueId, std::vector<int32_t>> slots_of_;
  LayoutPlan plan_;
};

}  // namespace

LayoutPlan plan_layouts(const graph::Graph& g, const graph::Partition& p,
                        const target::Target& target) {
  return Planner(g, p, &target).run();
}

LayoutPlan plan_plain(const graph::Graph& g, const graph::Partition& p) {
  return Planner(g, p, nullptr).run();
}

}  // namespace tenon::compile
