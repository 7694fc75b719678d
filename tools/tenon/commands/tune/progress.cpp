// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/commands/tune/progress.h"

#include <algorithm>

#include "events/events.h"

namespace tenon::tools {
TaskProgress* TuneProgress::find(const std::string& key) {
  const auto it =
      std::find_if(tasks_.begin(), tasks_.end(), [&](const auto& t) { return t.key == key; });
  return it == tasks_.end() ? nullptr : &*it;
}

// Those that say something about how the run stands; the others change nothing.
struct TuneProgress::Taker {
  TuneProgress& p;

  void operator()(const events::RunStarted& e) const {
    p.run_ = e.run;
    p.models_.clear();
    for (const events::ModelNamed& m : e.models) {
      p.models_.push_back({.name = m.name, .directory = m.directory});
    }
    p.tasks_.clear();
    for (const events::TaskNamed& t : e.tasks) {
      p.tasks_.push_back({.key = t.key, .label = t.label});
      for (const double calls : t.calls) {
        p.tasks_.back().calls += calls;
      }
    }
    p.budget_s_ = e.budget_s;
    p.trials_ = e.trials;
    p.measured_ = p.measured_before_ = e.measured_before;
    p.begun_s_ = e.spent_before_s;
    p.finals_ = 0;
    p.ended_.clear();
  }
  void operator()(const events::DefaultTimed& e) const {
    if (TaskProgress* task = p.find(e.task)) {
      task->start_s = e.s;
      task->best_s = task->best_s ? task->best_s : task->start_s;
    }
  }
  void operator()(const events::RoundDone& e) const {
    p.measured_ = e.measured;
    p.failed_ = e.failed;
    p.last_task_ = e.task;
    for (const auto& [outcome, n] : e.failures) {
      p.failures_[outcome] += n;
    }
    if (TaskProgress* task = p.find(e.task)) {
      task->trials += e.tried;
      task->best_s = e.best_s ? e.best_s : task->best_s;
      task->start_s = e.default_s ? e.default_s : task->start_s;
    }
  }
  void operator()(const events::Counted& e) const {
    p.measured_ = e.measured;
    p.failed_ = e.failed;
  }
  void operator()(const events::NewBest& e) const { better(e.task, e.s); }
  void operator()(const events::Finals& e) const {
    ++p.finals_;
    better(e.task, e.best_s);
  }
  void operator()(const events::ArtifactWritten& e) const {
    for (ModelProgress& m : p.models_) {
      if (m.name == e.model) {
        m.written_s = p.t_;
        m.tuned = e.tuned;
      }
    }
  }
  void operator()(const events::NetworkCompared& e) const {
    for (ModelProgress& m : p.models_) {
      if (m.name == e.model) {
        m.default_s = e.default_s;
        m.tuned_s = e.tuned_s;
        m.ratio = e.ratio;
        m.low = e.low;
        m.high = e.high;
        m.kept = e.kept;
        m.tuned = e.tuned;
      }
    }
  }
  void operator()(const events::LayoutTried& e) const {
    ++p.layouts_.tried;
    p.layouts_.better += e.s && e.default_s && *e.s < *e.default_s ? 1 : 0;
  }
  void operator()(const events::PlanDecided& e) const {
    if (e.decided != "layouts") return;
    p.layouts_.decided = true;
    p.layouts_.calls = 0;
    for (const auto& [name, plan] : e.models) {
      p.layouts_.calls += std::ssize(plan.layouts);
    }
  }
  void operator()(const events::LayoutsChosen& e) const {
    p.layouts_.decided = true;
    p.layouts_.calls = 0;
    for (const auto& [name, calls] : e.models) {
      p.layouts_.calls += std::ssize(calls);
    }
  }
  void operator()(const events::RunEnded& e) const {
    p.ended_ = e.reason;
    p.measured_ = e.measured;
    p.failed_ = e.failed;
    p.again_ = e.again;
  }
  template <class Other>
  void operator()(const Other&) const {}

  void better(const std::string& key, const std::optional<double>& s) const {
    if (TaskProgress* task = p.find(key)) {
      task->best_s = s ? s : task->best_s;
    }
  }
};

void TuneProgress::take(const std::string& event) {
  const events::Parsed parsed = events::parse(event);
  if (!parsed.event) {
    return;
  }
  t_ = parsed.t.value_or(t_);
  std::visit(Taker{*this}, *parsed.event);
}

std::optional<double> TuneProgress::estimate_s() const {
  double sum = 0;
  for (const TaskProgress& t : tasks_) {
    if (!t.best_s && t.calls > 0) {
      return std::nullopt;
    }
    sum += t.calls * t.best_s.value_or(0);
  }
  return tasks_.empty() ? std::nullopt : std::optional(sum);
}

std::optional<double> TuneProgress::default_estimate_s() const {
  double sum = 0;
  for (const TaskProgress& t : tasks_) {
    if (!t.start_s && t.calls > 0) {
      return std::nullopt;
    }
    sum += t.calls * t.start_s.value_or(0);
  }
  return tasks_.empty() ? std::nullopt : std::optional(sum);
}

double TuneProgress::share(const TaskProgress& task) const {
  double sum = 0;
  for (const TaskProgress& t : tasks_) {
    sum += t.calls * t.best_s.value_or(0);
  }
  return sum > 0 ? task.calls * task.best_s.value_or(0) / sum : 0;
}

std::optional<double> TuneProgress::eta_s(double t) const {
  std::optional<double> eta;
  if (budget_s_ > 0) {
    eta = std::max(0.0, budget_s_ - t);
  }
  const double spent = t - begun_s_;
  const auto here = static_cast<double>(measured_ - measured_before_);
  if (trials_ > 0 && here > 0 && spent > 0) {
    const double left =
        static_cast<double>(std::max<int64_t>(0, trials_ - measured_)) * spent / here;
    eta = eta ? std::min(*eta, left) : left;
  }
  return eta;
}

}  // namespace tenon::tools
