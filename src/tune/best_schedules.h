// SPDX-License-Identifier: Apache-2.0
// From records to schedules.
#pragma once

#include <set>
#include <string>

#include "db/db.h"
#include "plan/network.h"
#include "task/task.h"
#include "tune/tuner.h"
#include "tune/verdicts.h"

namespace tenon::tune {

// A task of a network, with the program that was decided for it to begin with.
TaskToTune to_tune(const plan::Network& network, size_t task);

// A program that was tuned, as plans have it.
plan::TaskPlan tuned_program(const task::Task& t, const schedule::Trace& trace, plan::From from);

// The best verified of each task on this target (see measure::measured_target) and protocol, among
// those that may serve it (task::serve). One that may not, or a task that cannot be read, costs no
// other task anything.
struct BestRecords {
  std::string run;  // whose verdict on the model counts; empty: none has one
  std::set<std::string>
      judged;              // tasks that it is about; those without a program kept their defaults
  plan::NetworkPlan plan;  // programs of tasks, or why their best record is none
  plan::LayoutTimes layout_times;  // the layouts under which they were measured
};
BestRecords best_records(const db::Database& db, const target::Target& target,
                         const std::string& measured_target, const std::string& protocol);
// For a model of this name: what the last run that compared the whole network kept, and the best records of tasks that
// it did not measure. Without such a run: the best records. `whole`: defaults that were kept are programs, too, as they
// were then.
BestRecords records_for(const db::Database& db, const target::Target& target,
                        const JudgedWhere& where, bool whole);

}  // namespace tenon::tune
