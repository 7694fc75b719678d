// SPDX-License-Identifier: Apache-2.0
// One job of tenon-run, on any device: arguments are made, a kernel is timed or run once, and what it did is looked at.
#pragma once

#include "measure/run/device.h"
#include "measure/wire.h"

namespace tenon::run {

// "ok" and seconds, "wrong" and why (something was written that is not the kernel's), "unable" or "failed" and why. A job
// that checks has its inputs in `shared`, at measure::offsets, and leaves its outputs there; others need none.
measure::Message run_job(const measure::RunJob& job, Device& device, char* shared);

// main() of tenon-run: answers one request after the other, on the device of `rows` that it names.
int serve_runs(int argc, std::span<const DeviceRow> rows);

}  // namespace tenon::run
