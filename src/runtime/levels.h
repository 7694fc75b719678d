// SPDX-License-Identifier: Apache-2.0
// A library for several instruction sets has a table for each. When it is loaded, the table of the best one that the CPU
// has is copied to where everything else looks for the only one (tenon_model).
#pragma once

#include "runtime/model.h"

namespace tenon::runtime {

// Contexts that are there: while one lives, the table must stay.
void context_created();
void context_destroyed();

}  // namespace tenon::runtime
