// SPDX-License-Identifier: Apache-2.0
#include "bench/search/quality/search_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "tune/stopwatch.h"

namespace tenon::quality {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// It remembers what was submitted, in that order, and what came of it.
struct Trial {
  std::string trace;
  double seconds = kNever;
  double at_s = 0;
  bool answered = false, failed = false;
};

// Passes everything on and remembers it.
class Recorder : public measure::Measurer {
 public:
  Recorder(measure::Measurer& inner, tune::Clock clock)
      : inner_(inner), clock_(std::move(clock)), begin_(clock_()) {}

  std::string target(const target::Target& t) const override { return inner_.target(t); }
  std::string protocol() const override { return inner_.protocol(); }
  bool overlaps() const override { return inner_.overlaps(); }
  std::vector<int> spare_cpus() const override { return inner_.spare_cpus(); }
  void cancel_waiting() override { inner_.cancel_waiting(); }

  measure::JobId submit(measure::Job job) override {
    trials_.push_back({.trace = schedule::to_json(job.trace)});
    const measure::JobId id = inner_.submit(std::move(job));
    places_[id] = trials_.size() - 1;
    return id;
  }

  std::vector<measure::Done> poll(double wait_s) override {
    std::vector<measure::Done> done = inner_.poll(wait_s);
    for (const measure::Done& d : done) {
      if (!d.measurement) continue;
      Trial& t = trials_[places_.at(d.id)];
      t.answered = true;
      t.at_s = clock_() - begin_;
      t.failed = !has_time(*d.measurement);
      if (!t.failed) t.seconds = d.measurement->median_s;
    }
    return done;
  }

  measure::Verdict verify(const task::Task& t, const schedule::Trace& trace) override {
    measure::Verdict v = inner_.verify(t, trace);
    if (!v.right()) wrong_.insert(schedule::to_json(trace));
    return v;
  }

  std::vector<task::Measurement> finals(const task::Task& t,
                                        std::span<const schedule::Trace> traces,
                                        double seconds) override {
    return inner_.finals(t, traces, seconds);
  }

  const std::vector<Trial>& trials() const { return trials_; }
  const std::set<std::string>& wrong() const { return wrong_; }

 private:
  measure::Measurer& inner_;
  tune::Clock clock_;
  double begin_;
  std::vector<Trial> trials_;
  std::map<measure::JobId, size_t> places_;
  std::set<std::string> wrong_;  // or not known to be right
};

SearchResult result_of(const Recorder& r) {
  SearchResult out;
  double best = kNever;
  double at = 0;
  for (const Trial& t : r.trials()) {
    if (!t.answered) continue;
    const bool wrong = r.wrong().contains(t.trace);
    out.failed += t.failed ? 1 : 0;
    out.wrong += wrong ? 1 : 0;
    if (!wrong && t.seconds < best) {
      best = t.seconds;
      out.best = t.trace;
    }
    at = std::max(at, t.at_s);  // answers come back in any order
    out.curve.push_back(best);
    out.at_s.push_back(at);
  }
  out.best_s = best;
  return out;
}

tune::Clock pretend_clock() {
  const auto ticks = std::make_shared<int64_t>(0);
  return [ticks] { return 1e-3 * static_cast<double>(++*ticks); };
}

}  // namespace

SearchResult search(const Arm& arm, const task::Task& t, const SearchOptions& o,
                    measure::Measurer& device, const std::function<bool()>& stop) {
  const tune::Clock clock = o.sim ? pretend_clock() : tune::machine_clock();
  Recorder recorder(device, clock);
  tune::TunerOptions options = tuner_options(arm, o.given, o.seed);
  options.trials = *arm.strategy == '\0' ? 1 : o.trials + 1;
  options.round = o.round;
  options.threads = o.threads;
  options.clock = clock;
  if (o.population > 0) options.search.population = o.population;
  tune::TaskTuner tuner({start_of(arm, o.given, t, o.seed)}, {{.weights = {1}}}, options, recorder,
                        nullptr, "", nullptr);
  bool stopped = false;
  while (!(stopped = stop && stop()) && tuner.step(stop)) {
  }
  tuner.settle();
  SearchResult out = result_of(recorder);
  out.complete = !stopped && !(stop && stop());
  return out;
}

}  // namespace tenon::quality
