// SPDX-License-Identifier: Apache-2.0
#include "measure/step_times.h"

#include <algorithm>
#include <chrono>

namespace tenon::measure {
namespace {

using Clock = std::chrono::steady_clock;

double between_s(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

double StepTimes::median_s(size_t step) const { return median(seconds[step]); }

StepTimes measure_steps(artifact::LoadedSession& session, int64_t runs) {
  const size_t steps = session.session().steps().size();
  StepTimes times;
  times.seconds.resize(steps);
  times.starts_s.resize(steps);
  session.run();  // memory is touched for the first time
  for (int64_t i = 0; i < runs; ++i) {
    const auto begin = Clock::now();
    session.run();
    times.run_s.push_back(between_s(begin, Clock::now()));
  }
  Clock::time_point run_begin;
  Clock::time_point step_begin;
  std::vector<double> taken(steps);  // a loop runs a step several times, a branch perhaps never
  session.session().set_hook([&](int step, bool after) {
    const auto now = Clock::now();
    if (after) {
      taken[static_cast<size_t>(step)] += between_s(step_begin, now);
    } else {
      times.starts_s[static_cast<size_t>(step)] = between_s(run_begin, now);
      step_begin = Clock::now();
    }
  });
  for (int64_t i = 0; i < runs; ++i) {
    std::fill(taken.begin(), taken.end(), 0);
    run_begin = Clock::now();
    session.run();
    for (size_t s = 0; s < steps; ++s) times.seconds[s].push_back(taken[s]);
  }
  session.session().set_hook({});
  return times;
}

}  // namespace tenon::measure
