// SPDX-License-Identifier: Apache-2.0
// Building and running candidates. The real measurer does both in other processes (tenon-build, tenon-run) under limits,
// several at a time (cores.h); the pretend one (sim) computes a time from the program, the same for the same seed.
//
//   auto m = device_measurer(options);
//   const JobId id = m->submit({task, trace, best_so_far_s});
//   for (Done& d : m->poll(0.1)) ...      // d.id == id, d.measurement
//   std::vector<task::Measurement> r = measure(*m, task, traces, best_so_far_s);   // all of it at once
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "task/record.h"
#include "task/task.h"

namespace tenon::measure {

// What comparing a program with the reference says. Wrong is what a comparison found, twice; a machine that could not
// compare leaves it undecided.
struct Verdict {
  enum class Kind : uint8_t { kRight, kWrong, kUndecided };
  Kind kind = Kind::kRight;
  std::string why = {};  // for all but kRight
  bool right() const { return kind == Kind::kRight; }
  bool wrong() const { return kind == Kind::kWrong; }
};

// A program to build and time. The best time so far bounds how long it may run; 0 or less: none yet.
struct Job {
  task::Task task;
  schedule::Trace trace;
  double best_s = 0;
};
using JobId = uint64_t;

// What came of a job; nothing, if it was cancelled.
struct Done {
  JobId id = 0;
  std::optional<task::Measurement> measurement;
};

class Measurer {
 public:
  static constexpr int64_t kRound = 32;  // where one runner and a builder or two are at work

  virtual ~Measurer() = default;
  virtual std::string target(const target::Target& t) const = 0;  // as measurements name it
  virtual std::string protocol() const = 0;                       // as text

  // Jobs are begun in the order of submission and come back in any order, each exactly once. A crash, a time-out or a
  // machine that fails for a while (Outcome::kUndecided) is an outcome of one job.
  virtual JobId submit(Job job) = 0;
  // Waits until a job is done, for `wait_s` at most, and gives all that are done since. Empty: it waited in vain, or
  // nothing is in flight. Throws UserError if tools cannot be started.
  virtual std::vector<Done> poll(double wait_s) = 0;
  // Jobs that do not run yet come back without a measurement, those that run come to their end.
  virtual void cancel_waiting() = 0;

  // Whether the caller may think while jobs are in flight: there are cores on which no time is taken.
  virtual bool overlaps() const { return false; }
  // As many programs as are measured while a caller thinks of the next, or a few times more.
  virtual int64_t round() const { return kRound; }
  // The CPUs that are left for that (KeepTo in cores.h); empty: any.
  virtual std::vector<int> spare_cpus() const { return {}; }

  // Programs of this task will be verified: what that takes may be made meanwhile.
  virtual void expect(const task::Task&) {}
  // Compares with the reference on several inputs, with guard zones and poisoned outputs; before jobs that wait.
  virtual Verdict verify(const task::Task& t, const schedule::Trace& trace) = 0;
  // The same for a caller that goes on meanwhile; where nothing goes on beside jobs, the verdict is there at once.
  virtual std::future<Verdict> verify_beside(const task::Task& t, const schedule::Trace& trace);
  // The candidates again, interleaved, until the intervals of their medians part or the time is up; in order. Nothing
  // else may be in flight.
  virtual std::vector<task::Measurement> finals(const task::Task& t,
                                                std::span<const schedule::Trace> traces,
                                                double seconds) = 0;
};

// One measurement per trace, in order. `stop` is asked again and again: once it says so, what was not begun is left out.
// Nothing else may be in flight.
std::vector<task::Measurement> measure(Measurer& m, const task::Task& t,
                                       std::span<const schedule::Trace> traces, double best_s,
                                       const std::function<bool()>& stop = {});

// Waits for so many jobs, which come back to `take`. False: `stop` said so, and what was not begun has come back without
// a measurement.
bool collect(Measurer& m, size_t jobs, const std::function<bool()>& stop,
             const std::function<void(Done)>& take);

// How measurements on this machine name a target: its fingerprint, and that of the machine, or of the card at hand, where
// that is another.
std::string measured_target(const target::Target& t);

struct DeviceOptions {
  task::Protocol protocol;
  std::string build_tool, run_tool;  // paths of tenon-build and tenon-run
  double compile_limit_s = 15;       // of CPU time; by the clock a few times that
  int64_t compile_memory_bytes = int64_t{2} << 30;
  double run_limit_s = 10;  // the most, likewise; less once a best is known
  int builders = 0;         // processes; 0: one per core
  bool overlap = false;     // builds on every core while times are taken there
  bool on_card = false;     // programs run on a GPU, whatever the cores do
  double min_run_s = 0.02;  // measured time per candidate
};
std::unique_ptr<Measurer> device_measurer(const DeviceOptions& options);

struct SimOptions {
  uint64_t seed = 1;
  task::Protocol protocol;
  double noise = 0.02;     // relative, drawn from the seed and the trace
  double failures = 0.02;  // share of candidates that crash, hang or do not compile
  bool overlaps = false;   // says that it does, so that whoever searches works ahead
};
std::unique_ptr<Measurer> sim_measurer(const SimOptions& options);

}  // namespace tenon::measure
