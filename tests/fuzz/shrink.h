// SPDX-License-Identifier: Apache-2.0
// Makes a failing case small: fewer steps, fewer ops, smaller extents.
#pragma once

#include <functional>

#include "fuzz/case.h"

namespace tenon::fuzz {

// The case still fails as it should.
using Fails = std::function<bool(const Case&)>;

// `c` fails. At most `tries` calls of `fails`.
Case shrink(Case c, const Fails& fails, int tries = 2000);

}  // namespace tenon::fuzz
