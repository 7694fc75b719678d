// SPDX-License-Identifier: Apache-2.0
// How far two right programs for the same dag may be apart.
#pragma once

#include "te/dag.h"

namespace tenon::te {

// What rounding can explain when sums of `dag`'s length are taken in another order or with fused
// multiply-adds, relative to the largest value; a misplaced element gives far more.
double tolerance(const ComputeDag& dag);

}  // namespace tenon::te
