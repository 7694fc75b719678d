// SPDX-License-Identifier: Apache-2.0
// Events made of what a session and a tuner know.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "events/events.h"
#include "tune/session.h"

namespace tenon::tune {

struct RoundTold {
  int64_t round;
  const std::string& task;
  const std::vector<task::Measurement>& measurements;
  const TaskResult& result;
  int64_t measured, failed;
  const std::vector<ModelSpec>& models;
  const std::vector<TaskResult>& results;
  const cost::RankingQuality* ranking;          // null: the model is not trained yet
  const std::map<std::string, double>& before;  // seconds by part
  const std::map<std::string, double>& after;
};

struct RunTold {
  const std::string& run;
  const SessionOptions& options;
  const std::vector<Model>& models;
  const std::vector<TaskToTune>& tasks;
  const std::vector<ModelSpec>& specs;
  const std::vector<std::vector<std::string>>& nodes;  // by task
  std::string target, protocol;
  int64_t measured_before = 0;
  double spent_before_s = 0;
};

events::RunStarted run_started(const RunTold& r);
events::HistoryUsed history_used(const history::Used& u);
events::RoundDone round_done(const RoundTold& r);
events::DefaultTimed default_timed(const std::string& task, const task::Measurement& m);
events::NewBest new_best(const std::string& task, const TaskResult& result, double was_s);
events::Finals finals_done(const std::string& task, const TaskResult& result);
events::NetworkCompared network_compared(const ModelSummary& m);
events::RunEnded run_ended(const Summary& s);

// The machine that a run was made on; nothing where the row is another event, or none.
std::optional<std::string> machine_of(const std::string& json);

}  // namespace tenon::tune
