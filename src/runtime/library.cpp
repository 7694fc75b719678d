// SPDX-License-Identifier: Apache-2.0
// The whole module as one translation unit: compiled for each architecture into the object that module artifact
// puts into finished libraries.
#include "runtime/context.cpp"
#include "runtime/cpu_check.cpp"
#include "runtime/cpus.cpp"
#include "runtime/flow.cpp"
#include "runtime/interface.cpp"
#include "runtime/levels.cpp"
#include "runtime/model.cpp"
#include "runtime/options.cpp"
#include "runtime/pool.cpp"
#include "runtime/quota.cpp"
#include "runtime/region.cpp"
#include "runtime/shapes.cpp"
#include "runtime/variants.cpp"
#include "runtime/weights.cpp"
