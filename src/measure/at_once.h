// SPDX-License-Identifier: Apache-2.0
// A measurer whose answers take no time: jobs are done in the order of submission, one per poll, in the caller's thread,
// so that a run is the same every time.
#pragma once

#include <deque>

#include "measure/measure.h"

namespace tenon::measure {

class AtOnce : public Measurer {
 public:
  JobId submit(Job job) override;
  std::vector<Done> poll(double wait_s) override;
  void cancel_waiting() override;

 protected:
  virtual task::Measurement one(const task::Task& t, const schedule::Trace& trace) = 0;

 private:
  struct Waiting {
    JobId id = 0;
    std::optional<Job> job;  // nothing: it was cancelled
  };
  JobId last_ = 0;
  std::deque<Waiting> waiting_;
};

}  // namespace tenon::measure
