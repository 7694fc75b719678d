// SPDX-License-Identifier: Apache-2.0
// Times two artifacts against each other; see measure/network_compare.h.
#include "measure/network_compare.h"

int main(int argc, char**) { return tenon::measure::serve_comparisons(argc); }
