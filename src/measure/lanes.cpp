// SPDX-License-Identifier: Apache-2.0
#include "measure/lanes.h"

namespace tenon::measure {

Lanes::Lanes(const DeviceOptions& options, const CorePlan& plan, std::filesystem::path folder,
             JobQueue& queue, Judge judge, Time time)
    : options_(options),
      folder_(std::move(folder)),
      queue_(queue),
      judge_(std::move(judge)),
      time_(std::move(time)) {
  for (int i = 0; i < plan.builders; ++i) add_builder(JobQueue::kFree, plan.spare);
  for (size_t r = 0; r < plan.runners.size(); ++r) {
    add_runner(r, plan.runners[r].cpus);
    for (int i = 0; i < plan.runners[r].builders; ++i) add_builder(r, plan.runners[r].cpus);
  }
}

Lanes::~Lanes() {
  queue_.close();
  for (const auto& b : builders_) b->interrupt();
  for (const auto& r : runners_) r->interrupt();
  for (std::thread& t : threads_) t.join();
}

void Lanes::add_builder(size_t runner, std::vector<int> cpus) {
  builders_.push_back(std::make_unique<BuildProcess>(options_, folder_));
  threads_.emplace_back([this, &process = *builders_.back(), runner, cpus = std::move(cpus)] {
    build(process, runner, cpus);
  });
}

void Lanes::add_runner(size_t runner, std::vector<int> cpus) {
  runners_.push_back(std::make_unique<RunProcess>(options_));
  threads_.emplace_back([this, &process = *runners_.back(), runner, cpus = std::move(cpus)] {
    run(process, runner, cpus);
  });
}

void Lanes::build(BuildProcess& process, size_t runner, const std::vector<int>& cpus) {
  const KeepTo here(cpus);
  while (auto order = queue_.next_build(runner)) {
    JobQueue::Known known;
    try {
      if (order->call) {
        order->call(process);
      } else {
        known = build_all(process, order->entries);
      }
    } catch (...) {
      queue_.fail(std::current_exception());
    }
    queue_.end_build(runner, order->entries, std::move(known));
  }
}

JobQueue::Known Lanes::build_all(BuildProcess& process,
                                 const std::vector<JobQueue::EntryRef>& entries) {
  std::vector<schedule::Trace> traces;
  for (const JobQueue::EntryRef& e : entries) traces.push_back(e->job.trace);
  std::vector<Built> built = process.build(entries[0]->job.task, traces, options_.compile_limit_s);
  JobQueue::Known known;
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i]->built = std::move(built[i]);
    known.push_back(judge_(*entries[i]));
  }
  return known;
}

void Lanes::run(RunProcess& process, size_t runner, const std::vector<int>& cpus) {
  const KeepTo here(cpus);
  while (auto order = queue_.next_run(runner)) {
    std::optional<task::Measurement> m;
    try {
      if (order->call) {
        order->call(process);
      } else {
        m = time_(process, *order->entries.front());
        if (!m) {
          queue_.run_again(runner, order->entries.front());
          continue;
        }
      }
    } catch (...) {
      queue_.fail(std::current_exception());
    }
    queue_.end_run(runner, order->entries, std::move(m));
  }
}

}  // namespace tenon::measure
