// SPDX-License-Identifier: Apache-2.0
// This translation unit is what libraries for GPUs have of the module. Like ../library.cpp it is compiled for each
// architecture of hosts.
#include "runtime/cpu_check.cpp"
#include "runtime/cuda/card.cpp"
#include "runtime/cuda/context.cpp"
#include "runtime/cuda/driver.cpp"
#include "runtime/cuda/graph.cpp"
#include "runtime/cuda/model.cpp"
#include "runtime/interface.cpp"
#include "runtime/levels.cpp"
#include "runtime/options.cpp"
#include "runtime/shapes.cpp"
#include "runtime/weights.cpp"
