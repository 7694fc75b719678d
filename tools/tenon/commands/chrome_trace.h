// SPDX-License-Identifier: Apache-2.0
// Times of steps for Perfetto and chrome://tracing.
#pragma once

#include <string>

#include "artifact/model.h"
#include "measure/step_times.h"

namespace tenon::tools {

std::string chrome_trace(const artifact::Model& model, const measure::StepTimes& times);

}  // namespace tenon::tools
