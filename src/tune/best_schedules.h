// SPDX-License-Identifier: Apache-2.0
// From records to schedules.
#pragma once

#include "compile/compile.h"
#include "db/db.h"
#include "task/task.h"
#include "tune/tuner.h"

namespace tenon::tune {

// The task of a kernel, as a program carries it in text.
task::Task task_of(const artifact::Kernel& kernel, std::shared_ptr<const target::Target> target);
// The same of a row of the database. Throws UserError if its text is damaged or another task's.
task::Task task_of(const db::TaskRow& row, std::shared_ptr<const target::Target> target);

// The same with the kernel's schedule, to begin with.
TaskToTune to_tune(const artifact::Kernel& kernel, std::shared_ptr<const target::Target> target);

// A schedule as lock files and the compiler take it.
compile::Schedule to_schedule(const task::Task& t, const schedule::Trace& trace,
                              const std::string& origin);

// The best verified of each task on this target (see measure::measured_target) and protocol, among those that may serve it
// (task::serve). One that may not, or a task that cannot be read, costs no other task anything.
struct BestRecords {
  compile::Schedules schedules;
  compile::Refusals refused;          // of tasks whose best record is none of those
  compile::LayoutTimes layout_times;  // the layouts under which they were measured
};
BestRecords best_records(const db::Database& db, const target::Target& target,
                         const std::string& measured_target, const std::string& protocol);

}  // namespace tenon::tune
