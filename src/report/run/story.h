// SPDX-License-Identifier: Apache-2.0
// What a tuning run did, read back from the database: its events (docs/tuning.md) folded into
// curves, tables and schedules. Pure data; html.h, markdown.h and json.h write it down. A run that
// was cut off, had no round or only failures is a story too: what is not known is empty.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/db.h"
#include "events/events.h"
#include "report/network/network.h"

namespace tenon::report {

// A time that nobody took, or that was taken of something that failed, is nothing: never 0.
using Seconds = std::optional<double>;

struct Point {
  double at_s = 0;    // tuning time of the run
  int64_t trial = 0;  // programs measured by then: of the run, or in a task's curve of the task
  double s = 0;
};

// The last comparison of whole networks, default against tuned, interleaved.
struct NetworkResult {
  Seconds default_s, tuned_s;
  std::optional<double> ratio, low, high;  // default / tuned with its 95 % interval
  double difference = 0;                   // of outputs, relative
  std::string kept;                        // "tuned", "default: why"
  int64_t tuned = 0, tasks = 0;
};

struct ModelStory {
  std::string name, directory;
  std::vector<std::string> pairs;              // chosen: names of calls
  std::map<std::string, std::string> layouts;  // chosen: edges by call; empty: as they were
  std::optional<Network> picture;              // of its artifact; whoever can read that fills it in
  Seconds default_estimate_s;                  // sum over tasks of calls * default
  std::vector<Point> estimate;  // the same of the bests, after each round in which it changed
  std::optional<NetworkResult> network;

  Seconds best_estimate_s() const {
    return estimate.empty() ? Seconds() : Seconds(estimate.back().s);
  }
};

struct ScheduleText {
  std::string json;     // the trace as recorded; empty: not known
  std::string trace;    // as text
  std::string loops;    // the loop nest
  std::string problem;  // not empty: why there is no loop nest
};

struct TaskStory {
  std::string key, label, origin;  // origin: who made the default
  std::string shape;               // of its output: "1x64x28x28"; empty: not known
  std::string te;
  std::vector<double> calls;       // per model
  std::vector<std::string> nodes;  // of the models, that it computes
  double flops = 0;
  Seconds default_s, best_s;
  std::string default_outcome;  // "ok", "run-crash", ...; empty: not measured
  bool tuned = false;           // the winner is not the default
  int64_t trials = 0, failed = 0;
  std::vector<Point> best;     // one point per change
  std::vector<Seconds> tried;  // every measurement of this run in order; nothing: it failed
  ScheduleText start, winner;  // winner is empty unless tuned

  double all_calls() const;  // over the models
  // How many times faster than the default; nothing while one of them is not known.
  std::optional<double> gain() const;
};

// A way to store the edges of an operator, and the best time of its loops then.
struct LayoutTry {
  std::string point;  // of the layout space, or "as it was"
  std::string edges;  // task::edges_text
  std::string words;  // the same for people; empty: the operator is not known
  Seconds s;
  double calls = 0;  // of the operator stored so, in the networks as they came out
};

// An operator whose layouts were searched. Every layout's loops had the same number of trials.
struct LayoutSearch {
  std::string task, label, shape;
  Seconds default_s;             // as it was stored before
  std::vector<LayoutTry> tries;  // in the order of trying

  Seconds best_s() const;
};
// How many times faster than as it was.
std::optional<double> gain(const LayoutSearch& o, const LayoutTry& t);
// The fastest first, what failed last.
std::vector<LayoutTry> by_time(const LayoutSearch& o);

// A depthwise convolution and the pointwise one behind it, tuned as one task and as two with as
// many trials each.
struct PairTry {
  std::string task, label;  // of the one
  int64_t calls = 0;        // in all models
  Seconds s, apart_s;       // of the one, and of the two together
  bool taken = false;
};

struct Failure {
  // Of task::Outcome; "fault": the search itself; "records left out": of earlier runs, which may
  // not serve their task.
  std::string outcome;
  int64_t count = 0;
  std::string task, label, error, trace;  // of the first
  std::string command;                    // for a shell, to see it again; empty: not known
};

// Programs of similar tasks that were among the first tried.
struct TransplantStory {
  int64_t tried = 0;
  int64_t tasks = 0;  // that had some
  int64_t from = 0;   // tasks that they come from
  int64_t kept = 0;   // tasks whose best is one of them
};

struct RankingPoint {
  int64_t round = 0;
  double pairwise = 0, recall = 0, top = 0;
  int64_t k = 0, samples = 0;
};

struct RunStory {
  std::string id, command, model, started, finished;
  std::string target, protocol, space, strategy, cost_model;
  double budget_s = 0;
  int64_t trials_limit = 0;
  uint64_t seed = 0;
  int parts = 0;                               // times that it was started
  int64_t measured_before = 0;                 // records that it began with
  std::optional<events::HistoryUsed> history;  // that it began with; nothing: none was told
  std::string reason;                          // why it ended; empty: cut off, or going on
  int64_t rounds = 0, measured = 0, failed = 0;
  int64_t again = 0;                   // measured besides, at the end
  std::vector<std::string> disturbed;  // what may have made times unsteady
  double spent_s = 0;
  Seconds first_artifact_s;
  std::vector<ModelStory> models;
  std::vector<TaskStory> tasks;   // the longest in the networks first
  std::vector<Failure> failures;  // the most frequent first
  std::vector<RankingPoint> ranking;
  TransplantStory transplants;
  std::vector<PairTry> pairs;         // in the order of trying
  std::vector<LayoutSearch> layouts;  // the most tried first
  bool layouts_decided = false;       // and the tasks are those of the layouts that were taken
  std::vector<std::pair<std::string, double>> seconds;  // wall time by part, as far as it is told
  struct Kind {
    double spent_s = 0, gained_s = 0;  // of the run, and of the networks' time
  };
  std::map<std::string, Kind> kinds;  // of decisions: loops, layouts, pairs
  std::vector<size_t> unreadable;     // rows of events that could not be read; the first is 1
};

// Throws UserError if there is no such run.
RunStory read_story(const db::Database& db, const std::string& run);

// The time that all calls of a task take in one run of each model, tuned or as the default has it.
Seconds network_time(const TaskStory& t, Seconds per_call);

}  // namespace tenon::report
