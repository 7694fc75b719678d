// SPDX-License-Identifier: Apache-2.0
#include "tune/networks.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstdint>

#include "support/check.h"
#include "tune/best_schedules.h"

namespace tenon::tune {
namespace {

constexpr size_t kNotTuned = SIZE_MAX;

bool matches(const std::string& glob, const task::Task& t) {
  return fnmatch(glob.c_str(), t.label.c_str(), 0) == 0 ||
         fnmatch(glob.c_str(), t.key.c_str(), 0) == 0;
}

const task::Task& task_of_step(const plan::Network& n, int32_t t) {
  return n.tasks[static_cast<size_t>(t)].task;
}

// How often a model calls each task that is tuned.
using Calls = std::map<size_t, double>;

// Adds the tasks of one network to those that are known.
Calls add_tasks(const plan::Network& n, const std::string& glob,
                std::map<std::string, size_t>& known, NetworkTasks& out) {
  Calls calls;
  std::vector<std::string>& steps = out.steps.emplace_back();
  for (size_t step = 0; step < n.task_of.size(); ++step) {
    const int32_t t = n.task_of[step];
    const task::Task& task = task_of_step(n, t);
    steps.push_back(task.key);
    const auto [it, first] = known.emplace(task.key, out.tasks.size());
    if (first && matches(glob, task)) {
      out.tasks.push_back(to_tune(n, static_cast<size_t>(t)));
      out.nodes.emplace_back();
    } else if (first) {
      it->second = kNotTuned;
    }
    if (it->second == kNotTuned) continue;
    calls[it->second] += 1;
    const std::vector<std::string>& names = n.layouts.calls[step].nodes;
    std::vector<std::string>& all = out.nodes[it->second];
    all.insert(all.end(), names.begin(), names.end());
  }
  return calls;
}

}  // namespace

bool NetworkTasks::has(const std::string& key) const {
  return std::any_of(tasks.begin(), tasks.end(),
                     [&](const TaskToTune& t) { return t.task.key == key; });
}

Networks::Networks(const std::vector<Model>& models, const compile::Options& options)
    : plans(models.size(), options.plan), models_(models), options_(options) {}

bool Networks::replanned(size_t m) const {
  const plan::NetworkPlan& first = first_plan();
  return plans[m].pairs.calls != first.pairs.calls || plans[m].layouts.calls != first.layouts.calls;
}

void Networks::take_layouts(size_t m, const plan::CallDecisions& chosen) {
  if (!chosen.calls.empty()) plans[m].layouts = chosen;
}

plan::Network Networks::decide(size_t m, const plan::NetworkPlan& plan,
                               const plan::LayoutTimes& layout_times) const {
  compile::Options o = options_;
  o.plan = plan;
  o.layout_times = layout_times;
  return compile::decide(*models_[m].graph, models_[m].name, o);
}

artifact::Program Networks::build(size_t m, const plan::NetworkPlan& plan) const {
  artifact::Program p = compile::build(decide(m, plan), options_);
  p.provenance = models_[m].provenance;
  return p;
}

plan::NetworkPlan Networks::plan_with(size_t m, const Programs& programs) const {
  plan::NetworkPlan plan = plans[m];
  for (const auto& [key, program] : programs) plan.set(program);
  return plan;
}

NetworkTasks Networks::tasks(const std::string& glob) const {
  NetworkTasks out;
  std::map<std::string, size_t> known;
  std::vector<Calls> calls;
  for (size_t m = 0; m < size(); ++m) {
    calls.push_back(add_tasks(decide(m, plans[m]), glob, known, out));
  }
  if (out.tasks.empty()) {
    throw UserError(fmt::format("no task matches \"{}\"", glob),
                    "tenon tune --dry-run lists the tasks of a model");
  }
  for (size_t m = 0; m < size(); ++m) {
    ModelSpec spec{std::vector<double>(out.tasks.size(), 0), models_[m].target_s,
                   models_[m].reference_s};
    for (const auto& [i, n] : calls[m]) spec.weights[i] = n;
    out.specs.push_back(std::move(spec));
  }
  return out;
}

std::vector<std::string> Networks::steps(size_t m) const {
  const plan::Network n = decide(m, plans[m]);
  std::vector<std::string> out;
  for (const int32_t t : n.task_of) out.push_back(task_of_step(n, t).key);
  return out;
}

}  // namespace tenon::tune
