// SPDX-License-Identifier: Apache-2.0
// Random small convolutions of every kind, and random ways to compute and store them.
//
//   te::ComputeDag dag = random_conv(rng);    // X, constant W: C, alone or followed by bias, sum and activation
//   Drawn d = random_conv_trace(State(dag, target), rng, counts);
#pragma once

#include "fuzz/random_trace.h"

namespace tenon::fuzz {

// Of one to three dimensions: plain, in groups, depthwise, transposed or pointwise; strides 1 to 3, dilations 1 and 2,
// channels that are no multiple of a vector, padding that differs on both sides. The convolution is named C, its
// tensors X and W.
te::ComputeDag random_conv(Rng& rng);

// Another algorithm (counted by its name), where one fits; random layouts of input, weights, output and what lies
// between them; random loops; sometimes a template's trace instead, by the algorithm that it is asked for.
Drawn random_conv_trace(const schedule::State& initial, Rng& rng, Counts& counts);

}  // namespace tenon::fuzz
