// SPDX-License-Identifier: Apache-2.0
// Compiles candidates for tenon tune, under limits; see measure/build.h.
#include "measure/build.h"

int main(int argc, char** argv) { return tenon::measure::serve_builds(argc, argv); }
