// SPDX-License-Identifier: Apache-2.0
#include "tune/task_times.h"

#include <algorithm>
#include <limits>

namespace tenon::tune {
namespace {

bool is_fault(const events::Event& e) {
  return std::holds_alternative<events::FoundWrong>(e) || std::holds_alternative<events::Fault>(e);
}

bool is_measured(const events::Event& e) {
  return std::holds_alternative<events::RoundDone>(e) ||
         std::holds_alternative<events::DefaultTimed>(e);
}

}  // namespace

TaskTimes::TaskTimes(const TunerOptions& tuner, int64_t trials, int64_t rounds,
                     measure::Measurer& measurer, db::Database* db, std::string run, Tell tell)
    : tuner_(tuner), measurer_(measurer), db_(db), run_(std::move(run)), tell_(std::move(tell)) {
  tuner_.trials = trials;
  tuner_.round = std::max<int64_t>(1, trials / std::max<int64_t>(1, rounds));
}

double TaskTimes::seconds_of(const TaskToTune& t, const std::function<bool()>& stop) {
  const auto it = known_.find(t.task.key);
  if (it != known_.end()) return it->second;
  TaskTuner loops({t}, {{.weights = {1}}}, tuner_, measurer_, db_, run_,
                  [this](const events::Event& e) {
                    if (tell_ && is_fault(e)) tell_(e);
                    if (tell_ && is_measured(e)) tell_(events::Counted{});
                  });
  const int64_t before = loops.measured();  // others may have tuned the task, too
  bool more = true;
  while (more && !(stop && stop())) more = loops.step(stop);
  loops.settle();
  measured_ += loops.measured() - before;
  const double best = loops.results()[0].best_s;
  const double s = best > 0 ? best : std::numeric_limits<double>::infinity();
  if (!more || loops.measured() >= tuner_.trials) known_[t.task.key] = s;
  return s;
}

}  // namespace tenon::tune
