// SPDX-License-Identifier: Apache-2.0
// tenon-run with another table of devices.
#include "measure/run/job.h"
#include "measure/toy_device.h"

int main(int argc, char**) {
  constexpr tenon::run::DeviceRow kRows[] = {{"toy", tenon::run::open_toy}};
  return tenon::run::serve_runs(argc, kRows);
}
