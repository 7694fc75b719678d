// SPDX-License-Identifier: Apache-2.0
#include "measure/job_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenon::measure {

JobQueue::JobQueue(const CorePlan& plan)
    : burst_(plan.burst),
      free_builders_(static_cast<size_t>(plan.builders)),
      together_(static_cast<size_t>(plan.together)),
      runners_(plan.runners.size()) {}

// ---- for the one who measures ----------------------------------------------------------------------------------

JobId JobQueue::add(Job job) {
  const std::scoped_lock lock(mutex_);
  waiting_.push_back(
      std::make_shared<Entry>(Entry{.id = ++last_, .job = std::move(job), .built = {}}));
  ++in_flight_;
  changed_.notify_all();
  return last_;
}

void JobQueue::call(std::function<void(BuildProcess&)> fn) {
  const std::scoped_lock lock(mutex_);
  build_calls_.push_back(std::move(fn));
  changed_.notify_all();
}

void JobQueue::call(std::function<void(RunProcess&)> fn) {
  const std::scoped_lock lock(mutex_);
  run_calls_.push_back(std::move(fn));
  changed_.notify_all();
}

std::vector<Done> JobQueue::poll(double wait_s) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(wait_s),
                    [&] { return !done_.empty() || in_flight_ == 0 || failure_; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return std::exchange(done_, {});
}

void JobQueue::finish(Entry& e, std::optional<task::Measurement> m) {
  if (std::exchange(e.done, true)) return;
  done_.push_back({e.id, std::move(m)});
  --in_flight_;
}

// What is being built is dropped when its builder is done with it.
void JobQueue::cancel_waiting() {
  const std::scoped_lock lock(mutex_);
  for (const EntryRef& e : built_) finish(*e, {});
  for (const auto& [id, e] : building_) finish(*e, {});
  for (const EntryRef& e : waiting_) finish(*e, {});
  built_.clear();
  building_.clear();
  waiting_.clear();
  cancelled_ = last_;
  changed_.notify_all();
}

void JobQueue::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

// ---- for builders and runners ----------------------------------------------------------------------------------

bool JobQueue::may_build(size_t runner) const {
  if (waiting_.empty() && build_calls_.empty()) return false;
  if (runner == kFree) return true;
  const Runner& r = runners_[runner];
  if (r.running || (runner == 0 && !run_calls_.empty())) return false;
  return !build_calls_.empty() || r.burst > 0 || (built_.empty() && r.building == 0);
}

bool JobQueue::may_run(size_t runner) const {
  const Runner& r = runners_[runner];
  if (r.building > 0) return false;
  if (runner == 0 && !run_calls_.empty()) return true;
  // Without builders of other cores, calls to them wait for the runner.
  if (built_.empty() || (free_builders_ == 0 && !build_calls_.empty())) return false;
  return r.burst == 0 || waiting_.empty();
}

// The first that wait, of one task.
std::vector<JobQueue::EntryRef> JobQueue::take_waiting(size_t most) {
  std::vector<EntryRef> taken;
  while (taken.size() < most && !waiting_.empty() &&
         (taken.empty() || waiting_.front()->job.task.key == taken[0]->job.task.key)) {
    taken.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    building_[taken.back()->id] = taken.back();
  }
  return taken;
}

std::optional<JobQueue::Order<BuildProcess>> JobQueue::next_build(size_t runner) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || may_build(runner); });
  if (closed_) return std::nullopt;
  Order<BuildProcess> order;
  if (!build_calls_.empty()) {
    order.call = std::move(build_calls_.front());
    build_calls_.pop_front();
  } else {
    // As many as leave the same for the others and once more: where few wait, none waits for another.
    const size_t share = runner == kFree ? waiting_.size() / (2 * free_builders_) : 0;
    order.entries = take_waiting(std::clamp<size_t>(share, 1, together_));
  }
  if (runner != kFree) {
    Runner& r = runners_[runner];
    ++r.building;
    if (!order.entries.empty()) r.burst = (r.burst > 0 ? r.burst : burst_) - 1;
  }
  changed_.notify_all();
  return order;
}

void JobQueue::end_build(size_t runner, const std::vector<EntryRef>& built, Known known) {
  const std::scoped_lock lock(mutex_);
  if (runner != kFree) --runners_[runner].building;
  known.resize(built.size());
  for (size_t i = 0; i < built.size(); ++i) {
    if (building_.erase(built[i]->id) == 0) continue;
    if (known[i] || failure_) {
      finish(*built[i], std::move(known[i]));
    } else {
      built_.push_back(built[i]);
    }
  }
  changed_.notify_all();
}

std::optional<JobQueue::Order<RunProcess>> JobQueue::next_run(size_t runner) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || may_run(runner); });
  if (closed_) return std::nullopt;
  Order<RunProcess> order;
  if (runner == 0 && !run_calls_.empty()) {
    order.call = std::move(run_calls_.front());
    run_calls_.pop_front();
  } else {
    order.entries.push_back(std::move(built_.front()));
    built_.pop_front();
  }
  runners_[runner].running = true;
  runners_[runner].burst = 0;
  return order;
}

void JobQueue::end_run(size_t runner, const std::vector<EntryRef>& ran,
                       std::optional<task::Measurement> m) {
  const std::scoped_lock lock(mutex_);
  runners_[runner].running = false;
  for (const EntryRef& e : ran) finish(*e, std::move(m));
  changed_.notify_all();
}

void JobQueue::run_again(size_t runner, const EntryRef& ran) {
  const std::scoped_lock lock(mutex_);
  runners_[runner].running = false;
  if (ran->id <= cancelled_) {
    finish(*ran, ran->visits.quietest());
  } else {
    built_.push_back(ran);
  }
  changed_.notify_all();
}

void JobQueue::fail(std::exception_ptr why) {
  const std::scoped_lock lock(mutex_);
  if (!failure_) failure_ = std::move(why);
  changed_.notify_all();
}

}  // namespace tenon::measure
