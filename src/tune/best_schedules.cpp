// SPDX-License-Identifier: Apache-2.0
#include "tune/best_schedules.h"

#include <fmt/format.h>

#include "graph/partition.h"
#include "support/check.h"
#include "task/serve.h"
#include "te/text.h"
#include "tune/task_history.h"

namespace tenon::tune {
namespace {

task::Task read_task(const std::string& te, const std::string& edges,
                     std::shared_ptr<const target::Target> target) {
  auto dag = std::make_shared<const te::ComputeDag>(te::parse(te));
  auto layouts = task::parse_edges(edges, *dag);
  return task::make_task(std::move(dag), std::move(layouts), std::move(target));
}

// The fastest that may serve.
void add_best(const task::Task& t, const TaskHistory& history, BestRecords& out) {
  for (const task::Measurement* m : history.fastest(SIZE_MAX)) {
    if (!m->verified) continue;
    const task::Served served = task::serve_json(t, m->trace);
    if (served) {
      out.schedules[t.key] = to_schedule(t, served->trace, "tuned");
      out.layout_times.tasks[graph::key_of(*t.dag)].push_back({t.edges, m->median_s});
      return;
    }
    out.refused.try_emplace(t.key, "its best record is refused: " + served.why);
  }
}

}  // namespace

task::Task task_of(const artifact::Kernel& kernel, std::shared_ptr<const target::Target> target) {
  task::Task t = read_task(kernel.te, kernel.edges, std::move(target));
  TENON_CHECK(t.key == kernel.task) << "a kernel's text is another task's: " << kernel.name;
  return t;
}

task::Task task_of(const db::TaskRow& row, std::shared_ptr<const target::Target> target) {
  task::Task t = read_task(row.te, row.edges, std::move(target));
  if (t.key != row.key) throw UserError("the text of task " + row.key + " is another task's");
  return t;
}

TaskToTune to_tune(const artifact::Kernel& kernel, std::shared_ptr<const target::Target> target) {
  task::Task t = task_of(kernel, std::move(target));
  schedule::Trace trace = schedule::parse_trace(kernel.trace, schedule::State(t.dag, t.target),
                                                "schedule of " + kernel.name);
  return {std::move(t), std::move(trace), kernel.origin};
}

compile::Schedule to_schedule(const task::Task& t, const schedule::Trace& trace,
                              const std::string& origin) {
  return {schedule::to_text(trace, schedule::State(t.dag, t.target)), origin};
}

BestRecords best_records(const db::Database& db, const target::Target& target,
                         const std::string& measured_target, const std::string& protocol) {
  const auto shared = std::make_shared<const target::Target>(target);
  BestRecords out;
  for (const db::TaskRow& row : db.tasks()) {
    TaskHistory history;
    for (const auto& m : db.measurements({row.key, measured_target, protocol, ""})) {
      history.add(m);
    }
    try {
      if (history.best(true) != nullptr) add_best(task_of(row, shared), history, out);
    } catch (const UserError& e) {
      out.refused[row.key] = fmt::format("its records are not used: {}", e.what());
    }
  }
  return out;
}

}  // namespace tenon::tune
