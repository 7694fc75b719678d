// SPDX-License-Identifier: Apache-2.0
// What libraries for GPUs have of the module as one translation unit, compiled for each architecture of hosts like
// ../library.cpp.
#include "runtime/cuda/card.cpp"
#include "runtime/cuda/context.cpp"
#include "runtime/cuda/driver.cpp"
#include "runtime/cuda/graph.cpp"
#include "runtime/cuda/model.cpp"
#include "runtime/interface.cpp"
#include "runtime/weights.cpp"
