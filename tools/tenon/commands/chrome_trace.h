// SPDX-License-Identifier: Apache-2.0
// Times of steps for Perfetto and chrome://tracing.
#pragma once

#include <string>
#include <vector>

#include "artifact/model.h"
#include "measure/step_times.h"

namespace tenon::tools {

std::string chrome_trace(const std::string& model, const std::vector<artifact::StepInfo>& steps,
                         const measure::StepTimes& times);

}  // namespace tenon::tools
