// SPDX-License-Identifier: Apache-2.0
#include "tune/layout_decision.h"

#include <algorithm>

#include "tune/best_schedules.h"

namespace tenon::tune {
namespace {

constexpr int kTries = 3;  // a dear conversion changes the choice, which may need others

bool is_conversion(const te::ComputeDag& dag) {
  const te::Tensor& out = dag.outputs[0];
  return task::key_of(dag) == task::key_of(plan::conversion_dag(out.dtype(), out.shape()));
}

// Conversions of the network that no layout time tells the time of.
void find_unknown(const plan::Network& n, const plan::LayoutTimes& layout_times,
                  std::vector<TaskToTune>& unknown) {
  for (size_t i = 0; i < n.tasks.size(); ++i) {
    const task::Task& t = n.tasks[i].task;
    if (!is_conversion(*t.dag) || layout_times.find(task::key_of(*t.dag), t.edges) != nullptr)
      continue;
    if (std::any_of(unknown.begin(), unknown.end(),
                    [&](const TaskToTune& u) { return u.task.key == t.key; }))
      continue;
    unknown.push_back(to_tune(n, i));
  }
}

}  // namespace

std::vector<plan::CallDecisions> decide_layouts(plan::LayoutTimes layout_times,
                                                const std::vector<DecideWithTimes>& decide,
                                                const TunerOptions& tuner,
                                                measure::Measurer& measurer, db::Database* db,
                                                const std::string& run,
                                                const std::function<bool()>& stop) {
  std::vector<plan::CallDecisions> chosen;
  for (int t = 0; t < kTries; ++t) {
    chosen.clear();
    std::vector<TaskToTune> unknown;
    for (const DecideWithTimes& d : decide) {
      const plan::Network n = d(layout_times);
      chosen.push_back({n.plan.layouts.calls, plan::From::kMeasured});
      find_unknown(n, layout_times, unknown);
    }
    if (unknown.empty() || (stop && stop())) break;
    TunerOptions once = tuner;
    once.trials = static_cast<int64_t>(unknown.size());
    ModelSpec spec;
    spec.weights.assign(unknown.size(), 1);
    TaskTuner defaults(unknown, {spec}, once, measurer, db, run, {});
    while (!(stop && stop()) && defaults.step(stop)) {
    }
    defaults.settle();
    for (size_t i = 0; i < unknown.size(); ++i) {
      const TaskResult& r = defaults.results()[i];
      const task::Task& task = unknown[i].task;
      if (r.best_s > 0)
        layout_times.tasks[task::key_of(*task.dag)].push_back({task.edges, r.best_s});
    }
  }
  return chosen;
}

}  // namespace tenon::tune
