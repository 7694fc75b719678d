// SPDX-License-Identifier: Apache-2.0
// The parts of the page that are about single tasks.
#pragma once

#include <string>

#include "report/run/story.h"

namespace tenon::report {

// One row per task: times, gain, share of the network, trials, a sparkline.
std::string task_table(const RunStory& run);
// One fold per task: every program that was measured, the loops of the default and of the winner.
std::string task_schedules(const RunStory& run);
// One row per kind of failure, with the first error and a command to see it again.
std::string failure_table(const RunStory& run);

}  // namespace tenon::report
