// SPDX-License-Identifier: Apache-2.0
// Runs candidates for tenon tune, one at a time, in guarded memory. Started and watched by the measurer; what a
// candidate does to this process ends with it.
#include "measure/run/job.h"

int main(int argc, char**) { return tenon::run::serve_runs(argc, tenon::run::devices()); }
