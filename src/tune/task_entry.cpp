// SPDX-License-Identifier: Apache-2.0
#include "tune/task_entry.h"

#include <algorithm>
#include <utility>

#include "search/space/spaces.h"
#include "tune/measured.h"

namespace tenon::tune {
namespace {

using task::Measurement;

constexpr size_t kFinalists = 3;  // beside the default

// The intervals of their medians do not touch.
bool clearly_faster(const Measurement& a, const Measurement& b) {
  return has_time(a) && (!has_time(b) || a.high_s < b.low_s);
}

}  // namespace

TaskEntry::TaskEntry(TaskToTune task, const TunerOptions& o, const cost::CostModel& model)
    : given(std::move(task)),
      start(schedule::to_json(given.start)),
      space(o.make_space ? o.make_space(given.task) : search::make_space(o.space, given.task)) {
  if (space == nullptr) return;
  strategy = search::make_strategy(o.strategy, *space, &model, o.search);
}

void refresh(TaskEntry& e, Verify verify) {
  TaskResult& r = e.result;
  const Measurement* start = e.history.find(e.start);
  r.start_s = start == nullptr ? 0 : seconds_of(*start);
  r.best_s = r.start_s;
  r.best = e.given.start;
  r.origin = e.given.origin;
  const Measurement* best = e.history.best(verify != Verify::kOff);
  r.no_faster = best != nullptr && best->trace != e.start && e.judged && start != nullptr &&
                !clearly_faster(*best, *start);
  if (r.no_faster) best = nullptr;
  if (best != nullptr && best->trace != e.start && !(best->median_s >= r.start_s && start)) {
    r.best_s = best->median_s;
    r.best = schedule::trace_from_json(best->trace);
    r.origin = "tuned";
  }
  r.measured = e.history.measured();
  r.failed = e.history.failed();
  r.failures = e.history.failures();
}

std::vector<schedule::Trace> finalists(const TaskEntry& e) {
  std::vector<schedule::Trace> traces = {e.given.start};
  for (const Measurement* m : e.history.fastest(kFinalists + 1)) {
    if (m->trace == e.start || traces.size() > kFinalists) continue;
    traces.push_back(schedule::trace_from_json(m->trace));
  }
  return traces;
}

void order_finals(const TaskEntry& e, std::vector<Measurement>& measured) {
  for (Measurement& m : measured) {
    const Measurement* known = e.history.find(m.trace);
    m.verified = m.outcome == task::Outcome::kOk && known != nullptr && known->verified;
  }
  std::sort(measured.begin(), measured.end(), [](const Measurement& a, const Measurement& b) {
    return seconds_of(a) != seconds_of(b) ? seconds_of(a) < seconds_of(b) : a.trace < b.trace;
  });
}

}  // namespace tenon::tune
