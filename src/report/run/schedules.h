// SPDX-License-Identifier: Apache-2.0
// A recorded trace as people read it, and as a shell can try it again.
#pragma once

#include <string>

#include "report/run/story.h"

namespace tenon::report {

// `target` is the fingerprint of the machine that the trace is for. Never throws: what cannot be read or replayed says so
// in `problem`.
ScheduleText schedule_text(const std::string& te, const std::string& trace_json,
                           const std::string& target);

// "1x64x28x28" of the first output; empty if the text cannot be read.
std::string output_shape(const std::string& te);

// A command for bash that builds, runs and checks the program; it carries the expression and the trace.
std::string reproduce_command(const std::string& te, const std::string& trace_json,
                              const std::string& protocol);

}  // namespace tenon::report
