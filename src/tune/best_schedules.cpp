// SPDX-License-Identifier: Apache-2.0
#include "tune/best_schedules.h"

#include <fmt/format.h>

#include "history/records.h"
#include "history/task_history.h"
#include "support/check.h"
#include "task/serve.h"
#include "te/text.h"

namespace tenon::tune {
namespace {

// The fastest that may serve.
void add_best(const task::Task& t, const history::TaskHistory& history, BestRecords& out) {
  std::string refused;
  for (const task::Measurement* m : history.fastest(SIZE_MAX)) {
    if (!m->verified) continue;
    const task::Served served = task::serve_json(t, m->trace);
    if (served) {
      plan::TaskPlan program = tuned_program(t, served->trace, plan::From::kRecord);
      program.refused = refused;
      out.plan.tasks.push_back(std::move(program));
      out.layout_times.tasks[task::key_of(*t.dag)].push_back({t.edges, m->median_s});
      return;
    }
    if (refused.empty()) refused = "its best record is refused: " + served.why;
  }
  if (!refused.empty()) out.plan.tasks.push_back(plan::no_program(t.key, refused));
}

// What the run kept as it was.
void add_defaults(const db::Database& db, const target::Target& target, const Verdict& verdict,
                  plan::NetworkPlan& plan) {
  const auto shared = std::make_shared<const target::Target>(target);
  for (const db::TaskRow& row : db.tasks()) {
    const auto known = verdict.tasks.find(row.key);
    if (known == verdict.tasks.end() || plan.find(row.key) != nullptr) continue;
    try {
      const task::Task t = history::task_of(row, shared);
      const task::Served served = task::serve_json(t, known->second.trace);
      if (!served) continue;
      plan::TaskPlan kept = tuned_program(t, served->trace, plan::From::kRecord);
      kept.origin = known->second.origin;
      plan.set(std::move(kept));
    } catch (const UserError&) {  // a task that cannot be read is no task of this network
    }
  }
}

}  // namespace

TaskToTune to_tune(const plan::Network& network, size_t task) {
  const plan::NetworkTask& t = network.tasks[task];
  return {t.task, t.trace, network.plan.tasks[task].origin};
}

plan::TaskPlan tuned_program(const task::Task& t, const schedule::Trace& trace, plan::From from) {
  plan::TaskPlan p;
  p.task = t.key;
  p.te = te::to_text(*t.dag);
  p.edges = task::edges_text(t.edges);
  p.trace = schedule::to_text(trace, schedule::State(t.dag, t.target));
  p.origin = "tuned";
  p.from = from;
  return p;
}

BestRecords best_records(const db::Database& db, const target::Target& target,
                         const std::string& measured_target, const std::string& protocol) {
  const auto shared = std::make_shared<const target::Target>(target);
  BestRecords out;
  out.layout_times.times_from = plan::From::kRecord;
  // Rows of earlier versions tell apart tasks that are one now.
  std::map<std::string, std::pair<task::Task, history::TaskHistory>> known;
  for (const db::TaskRow& row : db.tasks()) {
    const auto measurements = db.measurements({row.key, measured_target, protocol, ""});
    if (measurements.empty()) continue;
    try {
      const task::Task t = history::task_of(row, shared);
      auto& of = known.try_emplace(t.key, t, history::TaskHistory{}).first->second.second;
      for (const auto& m : measurements) of.add(m);
    } catch (const UserError& e) {
      out.plan.tasks.push_back(
          plan::no_program(row.key, fmt::format("its records are not used: {}", e.what())));
    }
  }
  for (const auto& [key, of] : known) {
    if (of.second.best(true) != nullptr) add_best(of.first, of.second, out);
  }
  return out;
}

BestRecords records_for(const db::Database& db, const target::Target& target,
                        const JudgedWhere& where, bool whole) {
  BestRecords best = best_records(db, target, where.machine, where.protocol);
  auto verdict = last_verdict(db, where);
  if (!verdict) return best;
  BestRecords out;
  out.run = verdict->run;
  for (const auto& [task, kept] : verdict->tasks) out.judged.insert(task);
  out.plan = std::move(verdict->plan);
  for (plan::TaskPlan& t : best.plan.tasks) {
    if (!verdict->tasks.contains(t.task)) out.plan.set(std::move(t));
  }
  if (whole) add_defaults(db, target, *verdict, out.plan);
  return out;
}

}  // namespace tenon::tune
