// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/commands/tune/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

int64_t total_calls(const PlannedTask& t) {
  return std::accumulate(t.calls.begin(), t.calls.end(), int64_t{0});
}

double work(const PlannedTask& t) { return t.flops * static_cast<double>(total_calls(t)); }

void look_up(PlannedTask& t, const db::Database& db, const std::string& target,
             const std::string& protocol) {
  const db::Filter filter{t.key, target, protocol, ""};
  t.measured = static_cast<int64_t>(db.measurements(filter).size());
  if (const auto best = db.best(filter, true)) {
    t.best_s = best->median_s;
  }
}

}  // namespace

TunePlan make_plan(const std::vector<tune::Model>& models, const tune::SessionOptions& options,
                   const db::Database* db, const std::string& target, const std::string& protocol) {
  TunePlan plan;
  std::map<std::string, size_t> known;
  for (size_t m = 0; m < models.size(); ++m) {
    plan.models.push_back(models[m].name);
    const plan::Network n = compile::decide(*models[m].graph, models[m].name, options.compile);
    for (const int32_t i : n.task_of) {
      const task::Task& task = n.tasks[static_cast<size_t>(i)].task;
      const auto [it, first] = known.emplace(task.key, plan.tasks.size());
      if (first) {
        PlannedTask t;
        t.key = task.key;
        t.label = task.label;
        t.origin = n.plan.tasks[static_cast<size_t>(i)].origin;
        t.flops = task.flops;
        t.calls.resize(models.size());
        t.chosen = fnmatch(options.tasks.c_str(), t.label.c_str(), 0) == 0 ||
                   fnmatch(options.tasks.c_str(), t.key.c_str(), 0) == 0;
        if (db != nullptr) {
          look_up(t, *db, target, protocol);
        }
        plan.tasks.push_back(std::move(t));
      }
      ++plan.tasks[it->second].calls[m];
    }
  }
  std::sort(plan.tasks.begin(), plan.tasks.end(), [](const auto& a, const auto& b) {
    return work(a) != work(b) ? work(a) > work(b) : a.key < b.key;
  });
  return plan;
}

std::string headline(const TunePlan& plan) {
  int64_t chosen = 0;
  int64_t steps = 0;
  int64_t known = 0;
  for (const PlannedTask& t : plan.tasks) {
    chosen += t.chosen ? 1 : 0;
    known += t.chosen && t.best_s ? 1 : 0;
    steps += total_calls(t);
  }
  return fmt::format("{} to tune of {} in {} steps; {} known already", chosen, plan.tasks.size(),
                     steps, known);
}

std::string to_text(const TunePlan& plan) {
  std::string text = fmt::format("tasks    {}\n", headline(plan));
  text += fmt::format("  {:<17} {:<32} {:>8} {:>10} {:>9} {:>10}  {}\n", "task", "label", "calls",
                      "MFLOP", "measured", "best", "default");
  for (const PlannedTask& t : plan.tasks) {
    if (t.chosen) {
      text +=
          fmt::format("  {:<17} {:<32.32} {:>8} {:>10.3f} {:>9} {:>10}  {}\n", t.key,
                      escaped(t.label), fmt::format("{}", fmt::join(t.calls, "+")), t.flops * 1e-6,
                      grouped(t.measured), t.best_s ? time_text(*t.best_s) : "-", t.origin);
    }
  }
  return text;
}

Json to_json(const TunePlan& plan) {
  Json tasks = Json::array();
  for (const PlannedTask& t : plan.tasks) {
    tasks.push_back({{"key", t.key},
                     {"label", t.label},
                     {"calls", t.calls},
                     {"flops", t.flops},
                     {"origin", t.origin},
                     {"chosen", t.chosen},
                     {"measured", t.measured},
                     {"best_ms", t.best_s ? Json(*t.best_s * 1e3) : Json(nullptr)}});
  }
  return {{"schema", "tenon.tune-plan/1"}, {"models", plan.models}, {"tasks", tasks}};
}

}  // namespace tenon::tools
