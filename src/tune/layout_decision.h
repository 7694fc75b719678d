// SPDX-License-Identifier: Apache-2.0
// From layout times to the layouts of whole models: compile::choose_layouts decides, and the conversions that its choice
// needs are measured before it stands.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "tune/tuner.h"

namespace tenon::tune {

// `compile`: one for each model, and so is the answer; empty: as the rules have it.
using CompileWithTimes = std::function<artifact::Program(const compile::LayoutTimes&)>;
std::vector<compile::Layouts> decide_layouts(compile::LayoutTimes layout_times,
                                             const std::vector<CompileWithTimes>& compile,
                                             const TunerOptions& tuner, measure::Measurer& measurer,
                                             db::Database* db, const std::string& run,
                                             const std::function<bool()>& stop);

}  // namespace tenon::tune
