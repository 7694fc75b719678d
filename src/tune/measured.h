// SPDX-License-Identifier: Apache-2.0
// What strategies and cost models are told of a measurement.
#pragma once

#include <string>

#include "space/choice.h"
#include "task/record.h"

namespace tenon::tune {

// The median, or infinity if it did not run.
double seconds_of(const task::Measurement& m);

// The choices of a record. Empty: one of an older version says none, a damaged one
// none that can be read.
space::Choices read_choices(const std::string& json);

}  // namespace tenon::tune
