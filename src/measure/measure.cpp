// SPDX-License-Identifier: Apache-2.0
#include "measure/measure.h"

#include <map>

#include "support/check.h"

namespace tenon::measure {

std::future<Verdict> Measurer::verify_beside(const task::Task& t, const schedule::Trace& trace) {
  std::promise<Verdict> known;
  known.set_value(verify(t, trace));
  return known.get_future();
}

bool collect(Measurer& m, size_t jobs, const std::function<bool()>& stop,
             const std::function<void(Done)>& take) {
  constexpr double kGlance = 0.1;  // how often `stop` is asked while a job takes its time
  bool stopped = false;
  for (size_t done = 0; done < jobs;) {
    if (!stopped && stop && stop()) {
      stopped = true;
      m.cancel_waiting();
    }
    for (Done& d : m.poll(kGlance)) {
      ++done;
      take(std::move(d));
    }
  }
  return !stopped;
}

std::vector<task::Measurement> measure(Measurer& m, const task::Task& t,
                                       std::span<const schedule::Trace> traces, double best_s,
                                       const std::function<bool()>& stop) {
  if (stop && stop()) return {};  // else a fast builder has an answer before anybody asks
  std::map<JobId, size_t> places;
  for (size_t i = 0; i < traces.size(); ++i) places[m.submit({t, traces[i], best_s})] = i;
  std::vector<std::optional<task::Measurement>> got(traces.size());
  collect(m, traces.size(), stop, [&](Done d) {
    const auto it = places.find(d.id);
    TENON_CHECK(it != places.end()) << "a job that is not of this batch";
    got[it->second] = std::move(d.measurement);
  });
  std::vector<task::Measurement> out;
  for (auto& one : got) {
    if (one) out.push_back(*std::move(one));
  }
  return out;
}

}  // namespace tenon::measure
