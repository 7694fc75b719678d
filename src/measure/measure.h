// SPDX-License-Identifier: Apache-2.0
// Building and running candidates. The real measurer does both in other processes (tenon-build, tenon-run) under limits;
// the pretend one (sim) computes a time from the program, the same for the same seed.
//
//   auto m = device_measurer(options);
//   std::vector<task::Measurement> r = m->measure(task, traces, best_so_far_s);
#pragma once

#include <functional>
#include <memory>
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

class Measurer {
 public:
  virtual ~Measurer() = default;
  virtual std::string target(const target::Target& t) const = 0;  // as measurements name it
  virtual std::string protocol() const = 0;                       // as text
  // One measurement per trace, in order; never throws for what a candidate does, nor for a machine that fails for a
  // while (Outcome::kUndecided). best_s <= 0: none yet; it bounds
  // how long a run may take. `stop` is asked between candidates; those not reached are left out at the end.
  virtual std::vector<task::Measurement> measure(const task::Task& t,
                                                 std::span<const schedule::Trace> traces,
                                                 double best_s,
                                                 const std::function<bool()>& stop) = 0;
  // Compares with the reference on several inputs, with guard zones and poisoned outputs.
  virtual Verdict verify(const task::Task& t, const schedule::Trace& trace) = 0;
  // The candidates again, interleaved, until the intervals of their medians part or the time is up; in order.
  virtual std::vector<task::Measurement> finals(const task::Task& t,
                                                std::span<const schedule::Trace> traces,
                                                double seconds) = 0;
};

// How measurements on this machine name a target: its fingerprint, and the machine's where that is another.
std::string measured_target(const target::Target& t);

struct DeviceOptions {
  task::Protocol protocol;
  std::string build_tool, run_tool;  // paths of tenon-build and tenon-run
  double compile_limit_s = 15;       // of CPU time; by the clock a few times that
  int64_t compile_memory_bytes = int64_t{2} << 30;
  double run_limit_s = 10;  // the most, likewise; less once a best is known
  int builders = 0;         // processes; 0: one per core
  double min_run_s = 0.02;  // measured time per candidate
};
std::unique_ptr<Measurer> device_measurer(const DeviceOptions& options);

struct SimOptions {
  uint64_t seed = 1;
  task::Protocol protocol;
  double noise = 0.02;     // relative, drawn from the seed and the trace
  double failures = 0.02;  // share of candidates that crash, hang or do not compile
};
std::unique_ptr<Measurer> sim_measurer(const SimOptions& options);

}  // namespace tenon::measure
