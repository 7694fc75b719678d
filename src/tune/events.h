// SPDX-License-Identifier: Apache-2.0
// The events of a run as JSON; docs/tuning.md lists their fields. Times that are not known or not finite are null.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

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
  std::string target, protocol;
  int64_t measured_before = 0;
  double spent_before_s = 0;
};

struct LayoutTold {
  std::string task, label;  // of the operator, as it was stored
  std::string point;        // of the layout space, for people
  std::string edges;        // task::edges_text
  double seconds = 0, default_s = 0, best_s = 0;
  int tried = 0;  // layouts of this operator so far
};

struct PairTold {
  std::string task, label;          // of the pair
  std::string first, second;        // the tasks that it would replace
  size_t calls = 0;                 // in all models
  double seconds = 0, apart_s = 0;  // of the pair, and of the two together
  bool taken = false;
};

std::string run_event(const RunTold& r);
// The machine of a run event; nothing where the row is another event, or none.
std::optional<std::string> machine_of(const std::string& json);
std::string pair_event(const PairTold& p);
// What was decided about pairs, by model. Read back when a run goes on; a row that is no event is a UserError.
std::string pairs_event(const std::vector<Model>& models,
                        const std::vector<compile::DepthwisePointwise>& chosen);
std::optional<std::vector<compile::DepthwisePointwise>> pairs_of(const std::string& json,
                                                                 const std::vector<Model>& models);
std::string layout_event(const LayoutTold& l);
// What the joint stage decided, by model; empty where layouts stay as they were. Read back in the same way.
std::string layouts_event(const std::vector<Model>& models,
                          const std::vector<compile::Layouts>& chosen);
std::optional<std::vector<compile::Layouts>> layouts_of(const std::string& json,
                                                        const std::vector<Model>& models);
std::string default_event(const std::string& task, const task::Measurement& m);
std::string artifact_event(const Model& model, int tuned, double seconds);
std::string round_event(const RoundTold& r);
std::string best_event(const std::string& task, const TaskResult& result, double was_s);
std::string wrong_event(const std::string& task, const std::string& why, const std::string& trace);
std::string undecided_event(const std::string& task, const std::string& why,
                            const std::string& trace);
std::string refused_event(const std::string& task, int64_t records, const std::string& why);
std::string fault_event(const std::string& task, const std::string& what);
std::string finals_event(const std::string& task, const TaskResult& result);
std::string network_event(const ModelSummary& m);
std::string end_event(const Summary& s);
// A row of an earlier part of the run that could not be read; the first is 1.
std::string skipped_event(size_t row, const std::string& why);

// The same with the time put in: what is streamed and stored.
std::string at_time(const std::string& json, double at_s);

}  // namespace tenon::tune
