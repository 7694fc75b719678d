// SPDX-License-Identifier: Apache-2.0
// What repeated times say, and in what state the machine is while they are taken.
#pragma once

#include <mutex>

#include "task/record.h"

namespace tenon::measure {

// Best, median and the 95 % interval of the median (support/median.h) from m.seconds, which must not
// be empty.
void summarize(task::Measurement& m);

struct MachineState {
  double load1 = 0;
  double mhz = 0;
};
MachineState machine_state();  // zeros where nothing is known

// The same, looked at once a second: to ask for the clock interrupts every core.
class MachineWatch {
 public:
  MachineState now();

 private:
  std::mutex mutex_;
  double seen_at_ = -1;
  MachineState seen_;
};

}  // namespace tenon::measure
