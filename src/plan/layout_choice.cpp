// SPDX-License-Identifier: Apache-2.0
#include "plan/layout_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plan/min_sum.h"
#include "task/task.h"

namespace tenon::plan {
namespace {

using graph::Call;
using graph::ValueId;
using layout::Layout;

constexpr double kWorthIt = 0.998;  // of the cost without a choice

bool same_edges(const std::map<std::string, Layout>& a, const std::map<std::string, Layout>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](auto& x, auto& y) {
           return x.first == y.first && layout::same_storage(x.second, y.second);
         });
}

class Chooser {
 public:
  Chooser(const LayoutRules& rules, const LayoutTimes& layout_times)
      : rules_(rules), layout_times_(layout_times), options_(rules.p().calls.size()) {}

  Layouts run() {
    for (const ValueId v : rules_.g().inputs)
      lies_[rules_.root(v)] = {sum_.add({0}), {rules_.plain(v)}};
    std::vector<size_t> variable(options_.size());
    for (size_t i = 0; i < options_.size(); ++i) variable[i] = add(i);
    const MinSum::Values best = sum_.solve();
    Layouts out;
    for (size_t i = 0; i < options_.size(); ++i) {
      if (!options_[i].measured) continue;
      out[rules_.p().calls[i].name] =
          task::edges_text(options_[i].layout_times[best[variable[i]]].edges);
    }
    return out;
  }

 private:
  // Where a value lies for each value of a variable.
  struct Source {
    size_t variable;
    std::vector<Layout> layouts;
  };
  struct Options {
    bool measured = false;  // else the one that the task wishes
    std::vector<LayoutTime> layout_times;
  };

  const te::ComputeDag& dag_of(const Call& c) const {
    return *rules_.p().tasks[static_cast<size_t>(c.task)].dag;
  }

  // Returns the variable that the call's layouts depend on.
  size_t add(size_t call) {
    const Call& c = rules_.p().calls[call];
    const graph::Computation& t = rules_.p().tasks[static_cast<size_t>(c.task)];
    if (rules_.wish(c.task).flexible) return add_follower(c);
    Options& o = options_[call];
    if (const auto it = layout_times_.tasks.find(task::key_of(*t.dag));
        it != layout_times_.tasks.end()) {
      for (const LayoutTime& layout_time : it->second) {
        if (fits(c, layout_time)) o.layout_times.push_back(layout_time);
      }
      o.measured = !o.layout_times.empty();
    }
    if (!o.measured) o.layout_times.push_back({rules_.wished_edges(c.task), 0});
    return add_owner(c, o.layout_times);
  }

  // Views are row-major.
  bool fits(const Call& c, const LayoutTime& o) const {
    const te::ComputeDag& dag = dag_of(c);
    for (size_t i = 0; i < dag.inputs.size(); ++i) {
      const ValueId v = c.inputs[i];
      if (dag.inputs[i].constant || rules_.root(v) == v) continue;
      if (!layout::same_storage(o.edges.at(dag.inputs[i].tensor.name()), rules_.plain(v)))
        return false;
    }
    return true;
  }

  double conversion(ValueId v, const Layout& from, const Layout& to) const {
    return layout_times_.conversion(rules_.g().value(v).dtype, from, to);
  }

  // Wanted in `wanted[j]` for value j of `variable`.
  void read(ValueId v, size_t variable, const std::vector<Layout>& wanted) {
    if (rules_.root(v) != v) return;  // row-major on both sides
    const Source& from = lies_.at(v);
    std::vector<double> costs;
    for (const Layout& l : from.layouts) {
      for (const Layout& w : wanted) costs.push_back(conversion(v, l, w));
    }
    if (std::any_of(costs.begin(), costs.end(), [](double c) { return c > 0; })) {
      sum_.pair(from.variable, variable, costs);
    }
  }

  size_t add_owner(const Call& c, const std::vector<LayoutTime>& layout_times) {
    const te::ComputeDag& dag = dag_of(c);
    std::vector<double> costs;
    for (const LayoutTime& o : layout_times) costs.push_back(o.seconds + plain_copies(c, o));
    const size_t variable = sum_.add(costs);
    const auto column = [&](const std::string& name) {
      std::vector<Layout> layouts;
      for (const LayoutTime& o : layout_times) layouts.push_back(o.edges.at(name));
      return layouts;
    };
    for (size_t i = 0; i < dag.inputs.size(); ++i) {
      if (!dag.inputs[i].constant) read(c.inputs[i], variable, column(dag.inputs[i].tensor.name()));
    }
    for (size_t i = 0; i < dag.outputs.size(); ++i) {
      write(c.outputs[i], variable, column(dag.outputs[i].name()));
    }
    return variable;
  }

  // Where row-major memory is needed and the kernel writes something else, a conversion follows it.
  double plain_copies(const Call& c, const LayoutTime& o) const {
    const te::ComputeDag& dag = dag_of(c);
    double sum = 0;
    for (size_t i = 0; i < dag.outputs.size(); ++i) {
      const ValueId v = c.outputs[i];
      if (!rules_.must_be_plain(v)) continue;
      sum += conversion(v, o.edges.at(dag.outputs[i].name()), rules_.plain(v));
    }
    return sum;
  }

  void write(ValueId v, size_t variable, std::vector<Layout> layouts) {
    if (rules_.must_be_plain(v)) layouts.assign(layouts.size(), rules_.plain(v));
    lies_[v] = {variable, std::move(layouts)};
  }

  size_t add_follower(const Call& c) {
    const ValueId leader = rules_.leader(c);
    if (leader < 0) {
      const size_t variable = sum_.add({0});
      for (const ValueId v : c.outputs) write(v, variable, {rules_.plain(v)});
      return variable;
    }
    const Source source = source_of(leader);
    for (const ValueId v : c.outputs) {
      std::vector<Layout> layouts;
      for (const Layout& l : source.layouts) layouts.push_back(rules_.follow(leader, l, v));
      write(v, source.variable, std::move(layouts));
    }
    if (c.outputs.size() == 1) read_alike(c, leader);
    return source.variable;
  }

  Source source_of(ValueId v) const {
    const Source& s = lies_.at(rules_.root(v));
    return rules_.root(v) == v
               ? s
               : Source{s.variable, std::vector<Layout>(s.layouts.size(), rules_.plain(v))};
  }

  // Inputs of the output's shape are read as the output is stored.
  void read_alike(const Call& c, ValueId leader) {
    const Source out = lies_.at(c.outputs[0]);
    for (const ValueId v : c.inputs) {
      const graph::Value& value = rules_.g().value(v);
      if (v == leader || value.constant() || value.shape != rules_.g().value(c.outputs[0]).shape)
        continue;
      read(v, out.variable, out.layouts);
    }
  }

  const LayoutRules& rules_;
  const LayoutTimes& layout_times_;
  MinSum sum_;
  std::map<ValueId, Source> lies_;
  std::vector<Options> options_;  // by call
};

}  // namespace

const LayoutTime* LayoutTimes::find(const std::string& task,
                                    const std::map<std::string, Layout>& edges) const {
  const auto it = tasks.find(task);
  if (it == tasks.end()) return nullptr;
  for (const LayoutTime& o : it->second) {
    if (same_edges(o.edges, edges)) return &o;
  }
  return nullptr;
}

double LayoutTimes::conversion(ir::DType t, const Layout& from, const Layout& to) const {
  if (layout::same_storage(from, to)) return 0;
  const te::ComputeDag dag = conversion_dag(t, from.logical_shape());
  const LayoutTime* known =
      find(task::key_of(dag), {{dag.inputs[0].tensor.name(), from}, {dag.outputs[0].name(), to}});
  if (known != nullptr) return known->seconds;
  double bytes = 0;
  for (const Layout* l : {&from, &to}) {
    auto n = static_cast<double>(t.bytes());
    for (const int64_t e : l->storage_shape()) n *= static_cast<double>(e);
    bytes += n;
  }
  return bytes / bytes_per_second;
}

double cost_of(const LayoutRules& rules, const LayoutPlan& plan, const LayoutTimes& layout_times) {
  double sum = 0;
  for (const PlannedCall& c : plan.calls) {
    if (c.call < 0) {
      const Layout& from = c.edges.at(c.dag->inputs[0].tensor.name());
      const Layout& to = c.edges.at(c.dag->outputs[0].name());
      sum += layout_times.conversion(c.dag->outputs[0].dtype(), from, to);
      continue;
    }
    const auto& call = rules.p().calls[static_cast<size_t>(c.call)];
    const std::string key = task::key_of(*rules.p().tasks[static_cast<size_t>(call.task)].dag);
    if (rules.wish(call.task).flexible || !layout_times.tasks.contains(key)) continue;
    const LayoutTime* o = layout_times.find(key, c.edges);
    sum += o == nullptr ? std::numeric_limits<double>::infinity() : o->seconds;
  }
  return sum;
}

Layouts choose_layouts(const LayoutRules& rules, const LayoutTimes& layout_times) {
  if (layout_times.empty()) return {};
  Layouts chosen = Chooser(rules, layout_times).run();
  const double with = cost_of(rules, plan_layouts(rules, chosen), layout_times);
  const double without = cost_of(rules, plan_layouts(rules, {}), layout_times);
  return std::isfinite(without) && with < kWorthIt * without ? chosen : Layouts{};
}

}  // namespace tenon::plan
