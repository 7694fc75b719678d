// SPDX-License-Identifier: Apache-2.0
// The charts of the page. Each is empty when there is nothing to draw.
#pragma once

#include <string>

#include "report/run/story.h"

namespace tenon::report {

// The sum of the tasks over time, over the logarithm of time and over trials, with a switch that needs no script.
// `id` tells the switches of several models apart.
std::string progress_chart(const RunStory& run, const ModelStory& model, size_t id);
// The best of a task over the time of the run, as a share of its default.
std::string task_spark(const RunStory& run, const TaskStory& task);
// Every measured program of a task.
std::string task_chart(const TaskStory& task);
// How well the cost model ranked what was then measured.
std::string ranking_chart(const RunStory& run);
// Where the wall time went.
std::string wall_time_chart(const RunStory& run);

}  // namespace tenon::report
