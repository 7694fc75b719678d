// SPDX-License-Identifier: Apache-2.0
// Programs that were submitted and are not told of yet, in batches. Answers come back in any order
// and are given out by batch, in the order of submission, so that how fast anything was does not
// change what a strategy learns.
//
//   flight.submit({.entry = 3, .proposed = candidates}, task, traces, best_s);
//   if (flight.await(stop)) Batch oldest = flight.take();
#pragma once

#include <deque>
#include <map>

#include "measure/measure.h"
#include "space/space.h"

namespace tenon::tune {

// Programs of one task.
struct Batch {
  size_t entry = 0;
  bool is_default = false;
  std::vector<space::Program> proposed = {};  // none of a default
  std::map<std::string, double> before = {};  // seconds by part, when it was begun
  // Filled in on the way; nothing: not yet, or cancelled.
  std::vector<std::optional<task::Measurement>> got = {};
  size_t open = 0;

  // What came back, with what was proposed; candidates without an answer are left out of both.
  std::vector<task::Measurement> answers();
};

class InFlight {
 public:
  explicit InFlight(measure::Measurer& measurer) : measurer_(measurer) {}

  void submit(Batch batch, const task::Task& t, std::span<const schedule::Trace> traces,
              double best_s);
  // Waits for the oldest batch. False: stopped, and nothing is at work any more.
  bool await(const std::function<bool()>& stop);
  // Cancels what was not begun, and waits for the rest.
  void drain();
  Batch take();  // the oldest

  size_t batches() const { return batches_.size(); }
  int64_t jobs() const;  // of all batches, also those that came back

 private:
  struct Place {
    size_t batch, index;  // batches are counted from the first ever
  };
  void arrive(measure::Done d);

  measure::Measurer& measurer_;
  std::deque<Batch> batches_;
  size_t taken_ = 0;
  std::map<measure::JobId, Place> places_;
};

}  // namespace tenon::tune
