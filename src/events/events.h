// SPDX-License-Identifier: Apache-2.0
// What a tuning run tells while it goes on; docs/tuning.md lists the fields as JSON has them.
//
//   Event e = NewBest{.task = "3f2a", .s = 61e-6, .trace = "[...]"};
//   to_json(e, 12.5)   =>  {"event":"best","task":"3f2a","s":6.1e-05,"was_s":null,...,"t":12.5}
//   parse(text).event  =>  the same
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tenon::events {

// A time, or a ratio of times. One that is not above zero, or not finite, is written as nothing, and so is it read.
using Seconds = std::optional<double>;

struct ModelNamed {
  std::string name, directory;
};
struct TaskNamed {
  std::string key, label;
  std::vector<double> calls = {};  // per model
  double flops = 0;
  std::string origin = {};              // who made its default
  std::vector<std::string> nodes = {};  // of the models, that it computes
};

// Told at each start, and again when pairs or layouts were chosen: the networks then have other tasks.
struct RunStarted {
  std::string run, command;
  std::vector<ModelNamed> models;
  std::vector<TaskNamed> tasks;
  double budget_s = 0;
  int64_t trials = 0;
  std::string target, protocol;
  uint64_t seed = 0;
  std::string space, strategy, cost_model;
  int64_t measured_before = 0;
  double spent_before_s = 0;
  std::vector<std::string> disturbed = {};  // what may make times unsteady, in words; of this start
};

// What the cost model knew before the run, of all tasks of this target; told once at each start.
struct HistoryUsed {
  std::string from;  // "kept", "trained", "shipped"; empty: nothing, and the notes say why
  int64_t records = 0, tasks = 0;
  std::string trained_at = {};                  // ISO 8601; empty: not known
  Seconds top1 = {}, top5 = {}, pairwise = {};  // on tasks that it did not learn from
  int64_t held_out = 0;                         // so many
  std::vector<std::string> notes = {};          // what could not be used
};

struct PairTried {
  std::string task, label;    // of the pair
  std::string first, second;  // the tasks that it would replace
  int64_t calls = 0;          // in all models
  Seconds s, apart_s;         // of the pair, and of the two together
  bool taken = false;
};
// By model: names of calls.
struct PairsChosen {
  std::map<std::string, std::vector<std::string>> models;
};

struct LayoutTried {
  std::string task, label;  // of the operator, as it was stored
  std::string point;        // of the layout space, for people
  std::string edges;        // task::edges_text
  Seconds s, default_s, best_s;
  int64_t tried = 0;  // layouts of this operator so far
};
// By model: edges by call; empty where layouts stay as they were.
struct LayoutsChosen {
  std::map<std::string, std::map<std::string, std::string>> models;
};

// What is decided about a model by now: the text of its plan, and two parts of it.
struct PlanOf {
  std::string text;
  std::map<std::string, std::string> pairs = {}, layouts = {};  // by call; read from the text
};
struct PlanDecided {
  std::string decided;  // what has just been: "pairs", "layouts" or "programs"
  std::map<std::string, PlanOf> models;
};

struct DefaultTimed {
  std::string task;
  Seconds s;
  std::string outcome, trace;
};
struct ArtifactWritten {
  std::string model, directory;
  int64_t tuned = 0;  // tasks with a tuned schedule
  double seconds = 0;
};

struct Ranking {
  double pairwise = 0, recall = 0, top = 0;
  int64_t k = 0, samples = 0;
};
struct RoundDone {
  int64_t round = 0;
  std::string task;
  int64_t tried = 0, ok = 0;
  std::map<std::string, int64_t> failures = {};  // by outcome
  Seconds best_s, default_s;
  int64_t measured = 0, failed = 0;                     // of the run
  std::vector<Seconds> estimate_s, default_estimate_s;  // per model
  std::optional<Ranking> ranking = {};                  // nothing: the model is not trained yet
  std::map<std::string, double> seconds = {};           // by part
};
// How many programs the run has measured by now, told where a search measures them without rounds of its own.
struct Counted {
  int64_t measured = 0, failed = 0;
};
// Verified.
struct NewBest {
  std::string task;
  Seconds s, was_s, default_s;
  std::string trace;
};

// Programs of similar tasks that were among the first tried.
struct Transplanted {
  std::string task;
  int64_t tried = 0, ok = 0;
  std::vector<std::string> from;  // keys of the tasks that they come from, nearest first
  Seconds s, best_s;              // of the fastest of them, and of the task's best by then
  std::string trace;              // of the fastest
};

struct FoundWrong {
  std::string task, why, trace;
};
// Not recorded.
struct Undecided {
  std::string task, why, trace;
};
// Records that may not serve the task are left out.
struct Refused {
  std::string task;
  int64_t records = 0;
  std::string why;  // of the first
};
// A fault of ours ended the task's search; the others go on.
struct Fault {
  std::string task, what;
};

struct Finals {
  std::string task;
  Seconds default_s, best_s;
  std::string kept, trace;  // kept: "tuned" or "default"
};
struct NetworkCompared {
  std::string model;
  Seconds default_s, tuned_s, ratio, low, high;
  double difference = 0;  // of outputs, relative
  std::string kept;       // "tuned", "default: why"
  int64_t tuned = 0, tasks = 0;
};
// A row of an earlier part that cannot be read; the first is 1.
struct Skipped {
  int64_t row = 0;
  std::string why;
};
struct RunEnded {
  std::string reason;
  int64_t measured = 0, failed = 0;
  int64_t again = 0;  // besides, at the end: the best of each task and its default, in turns
  double spent_s = 0;
  std::map<std::string, double> seconds = {};  // by part
  // By kind of decision (loops, layouts, pairs): what it took, and what its steps gained of the
  // networks' time.
  std::map<std::string, double> spent_on = {}, gained_by = {};
};
// Of another version.
struct Unknown {
  std::string name;
};

using Event = std::variant<RunStarted, HistoryUsed, PairTried, PairsChosen, LayoutTried,
                           LayoutsChosen, PlanDecided, DefaultTimed, ArtifactWritten, RoundDone,
                           Counted, NewBest, Transplanted, FoundWrong, Undecided, Refused, Fault,
                           Finals, NetworkCompared, Skipped, RunEnded, Unknown>;

// `t` is the tuning time of the run; nothing: it is not written.
std::string to_json(const Event& e, std::optional<double> t = {});

// What a database holds may have been written by anything: a field that is missing or of another kind is as if nothing
// was told. Of a decision that is damaged there is what can be read, to look at, and why it is not to be followed.
struct Parsed {
  std::optional<Event> event;
  std::string why;  // there is none, or it is damaged
  std::optional<double> t;
};
Parsed parse(const std::string& json);

}  // namespace tenon::events
