// SPDX-License-Identifier: Apache-2.0
// The processes that build and run, each with a thread that does what the queue orders; the threads, and so their
// processes, stay on the cores of the plan.
#pragma once

#include <filesystem>
#include <thread>

#include "measure/build_process.h"
#include "measure/job_queue.h"
#include "measure/run_process.h"

namespace tenon::measure {

class Lanes {
 public:
  // Runs what was built. Nothing: it is to be run once more, later.
  using Time = std::function<std::optional<task::Measurement>(RunProcess&, JobQueue::Entry&)>;
  // What is known of a job once it is built: all, if that failed.
  using Judge = std::function<std::optional<task::Measurement>(const JobQueue::Entry&)>;

  Lanes(const DeviceOptions& options, const CorePlan& plan, std::filesystem::path folder,
        JobQueue& queue, Judge judge, Time time);
  ~Lanes();  // kills what is at work
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

 private:
  void add_builder(size_t runner, std::vector<int> cpus);
  void add_runner(size_t runner, std::vector<int> cpus);
  void build(BuildProcess& process, size_t runner, const std::vector<int>& cpus);
  JobQueue::Known build_all(BuildProcess& process, const std::vector<JobQueue::EntryRef>& entries);
  void run(RunProcess& process, size_t runner, const std::vector<int>& cpus);

  const DeviceOptions& options_;
  const std::filesystem::path folder_;
  JobQueue& queue_;
  const Judge judge_;
  const Time time_;
  std::vector<std::unique_ptr<BuildProcess>> builders_;
  std::vector<std::unique_ptr<RunProcess>> runners_;
  std::vector<std::thread> threads_;
};

}  // namespace tenon::measure
