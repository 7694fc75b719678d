// SPDX-License-Identifier: Apache-2.0
// Arms are what is compared: rows that say how a task is searched. A row whose strategy or cost model tenon
// does not have, or which needs a file that was not given, is reported as missing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tune/tuner.h"

namespace tenon::quality {

// Files hold what was learned before; an empty name stands for nothing.
struct Given {
  std::vector<std::string> history;  // trained models, one for each kind that arms ask for
  std::string programs;              // a table of good programs
  std::string value;                 // a value function
};

// This is what a search begins with, before anything was measured.
enum class Start : uint8_t {
  kRule,    // what the template writes by rule
  kDirect,  // the same by the definition's own algorithm
  kSpace,   // the first program of the space, where templates are not in it
  kGreedy,  // what a value function finds with a beam of one, of --value FILE
  kBeam,    // or of eight
};

struct Arm {
  const char* name;
  const char* space;
  const char* strategy;  // empty: the start is measured, and nothing else
  const char* cost_model;
  bool history = false;     // the model begins with what a --history FILE of its kind learned
  bool transplant = false;  // programs of similar tasks, of --programs FILE, come first
  bool draft = true;        // the draft model screens draws
  Start start = Start::kRule;
};
std::span<const Arm> arms();

// Null: there is no such row.
const Arm* find_arm(const std::string& name);
// Why the row cannot be run; empty: it can.
std::string why_missing(const Arm& arm, const Given& given);

tune::TunerOptions tuner_options(const Arm& arm, const Given& given, uint64_t seed);
// Returns the task with the program that the search begins with.
tune::TaskToTune start_of(const Arm& arm, const Given& given, const task::Task& t, uint64_t seed);

}  // namespace tenon::quality
