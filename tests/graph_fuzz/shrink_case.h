// SPDX-License-Identifier: Apache-2.0
// Makes a failing case small: one output, fewer nodes, smaller shapes, plainer numbers.
#pragma once

#include <functional>

#include "graph_fuzz/random_model.h"

namespace tenon::graph_fuzz {

// The case still fails as it should.
using Fails = std::function<bool(const Case&)>;

// `c` fails. At most `tries` calls of `fails`.
Case shrink_case(Case c, const Fails& fails, int tries = 400);

}  // namespace tenon::graph_fuzz
