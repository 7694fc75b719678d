// SPDX-License-Identifier: Apache-2.0
#include "tune/in_flight.h"

#include "support/check.h"

namespace tenon::tune {

std::vector<task::Measurement> Batch::answers() {
  std::vector<task::Measurement> out;
  std::vector<space::Program> answered;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!got[i]) continue;
    out.push_back(*std::move(got[i]));
    if (is_default) continue;
    out.back().choices = to_json(proposed[i].choices);
    answered.push_back(std::move(proposed[i]));
  }
  proposed = std::move(answered);
  return out;
}

void InFlight::submit(Batch batch, const task::Task& t, std::span<const schedule::Trace> traces,
                      double best_s) {
  batch.got.resize(traces.size());
  batch.open = traces.size();
  for (size_t i = 0; i < traces.size(); ++i) {
    places_[measurer_.submit({t, traces[i], best_s})] = {taken_ + batches_.size(), i};
  }
  batches_.push_back(std::move(batch));
}

void InFlight::arrive(measure::Done d) {
  const auto it = places_.find(d.id);
  TENON_CHECK(it != places_.end()) << "a job that nobody waits for";
  Batch& b = batches_[it->second.batch - taken_];
  b.got[it->second.index] = std::move(d.measurement);
  --b.open;
  places_.erase(it);
}

bool InFlight::await(const std::function<bool()>& stop) {
  constexpr double kGlance = 0.1;  // how often `stop` is asked while a program takes its time
  while (batches_.front().open > 0) {
    if (stop && stop()) {
      drain();
      return false;
    }
    for (measure::Done& d : measurer_.poll(kGlance)) arrive(std::move(d));
  }
  return true;
}

void InFlight::drain() {
  if (places_.empty()) return;
  measurer_.cancel_waiting();
  measure::collect(measurer_, places_.size(), {}, [&](measure::Done d) { arrive(std::move(d)); });
}

Batch InFlight::take() {
  Batch oldest = std::move(batches_.front());
  batches_.pop_front();
  ++taken_;
  return oldest;
}

int64_t InFlight::jobs() const {
  int64_t n = 0;
  for (const Batch& b : batches_) n += std::ssize(b.got);
  return n;
}

}  // namespace tenon::tune
