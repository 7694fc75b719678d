// SPDX-License-Identifier: Apache-2.0
// The one place that decides whether a trace may serve a task, whoever offers it: a lock file, a record, a strategy or a
// builder. It has to replay, to store every edge as the network agreed on, and to make a program that fits the target;
// then it can be lowered. What it does not do is compare numbers: that is measure's.
//
//   const Served s = serve_text(task, text);
//   if (!s) warn(s.why);   // "x0 is not stored as the task's edges say"
//   else lower::lower(s->state, s->bounds);
#pragma once

#include <optional>
#include <string>

#include "schedule/bounds.h"
#include "task/task.h"

namespace tenon::task {

// A trace that may serve, with all that deciding it has found out.
struct Program {
  schedule::Trace trace;
  schedule::State state;
  schedule::Bounds bounds;
};

// A program, or in a sentence why there is none.
struct Served {
  std::optional<Program> program;
  std::string why;
  explicit operator bool() const { return program.has_value(); }
  const Program* operator->() const { return &program.value(); }
};

Served serve(const Task& t, schedule::Trace trace);
// Of a trace as lock files hold it, and as records do. Text that cannot be read is refused like any other.
Served serve_text(const Task& t, const std::string& text);
Served serve_json(const Task& t, const std::string& json);

// The decision itself, of a state that a trace led to; `purpose` is what the bounds are good for.
Result<schedule::Bounds> check_serves(const Task& t, const schedule::State& s,
                                      schedule::BoundsFor purpose = schedule::BoundsFor::kProgram);

}  // namespace tenon::task
