// SPDX-License-Identifier: Apache-2.0
// One job of tenon-run, on any device: arguments are made, a kernel is timed or run once, and what it did is looked at.
#pragma once

#include "measure/run/device.h"
#include "measure/wire.h"

namespace tenon::run {

// What jobs that are timed work on, kept for the next one: programs of one task have the same parameters. What lies there
// does not change their times, and to make it anew takes longer than a small program.
class Operands {
 public:
  // For this job, with inputs filled; those of the job before where that had the same parameters on the same device.
  std::vector<std::unique_ptr<Buffer>> take(const measure::RunJob& job, Device& device);
  // Of a job that left all zones around them as they were.
  void give(std::vector<std::unique_ptr<Buffer>> params) { params_ = std::move(params); }

 private:
  std::vector<std::unique_ptr<Buffer>> params_;  // none: nothing is kept
  std::vector<measure::Param> made_for_;
  const Device* device_ = nullptr;
};

// "ok" and seconds, "wrong" and why (something was written that is not the kernel's), "unable" or "failed" and why. A job
// that checks has its inputs in `shared`, at measure::offsets, and leaves its outputs there; others need none.
measure::Message run_job(const measure::RunJob& job, Device& device, char* shared, Operands& kept);

// main() of tenon-run: answers one request after the other, on the device of `rows` that it names.
int serve_runs(int argc, std::span<const DeviceRow> rows);

}  // namespace tenon::run
