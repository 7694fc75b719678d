// SPDX-License-Identifier: Apache-2.0
#include "tune/task_times.h"

#include <algorithm>
#include <limits>

namespace tenon::tune {
namespace {

bool is_fault(const std::string& json) {
  return json.find(R"("event":"wrong")") != std::string::npos ||
         json.find(R"("event":"fault")") != std::string::npos;
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
                  [this](const std::string& json) {
                    if (tell_ && is_fault(json)) tell_(json);
                  });
  bool more = true;
  while (more && !(stop && stop())) more = loops.step(stop);
  measured_ += loops.measured();
  const double best = loops.results()[0].best_s;
  const double s = best > 0 ? best : std::numeric_limits<double>::infinity();
  if (!more || loops.measured() >= tuner_.trials) known_[t.task.key] = s;
  return s;
}

}  // namespace tenon::tune
