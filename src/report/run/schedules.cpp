// SPDX-License-Identifier: Apache-2.0
#include "report/run/schedules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "schedule/trace.h"
#include "support/check.h"
#include "task/record.h"
#include "te/text.h"

namespace tenon::report {
namespace {

// A target of the kind that the fingerprint is of. Replay asks a GPU how threads are bound, and nothing of a CPU, so a trace
// of another machine is shown like one of this.
target::Target target_like(const std::string& fingerprint) {
  target::Target found;
  for (const target::Target& t : target::gpu_targets()) {
    if (!fingerprint.starts_with(t.triple + ";")) continue;
    found = t;
    if (fingerprint.starts_with(fmt::format("{};{};", t.triple, t.gpu().processor))) return t;
  }
  return found;
}

schedule::State initial_state(const std::string& te, const std::string& fingerprint) {
  return {std::make_shared<const te::ComputeDag>(te::parse(te, "task")),
          std::make_shared<const target::Target>(target_like(fingerprint))};
}

// 'it'\''s': what a shell reads as one word.
std::string shell_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

int threads_of(const std::string& protocol) {
  try {
    return task::parse_protocol(protocol).threads;
  } catch (const UserError&) {
    return 1;
  }
}

}  // namespace

ScheduleText schedule_text(const std::string& te, const std::string& trace_json,
                           const std::string& target) {
  ScheduleText out;
  out.json = trace_json;
  if (te.empty()) {
    out.problem = "the database does not have the expression of this task";
    return out;
  }
  try {
    const schedule::State initial = initial_state(te, target);
    const schedule::Trace trace = schedule::trace_from_json(trace_json);
    out.trace = schedule::to_text(trace, initial);
    const schedule::Replayed replayed = schedule::replay_steps(initial, trace);
    if (replayed.refusal) {
      out.problem = fmt::format("step {} does not apply: {}", replayed.refusal->step + 1,
                                schedule::render_illegal(replayed.state, replayed.refusal->why));
    } else {
      out.loops = schedule::to_string(replayed.state);
    }
  } catch (const UserError& e) {
    out.problem = e.what();
  } catch (const InternalError& e) {
    out.problem = e.what();
  }
  return out;
}

std::string output_shape(const std::string& te) {
  if (te.empty()) return "";
  try {
    const te::ComputeDag dag = te::parse(te, "task");
    return fmt::format("{}", fmt::join(dag.outputs.at(0).shape(), "x"));
  } catch (const UserError&) {
    return "";
  }
}

std::string reproduce_command(const std::string& te, const std::string& trace_json,
                              const std::string& protocol) {
  if (te.empty() || trace_json.empty()) return "";
  return fmt::format("tenon bench --threads {} --trace <(echo {}) --te <(echo {})\n",
                     threads_of(protocol), shell_word(trace_json), shell_word(te));
}

}  // namespace tenon::report
