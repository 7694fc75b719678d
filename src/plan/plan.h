// SPDX-License-Identifier: Apache-2.0
// What is decided about a network: which convolutions are computed in pairs, how tensors are stored,
// and a program for each task. Every decision says where it came from. plan/text.h writes and reads
// it; module compile builds it.
//
//   pairs    p1 with d1 in front of it               measured
//   layouts  conv1: x0 in blocks of 8 channels       lock
//   tasks    9f0c...: split, reorder, vectorize ..   rule, "template conv", winograd4: 6e-06 of 1e-04
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "target/target.h"

namespace tenon::plan {

enum class From : uint8_t {
  kRule,      // templates, and the rules of layouts
  kLock,      // a lock file that does not say more
  kRecord,    // the best record of a database
  kTable,     // a table of good programs that ships with tenon
  kInstant,   // the value function took it for good, without measuring
  kMeasured,  // a search that measured it
  kGiven,     // whoever asked for the plan
};
std::string_view to_string(From from);  // "rule", "lock", ...
std::optional<From> parse_from(std::string_view text);

// Something about calls, by their names (graph::Call::name). Calls that are not there follow the
// rules.
struct CallDecisions {
  std::map<std::string, std::string> calls;
  From from = From::kRule;
  bool decided() const { return from != From::kRule; }
  bool operator==(const CallDecisions&) const = default;
};

// The program of a task.
struct TaskPlan {
  std::string task = {};            // its key (task::Task::key)
  std::string te = {}, edges = {};  // what is computed, and the layouts at its edges, as text
  std::string trace = {};           // as text; may be empty: the definition as it stands
  std::string choices = {};         // the trace as choices of a search space, where they are known
  std::string origin = {};          // who made the trace: "template conv", "tuned"
  From from = From::kRule;
  // For sums of products in float32: by which algorithm, with which error, how much is allowed.
  // Errors are relative to the largest value, against float64 on random data.
  std::string algorithm = {};
  double error = 0, direct_error = 0, allowed = 0;
  // Why a program that was given for the task is not the one above, in a sentence.
  std::string refused = {};
  bool has_program = true;  // false: there is nothing above but the task, and `refused` says why
};

struct NetworkPlan {
  std::string name;
  std::string target;    // name of a row of targets
  std::string accuracy;  // that was asked for: "default"
  double error = 0;      // of all steps together, at most
  // Pointwise convolutions that are computed with the depthwise one in front of them, and the name
  // that this one has on its own; "*" stands for all that can.
  CallDecisions pairs;
  CallDecisions layouts;  // task::edges_text of each call
  std::vector<TaskPlan> tasks;
  std::vector<std::string> nameless;  // entries of a file whose task cannot be read, and why

  const TaskPlan* find(const std::string& task) const;
  TaskPlan* find(const std::string& task);
  // Replaces what is there for the task.
  void set(TaskPlan program);
  // Takes over programs for tasks that have none. What was refused here stays told.
  void add(const NetworkPlan& other);
};

// A task for which something was given that is no program.
TaskPlan no_program(const std::string& task, const std::string& why);

// Without the programs that rules would give again.
NetworkPlan without_rules(const NetworkPlan& plan);

// What plans and manifests call a target: "host" says nothing to others.
std::string target_name(const target::Target& t);

// Errors are written with two digits: more is not known.
double rounded(double error);

}  // namespace tenon::plan
