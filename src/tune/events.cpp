// SPDX-License-Identifier: Apache-2.0
#include "tune/events.h"

#include <cmath>

namespace tenon::tune {
namespace {

// Of each model: the sum over its tasks; nothing while one of them has no time.
std::vector<events::Seconds> estimates(const std::vector<ModelSpec>& models,
                                       const std::vector<TaskResult>& results,
                                       double TaskResult::*which) {
  std::vector<events::Seconds> out;
  for (const ModelSpec& m : models) {
    double sum = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      if (m.weights[i] == 0) continue;
      const double s = results[i].*which;
      sum += m.weights[i] * (s > 0 ? s : INFINITY);
    }
    out.emplace_back(sum);
  }
  return out;
}

std::map<std::string, double> seconds_between(const RoundTold& r) {
  std::map<std::string, double> out;
  for (const auto& [part, s] : r.after) {
    const auto it = r.before.find(part);
    out[part] = s - (it == r.before.end() ? 0 : it->second);
  }
  return out;
}

events::Ranking ranking_of(const cost::RankingQuality& q) {
  return {q.pairwise_accuracy, q.recall_at_k, q.top_k_score, q.k, static_cast<int64_t>(q.samples)};
}

}  // namespace

events::RunStarted run_started(const RunTold& r) {
  const TunerOptions& o = r.options.tuner;
  events::RunStarted e{.run = r.run,
                       .command = r.options.command,
                       .models = {},
                       .tasks = {},
                       .budget_s = r.options.budget_s,
                       .trials = o.trials,
                       .target = r.target,
                       .protocol = r.protocol,
                       .seed = o.seed,
                       .space = o.space,
                       .strategy = o.strategy,
                       .cost_model = o.cost_model,
                       .measured_before = r.measured_before,
                       .spent_before_s = r.spent_before_s,
                       .disturbed = r.options.disturbed};
  for (const Model& m : r.models) e.models.push_back({m.name, m.directory.string()});
  for (size_t i = 0; i < r.tasks.size(); ++i) {
    const task::Task& t = r.tasks[i].task;
    events::TaskNamed named{t.key, t.label, {}, t.flops, r.tasks[i].origin, r.nodes[i]};
    for (const ModelSpec& m : r.specs) named.calls.push_back(m.weights[i]);
    e.tasks.push_back(std::move(named));
  }
  return e;
}

std::optional<std::string> machine_of(const std::string& json) {
  const events::Parsed e = events::parse(json);
  const auto* run = e.event ? std::get_if<events::RunStarted>(&*e.event) : nullptr;
  return run == nullptr ? std::nullopt : std::optional(run->target);
}

events::HistoryUsed history_used(const history::Used& u) {
  events::HistoryUsed e{.from = u.from, .notes = u.notes};
  if (!u.card) return e;
  const history::Scores& s = u.card->scores;
  e.records = u.card->records;
  e.tasks = std::ssize(u.card->tasks);
  e.trained_at = trained_at_text(*u.card);
  e.held_out = s.tasks;
  if (s.tasks == 0) return e;
  e.top1 = s.top1;
  e.top5 = s.top5;
  e.pairwise = s.pairwise;
  return e;
}

events::RoundDone round_done(const RoundTold& r) {
  events::RoundDone e{.round = r.round,
                      .task = r.task,
                      .tried = std::ssize(r.measurements),
                      .best_s = r.result.best_s,
                      .default_s = r.result.start_s,
                      .measured = r.measured,
                      .failed = r.failed,
                      .estimate_s = estimates(r.models, r.results, &TaskResult::best_s),
                      .default_estimate_s = estimates(r.models, r.results, &TaskResult::start_s),
                      .seconds = seconds_between(r)};
  if (r.ranking != nullptr) e.ranking = ranking_of(*r.ranking);
  for (const task::Measurement& m : r.measurements) {
    if (m.outcome == task::Outcome::kOk) {
      ++e.ok;
    } else {
      ++e.failures[to_string(m.outcome)];
    }
  }
  return e;
}

events::DefaultTimed default_timed(const std::string& task, const task::Measurement& m) {
  return {task, m.median_s, to_string(m.outcome), m.trace};
}

events::NewBest new_best(const std::string& task, const TaskResult& result, double was_s) {
  return {task, result.best_s, was_s, result.start_s, schedule::to_json(result.best)};
}

events::Finals finals_done(const std::string& task, const TaskResult& result) {
  return {task, result.start_s, result.best_s, result.origin == "tuned" ? "tuned" : "default",
          schedule::to_json(result.best)};
}

events::NetworkCompared network_compared(const ModelSummary& m) {
  return {.model = m.name,
          .default_s = m.times.a_s,
          .tuned_s = m.times.b_s,
          .ratio = m.times.ratio,
          .low = m.times.low,
          .high = m.times.high,
          .difference = m.times.difference,
          .kept = m.kept,
          .tuned = m.tuned,
          .tasks = m.tasks};
}

events::RunEnded run_ended(const Summary& s) {
  events::RunEnded e{s.reason, s.measured, s.failed, s.again, s.spent_s, s.seconds};
  for (const Budget::Kind& k : s.kinds) {
    e.spent_on[k.name] += k.spent_s;
    e.gained_by[k.name] += k.gained_s;
  }
  return e;
}

}  // namespace tenon::tune
