// SPDX-License-Identifier: Apache-2.0
#include "measure/at_once.h"

namespace tenon::measure {

JobId AtOnce::submit(Job job) {
  waiting_.push_back({++last_, std::move(job)});
  return last_;
}

std::vector<Done> AtOnce::poll(double) {
  if (waiting_.empty()) return {};
  const Waiting next = std::move(waiting_.front());
  waiting_.pop_front();
  std::vector<Done> done(1);
  done[0].id = next.id;
  if (next.job) done[0].measurement = one(next.job->task, next.job->trace);
  return done;
}

void AtOnce::cancel_waiting() {
  for (Waiting& w : waiting_) w.job.reset();
}

}  // namespace tenon::measure
