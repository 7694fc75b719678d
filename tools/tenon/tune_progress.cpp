// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/tune_progress.h"

#include <algorithm>

#include "tools/tenon/json.h"

namespace tenon::tools {
namespace {

std::string text_of(const Json& e, const char* key) {
  const auto it = e.find(key);
  return it != e.end() && it->is_string() ? it->get<std::string>() : "";
}

std::optional<double> number_of(const Json& e, const char* key) {
  const auto it = e.find(key);
  return it != e.end() && it->is_number() ? std::optional(it->get<double>()) : std::nullopt;
}

int64_t count_of(const Json& e, const char* key) {
  return static_cast<int64_t>(number_of(e, key).value_or(0));
}

// A time that counts: there is one, and it is more than nothing.
std::optional<double> time_of(const Json& e, const char* key) {
  const auto s = number_of(e, key);
  return s && *s > 0 ? s : std::nullopt;
}

const Json& list_of(const Json& e, const char* key) {
  static const Json kNone = Json::array();
  const auto it = e.find(key);
  return it != e.end() && it->is_array() ? *it : kNone;
}

std::vector<ModelProgress> models_of(const Json& e) {
  std::vector<ModelProgress> models;
  for (const Json& m : list_of(e, "models")) {
    models.push_back({.name = text_of(m, "name"), .directory = text_of(m, "directory")});
  }
  return models;
}

std::vector<TaskProgress> tasks_of(const Json& e) {
  std::vector<TaskProgress> tasks;
  for (const Json& t : list_of(e, "tasks")) {
    TaskProgress p{.key = text_of(t, "key"), .label = text_of(t, "label")};
    for (const Json& calls : list_of(t, "calls")) {
      p.calls += calls.is_number() ? calls.get<double>() : 0;
    }
    p.trials = count_of(t, "measured");
    tasks.push_back(std::move(p));
  }
  return tasks;
}

void take_network(ModelProgress& m, const Json& e) {
  m.default_s = time_of(e, "default_s");
  m.tuned_s = time_of(e, "tuned_s");
  m.ratio = time_of(e, "ratio");
  m.low = time_of(e, "low");
  m.high = time_of(e, "high");
  m.kept = text_of(e, "kept");
  m.tuned = count_of(e, "tuned");
}

void take_layout(LayoutProgress& l, const Json& e) {
  const auto s = time_of(e, "s");
  const auto was = time_of(e, "default_s");
  ++l.tried;
  l.better += s && was && *s < *was ? 1 : 0;
}

void take_layouts(LayoutProgress& l, const Json& e) {
  l.decided = true;
  l.calls = 0;
  const auto models = e.find("models");
  if (models == e.end() || !models->is_object()) {
    return;
  }
  for (const auto& [name, calls] : models->items()) {
    l.calls += calls.is_object() ? static_cast<int64_t>(calls.size()) : 0;
  }
}

}  // namespace

TaskProgress* TuneProgress::find(const std::string& key) {
  const auto it =
      std::find_if(tasks_.begin(), tasks_.end(), [&](const auto& t) { return t.key == key; });
  return it == tasks_.end() ? nullptr : &*it;
}

void TuneProgress::take(const std::string& event) {
  const Json e = Json::parse(event, nullptr, /*allow_exceptions=*/false);
  if (!e.is_object()) {
    return;
  }
  const std::string kind = text_of(e, "event");
  t_ = number_of(e, "t").value_or(t_);
  TaskProgress* task = find(text_of(e, "task"));
  if (kind == "run") {
    run_ = text_of(e, "run");
    models_ = models_of(e);
    tasks_ = tasks_of(e);
    budget_s_ = number_of(e, "budget_s").value_or(0);
    trials_ = count_of(e, "trials");
    measured_ = measured_before_ = count_of(e, "measured_before");
    begun_s_ = number_of(e, "spent_before_s").value_or(t_);
    ended_.clear();
  } else if (kind == "default" && task != nullptr) {
    task->start_s = time_of(e, "s");
    task->best_s = task->best_s ? task->best_s : task->start_s;
  } else if (kind == "round") {
    measured_ = count_of(e, "measured");
    failed_ = count_of(e, "failed");
    last_task_ = text_of(e, "task");
    const auto failures = e.find("failures");
    if (failures != e.end() && failures->is_object()) {
      for (const auto& [outcome, n] : failures->items()) {
        failures_[outcome] += n.is_number() ? n.get<int64_t>() : 0;
      }
    }
    if (task != nullptr) {
      task->trials += count_of(e, "tried");
      task->best_s = time_of(e, "best_s") ? time_of(e, "best_s") : task->best_s;
      task->start_s = time_of(e, "default_s") ? time_of(e, "default_s") : task->start_s;
    }
  } else if ((kind == "best" || kind == "finals") && task != nullptr) {
    const auto s = time_of(e, kind == "best" ? "s" : "best_s");
    task->best_s = s ? s : task->best_s;
  } else if (kind == "artifact" || kind == "network") {
    for (ModelProgress& m : models_) {
      if (m.name != text_of(e, "model")) {
        continue;
      }
      if (kind == "network") {
        take_network(m, e);
      } else {
        m.written_s = t_;
        m.tuned = count_of(e, "tuned");
      }
    }
  } else if (kind == "layout") {
    take_layout(layouts_, e);
  } else if (kind == "layouts") {
    take_layouts(layouts_, e);
  } else if (kind == "end") {
    ended_ = text_of(e, "reason");
    measured_ = count_of(e, "measured");
    failed_ = count_of(e, "failed");
  }
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
