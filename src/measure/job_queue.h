// SPDX-License-Identifier: Apache-2.0
// What builders and runners do next. Each has a thread that asks here, does as told and says when it is done; a job goes
//
//   add -> (next_build) being built (end_build) -> (next_run) being run (end_run) -> poll
//
// Builders of a runner's cores work only while it does not (cores.h). Calls, of whoever cannot wait, go before jobs.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>

#include "measure/answers.h"
#include "measure/cores.h"
#include "measure/measure.h"
#include "measure/visits.h"

namespace tenon::measure {

class BuildProcess;
class RunProcess;

class JobQueue {
 public:
  struct Entry {
    JobId id = 0;
    Job job;
    Built built;
    bool done = false;
    Visits visits = {};  // of runners
  };
  using EntryRef = std::shared_ptr<Entry>;
  // Jobs, or a call that is made with the process: several jobs of one task for a builder, one for a runner.
  template <class Process>
  struct Order {
    std::vector<EntryRef> entries;
    std::function<void(Process&)> call;
  };
  static constexpr size_t kFree = SIZE_MAX;  // a builder that belongs to no runner

  explicit JobQueue(const CorePlan& plan);

  // For the one who measures.
  JobId add(Job job);
  void call(std::function<void(BuildProcess&)> fn);
  void call(
      std::function<void(RunProcess&)> fn);  // the first runner's: what is compared has one place
  std::vector<Done> poll(double wait_s);
  void cancel_waiting();
  void close();  // orders end

  // For builders, which name their runner, and runners. Nothing: it is over.
  std::optional<Order<BuildProcess>> next_build(size_t runner);
  // It has a place for each entry of the order; a call has none. An entry that has a measurement does not run.
  using Known = std::vector<std::optional<task::Measurement>>;
  void end_build(size_t runner, const std::vector<EntryRef>& built, Known known = {});
  std::optional<Order<RunProcess>> next_run(size_t runner);
  void end_run(size_t runner, const std::vector<EntryRef>& ran,
               std::optional<task::Measurement> m = {});
  // It is to be run once more, after the others; it ends with what is known of it if it was cancelled meanwhile.
  void run_again(size_t runner, const EntryRef& ran);
  // Something that is not the job's fault, such as a tool that cannot be started: thrown by the next poll.
  void fail(std::exception_ptr why);

 private:
  struct Runner {
    bool running = false;
    int building = 0;  // builders at work on its cores
    int burst = 0;     // builds that may begin before it has its turn
  };
  bool may_build(size_t runner) const;
  bool may_run(size_t runner) const;
  std::vector<EntryRef> take_waiting(size_t most);
  void finish(Entry& e, std::optional<task::Measurement> m);

  const int burst_;
  const size_t free_builders_;
  const size_t together_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  JobId last_ = 0, cancelled_ = 0;  // and all before it
  std::vector<Runner> runners_;
  std::deque<EntryRef> waiting_, built_;
  std::map<JobId, EntryRef> building_;
  std::deque<std::function<void(BuildProcess&)>> build_calls_;
  std::deque<std::function<void(RunProcess&)>> run_calls_;
  size_t in_flight_ = 0;  // and not done
  std::vector<Done> done_;
  std::exception_ptr failure_;
};

}  // namespace tenon::measure
