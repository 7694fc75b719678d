// SPDX-License-Identifier: Apache-2.0
#include "task/serve.h"

#include <fmt/format.h>

#include "schedule/program.h"
#include "support/check.h"

namespace tenon::task {
namespace {

// Each input of a network's kernel is a tensor of its own.
Result<void> check_inputs(const schedule::State& s) {
  for (size_t i = 0; i < s.dag().inputs.size(); ++i) {
    const auto stage = static_cast<schedule::StageId>(i);
    if (s.stage(stage).stored_in >= 0) {
      return Illegal{.code = IllegalCode::kNotStored, .stage = stage};
    }
  }
  return {};
}

template <class Read>
Served serve_read(const Task& t, const Read& read) {
  try {
    return serve(t, read());
  } catch (const UserError& e) {
    return {std::nullopt, e.what()};
  }
}

}  // namespace

Result<schedule::Bounds> check_serves(const Task& t, const schedule::State& s,
                                      schedule::BoundsFor purpose) {
  if (const std::string edge = changed_edge(t, s); !edge.empty()) {
    return Illegal{.code = IllegalCode::kBadLayout, .stage = s.find(edge)};
  }
  TENON_TRY(check_inputs(s));
  auto bounds = schedule::infer_bounds(s, -1, purpose);
  if (!bounds) return bounds.illegal();
  TENON_TRY(schedule::check_program(s, *bounds));
  return bounds;
}

Served serve(const Task& t, schedule::Trace trace) {
  schedule::Replayed r = schedule::replay_steps(schedule::State(t.dag, t.target), trace);
  if (r.refusal) {
    return {std::nullopt, fmt::format("step {}: {}", r.refusal->step + 1,
                                      schedule::render_illegal(r.state, r.refusal->why))};
  }
  if (const std::string edge = changed_edge(t, r.state); !edge.empty()) {
    return {std::nullopt, fmt::format("{} is not stored as the task's edges say", edge)};
  }
  auto bounds = check_serves(t, r.state);
  if (!bounds) return {std::nullopt, schedule::render_illegal(r.state, bounds.illegal())};
  return {Program{std::move(trace), std::move(r.state), std::move(bounds.value())}, ""};
}

Served serve_text(const Task& t, const std::string& text) {
  return serve_read(t, [&] {
    return schedule::parse_trace(text, schedule::State(t.dag, t.target), "its trace");
  });
}

Served serve_json(const Task& t, const std::string& json) {
  return serve_read(t, [&] { return schedule::trace_from_json(json, "its trace"); });
}

}  // namespace tenon::task
