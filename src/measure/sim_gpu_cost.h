// SPDX-License-Identifier: Apache-2.0
// The time of a program on the pretend GPU, by counting: threads that are idle because there are too few blocks or too
// few warps, instructions of each thread, and bytes by whether neighbouring threads ask for neighbouring ones. Only so
// good that a search has something to find.
#pragma once

#include "schedule/bounds.h"

namespace tenon::measure {

// The target of `s` is a GPU.
double pretend_gpu_seconds(const schedule::State& s, const schedule::Bounds& bounds);

}  // namespace tenon::measure
