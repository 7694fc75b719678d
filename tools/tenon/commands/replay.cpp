// SPDX-License-Identifier: Apache-2.0
// tenon replay: how strategies would have fared on what was measured before.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "history/records.h"
#include "search/strategy/strategy.h"
#include "tools/tenon/command.h"
#include "tools/tenon/db_source.h"
#include "tools/tenon/json.h"
#include "tools/tenon/record_options.h"
#include "tools/tenon/text.h"
#include "tune/replay_space.h"

namespace tenon::tools {
namespace {

struct ReplayArgs {
  std::string data;
  std::vector<std::string> strategies = {"evolution", "random"};
  std::string cost_model = "xgb";
  int64_t seeds = 10;
  int64_t trials = 0;  // 0: half of what is on record, at most kMostTrials
  int64_t round = 0;
  history::SelectionOptions select;
};

constexpr int64_t kMostTrials = 200;
constexpr size_t kLeastPrograms = 10;  // fewer say nothing about a strategy
constexpr double kNearBest = 0.95;
constexpr int kShares[] = {10, 25, 50, 100};  // percent of the trials

struct Spread {
  double mean = 0, deviation = 0, low = 0, high = 0;
};

Spread spread_of(const std::vector<double>& v) {
  if (v.empty()) return {};
  Spread s{0, 0, *std::min_element(v.begin(), v.end()), *std::max_element(v.begin(), v.end())};
  for (const double x : v) s.mean += x / static_cast<double>(v.size());
  for (const double x : v) s.deviation += (x - s.mean) * (x - s.mean);
  s.deviation = v.size() < 2 ? 0 : std::sqrt(s.deviation / static_cast<double>(v.size() - 1));
  return s;
}

struct StrategyRow {
  std::string strategy;
  std::vector<Spread> at;      // per share of the trials: best on record / best so far
  int64_t reached = 0;         // seeds that came near the best
  std::vector<double> trials;  // that each of these took
};

struct TaskReport {
  db::TaskRow task;
  history::RecordKey key;
  std::shared_ptr<const tune::ReplaySpace> recorded;
  int64_t trials = 0;
  std::vector<StrategyRow> rows;
};

// The key of the task with the most measurements.
history::RecordKey largest_key(const history::Selection& s, const std::string& task) {
  history::RecordKey best;
  int64_t most = 0;
  for (const history::RecordKey& key : s.keys_of(task)) {
    int64_t n = 0;
    for (const db::Group& g : s.keys.at(key)) n += g.count;
    if (n > most) {
      best = key;
      most = n;
    }
  }
  return best;
}

StrategyRow replay_strategy(const TaskReport& r, const std::string& strategy,
                            const ReplayArgs& args) {
  StrategyRow row{strategy, {}, 0, {}};
  std::vector<std::vector<double>> quality(std::size(kShares));
  const double best = r.recorded->best_s();
  for (int64_t seed = 1; seed <= args.seeds; ++seed) {
    const std::vector<double> curve = tune::replay(r.recorded, {.strategy = strategy,
                                                                .cost_model = args.cost_model,
                                                                .seed = static_cast<uint64_t>(seed),
                                                                .trials = r.trials,
                                                                .round = args.round});
    for (size_t i = 0; i < std::size(kShares); ++i) {
      const int64_t trial = std::max<int64_t>(1, r.trials * kShares[i] / 100);
      const auto at = static_cast<size_t>(std::min<int64_t>(trial, std::ssize(curve)) - 1);
      quality[i].push_back(best / curve[at]);
    }
    const auto near =
        std::find_if(curve.begin(), curve.end(), [&](double s) { return best / s >= kNearBest; });
    if (near == curve.end()) continue;
    ++row.reached;
    row.trials.push_back(static_cast<double>(near - curve.begin() + 1));
  }
  for (const auto& q : quality) row.at.push_back(spread_of(q));
  return row;
}

std::vector<TaskReport> tasks_to_replay(const db::Database& db, const ReplayArgs& args,
                                        const Console& console) {
  const history::Selection s = select(db, with_host(args.select));
  const auto target = std::make_shared<const target::Target>(target::host_target());
  std::vector<TaskReport> list;
  size_t small = 0;
  for (const db::TaskRow& row : s.tasks) {
    const history::RecordKey key = largest_key(s, row.key);
    if (row.te.empty() || key.task.empty()) continue;
    TaskReport r{row, key, nullptr, args.trials, {}};
    try {
      r.recorded = std::make_shared<const tune::ReplaySpace>(
          history::task_of(row, target),
          db.measurements({key.task, key.target, key.protocol, s.run}));
    } catch (const UserError& damaged) {
      console.warn(fmt::format("task {} is left out: {}", row.key, damaged.what()));
      continue;
    }
    const size_t programs = r.recorded->programs().size();
    if (programs < kLeastPrograms || !std::isfinite(r.recorded->best_s())) {
      ++small;
      continue;
    }
    if (r.trials == 0)
      r.trials = std::min<int64_t>(kMostTrials, static_cast<int64_t>(programs) / 2);
    list.push_back(std::move(r));
  }
  if (list.empty()) {
    throw UserError(
        args.data, 0, 0,
        fmt::format("no task has {} programs on record that still fit it", kLeastPrograms),
        "tenon tune makes such records");
  }
  if (small > 0) {
    console.note(fmt::format("note     {} tasks with fewer than {} programs are left out", small,
                             kLeastPrograms));
  }
  return list;
}

Json to_json(const Spread& s) {
  return {{"mean", s.mean}, {"deviation", s.deviation}, {"min", s.low}, {"max", s.high}};
}

Json to_json(const TaskReport& r) {
  Json rows = Json::array();
  for (const StrategyRow& row : r.rows) {
    Json at = Json::object();
    for (size_t i = 0; i < std::size(kShares); ++i) {
      at[fmt::format("{}%", kShares[i])] = to_json(row.at[i]);
    }
    rows.push_back(
        {{"strategy", row.strategy},
         {"quality", at},
         {"reached", row.reached},
         {"trials_to_95%", row.trials.empty() ? Json() : to_json(spread_of(row.trials))}});
  }
  return {{"task", r.task.key},
          {"label", r.task.label},
          {"target", r.key.target},
          {"protocol", r.key.protocol},
          {"programs", r.recorded->programs().size()},
          {"left_out", r.recorded->left_out()},
          {"best_s", r.recorded->best_s()},
          {"trials", r.trials},
          {"strategies", rows}};
}

std::string to_text(const TaskReport& r, int64_t seeds) {
  std::string text =
      fmt::format("{}  {}  {} programs on record, best {}  {}  {} trials\n", escaped(r.task.key),
                  escaped(r.task.label), r.recorded->programs().size(),
                  time_text(r.recorded->best_s()), escaped(r.key.protocol), r.trials);
  text += fmt::format("  {:<12}", "strategy");
  for (const int share : kShares) text += fmt::format("  {:>12}", fmt::format("{} %", share));
  text += "   trials to 95 % of the best\n";
  for (const StrategyRow& row : r.rows) {
    text += fmt::format("  {:<12}", row.strategy);
    for (const Spread& s : row.at) {
      text += fmt::format("  {:>12}", fmt::format("{:.3f} ±{:.3f}", s.mean, s.deviation));
    }
    const Spread n = spread_of(row.trials);
    text += row.trials.empty() ? "   never\n"
                               : fmt::format("   {:.0f} ±{:.0f} ({} of {} seeds)\n", n.mean,
                                             n.deviation, row.reached, seeds);
  }
  return text;
}

int replay_command(const ReplayArgs& args, const Console& console) {
  const auto db = open_records(args.data);
  std::vector<TaskReport> reports = tasks_to_replay(*db, args, console);
  Progress progress(console, "replaying");
  double done = 0;
  for (TaskReport& r : reports) {
    for (const std::string& strategy : args.strategies) {
      progress.at(done / static_cast<double>(reports.size() * args.strategies.size()),
                  r.task.label);
      r.rows.push_back(replay_strategy(r, strategy, args));
      ++done;
    }
  }
  Json tasks = Json::array();
  std::string text;
  for (const TaskReport& r : reports) {
    tasks.push_back(to_json(r));
    text += to_text(r, args.seeds);
  }
  console.answer(console.json() ? tools::to_text(Json{{"schema", "tenon.replay/1"},
                                                      {"data", args.data},
                                                      {"cost_model", args.cost_model},
                                                      {"seeds", args.seeds},
                                                      {"tasks", tasks}})
                                : text);
  return kExitOk;
}

template <class Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

}  // namespace

Run add_replay(CLI::App& command, Console& console) {
  const auto args = std::make_shared<ReplayArgs>();
  command.add_option("--data", args->data, "Export ('-': standard input) or database")
      ->required()
      ->type_name("FILE");
  command.add_option("--strategy", args->strategies, "Which to run")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(search::loop_strategies()))
      ->capture_default_str();
  command.add_option("--cost-model", args->cost_model, "What predicts the worth of programs")
      ->check(CLI::IsMember(names_of(cost::models())))
      ->capture_default_str();
  command.add_option("--seeds", args->seeds, "How often, with another seed each time")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str()
      ->type_name("N");
  command
      .add_option("--trials", args->trials,
                  fmt::format("Programs to try (default: half of what is on record, at most {})",
                              kMostTrials))
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->type_name("N");
  command
      .add_option("--round", args->round,
                  "Programs tried at once (default: a tenth of the trials, at most 32)")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  add_selection_options(command, args->select);
  return [args, &console] { return replay_command(*args, console); };
}

}  // namespace tenon::tools
