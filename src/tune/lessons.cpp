// SPDX-License-Identifier: Apache-2.0
#include "tune/lessons.h"

#include <algorithm>
#include <cmath>

#include "plan/lean.h"
#include "task/serve.h"
#include "tune/measured.h"

namespace tenon::tune {
namespace {

using task::Measurement;
using task::Outcome;

// The fastest records that do not say their choices: those are what a search would begin with.
void recognise(const space::Space& space, std::vector<search::Tried>& tried) {
  constexpr size_t kRecognised = 32;
  std::vector<search::Tried*> open;
  for (search::Tried& t : tried) {
    if (t.program.choices.empty() && std::isfinite(t.seconds)) open.push_back(&t);
  }
  std::sort(open.begin(), open.end(),
            [](const auto* a, const auto* b) { return a->seconds < b->seconds; });
  for (size_t i = 0; i < std::min(kRecognised, open.size()); ++i) {
    if (auto p = space.recognise(open[i]->program.trace)) {
      open[i]->program.choices = std::move(p->made);
    }
  }
}

}  // namespace

Lessons::Lessons(Limits limits, RunModel& model, std::string run, Tell tell)
    : limits_(limits), model_(model), run_(std::move(run)), tell_(std::move(tell)) {}

void Lessons::count(const Measurement& m) {
  if (m.run != run_) return;
  ++measured_;
  if (m.outcome == Outcome::kOk) return;
  ++failed_;
  TaskTuner::Reason& r = reasons_[{to_string(m.outcome), m.error}];
  if (r.count++ == 0) r = {to_string(m.outcome), m.error, m.task, m.trace, 1};
}

// Why the program rounds too much or needs too much memory, in a sentence; empty: it does not. The
// direct algorithm never does.
std::string Lessons::beyond_limits(const TaskEntry& e, const schedule::State& s,
                                   const schedule::Trace& trace) {
  if (s.error_factor() <= 1) return "";
  const std::string fat = limits_.lean ? plan::why_not_lean(trace) : "";
  if (!fat.empty()) return fat;
  const task::Task& t = e.given.task;
  return errors_.judge(limits_.accuracy, schedule::State(t.dag, t.target), trace).refused;
}

bool Lessons::is_beyond_limits(const TaskEntry& e, const space::Program& p) {
  const std::string why = beyond_limits(e, p.state, p.trace);
  if (!why.empty() && told_.insert(e.key() + why).second) {
    tell_(events::Refused{e.key(), 0, "programs are left out: " + why});
  }
  return !why.empty();
}

void Lessons::refuse(const std::string& task, const std::string& why) {
  Refused& r = refused_[task];
  if (r.count++ == 0) r.why = why;
}

// Nothing: a record that may not serve the task, or is beyond the limits.
std::optional<Lessons::Lesson> Lessons::lesson_of(const TaskEntry& e, const Measurement& m,
                                                  const space::Program* proposed) {
  if (proposed != nullptr) return Lesson{*proposed};
  const task::Served served = task::serve_json(e.given.task, m.trace);
  if (!served) {
    if (m.outcome != Outcome::kOk) return Lesson{};  // it never will serve
    refuse(m.task, served.why);
    return std::nullopt;
  }
  if (const std::string why = beyond_limits(e, served->state, served->trace); !why.empty()) {
    refuse(m.task, why);
    return std::nullopt;
  }
  if (e.space == nullptr) return Lesson{};
  auto c = e.space->adopt(served->trace, read_choices(m.choices));
  return Lesson{c ? std::optional(std::move(c.value())) : std::nullopt};
}

void Lessons::learn(TaskEntry& e, const std::vector<Measurement>& measurements,
                    std::span<const space::Program> proposed) {
  std::vector<search::Tried> tried;
  for (size_t i = 0; i < measurements.size(); ++i) {
    const Measurement& m = measurements[i];
    if (!e.history.has(m.trace)) count(m);  // finals measure again
    auto l = lesson_of(e, m, i < proposed.size() ? &proposed[i] : nullptr);
    if (!l) continue;
    e.history.add(m);
    if (!l->candidate || e.space == nullptr) continue;
    if (m.outcome != Outcome::kUndecided) model_.add(e.given.task, *l->candidate, seconds_of(m));
    tried.push_back({*std::move(l->candidate), seconds_of(m)});
  }
  if (e.strategy == nullptr) return;
  recognise(*e.space, tried);
  e.strategy->tell(tried);
}

void Lessons::tell_refused() {
  for (const auto& [key, r] : refused_) tell_(events::Refused{key, r.count, r.why});
  refused_.clear();
}

std::vector<TaskTuner::Reason> Lessons::reasons() const {
  std::vector<TaskTuner::Reason> out;
  for (const auto& [key, r] : reasons_) out.push_back(r);
  std::sort(out.begin(), out.end(), [](const TaskTuner::Reason& a, const TaskTuner::Reason& b) {
    return a.count != b.count ? a.count > b.count : a.error < b.error;
  });
  return out;
}

}  // namespace tenon::tune
