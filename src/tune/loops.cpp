// SPDX-License-Identifier: Apache-2.0
#include "tune/loops.h"

#include <algorithm>
#include <cmath>

#include "tune/best_schedules.h"
#include "tune/events.h"

namespace tenon::tune {

void Loops::find() {
  const std::vector<ModelSpec> before = std::move(found.specs);
  found = networks_.tasks(parts_.options.tasks);
  for (size_t m = 0; m < before.size(); ++m) found.specs[m].reference_s = before[m].reference_s;
}

void Loops::begin(int64_t trials) {
  TunerOptions o = parts_.options.tuner;
  o.trials = trials;
  tuner_ = std::make_unique<TaskTuner>(found.tasks, found.specs, o, parts_.measurer, &parts_.db,
                                       parts_.log.run(), parts_.tell());
  parts_.log.tell(
      run_started({parts_.log.run(), parts_.options, parts_.models, found.tasks, found.specs,
                   found.nodes, parts_.machine(), parts_.measurer.protocol(), parts_.log.measured(),
                   parts_.log.spent_before()}));
}

bool Loops::step(const Stop& stop, int64_t trials) {
  tuner_->set_trials(trials);
  const double before = defaults_known() ? network_s() : INFINITY;
  const bool more = tuner_->step(stop);
  if (std::isfinite(before)) gained_s_ += std::max(0.0, before - network_s());
  return more;
}

int64_t Loops::measured() const {
  if (begun()) return tuner_->measured();
  // Pairs and layouts that were not chosen have been measured besides.
  const auto here = [&](const std::string& key) { return found.has(key); };
  return parts_.log.measured() - parts_.log.measured_beside(here);
}

double Loops::network_s() const {
  double sum = 0;
  const auto& results = tuner_->results();
  for (const ModelSpec& m : found.specs) {
    for (size_t i = 0; i < results.size(); ++i) {
      if (std::isfinite(results[i].best_s)) sum += m.weights[i] * results[i].best_s;
    }
  }
  return sum;
}

bool Loops::defaults_known() const {
  return std::all_of(tuner_->results().begin(), tuner_->results().end(),
                     [](const TaskResult& r) { return r.start_s > 0; });
}

Programs Loops::programs_of(size_t m) const {
  Programs out;
  const auto& results = tuner_->results();
  for (size_t i = 0; i < found.tasks.size(); ++i) {
    const task::Task& t = found.tasks[i].task;
    if (found.specs[m].weights[i] == 0 || results[i].origin != "tuned") continue;
    out[t.key] = tuned_program(t, results[i].best, plan::From::kMeasured);
  }
  return out;
}

}  // namespace tenon::tune
