// SPDX-License-Identifier: Apache-2.0
// From offers to the layouts of whole models: compile::choose_layouts decides, and the conversions that its choice needs
// are measured before it stands.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "tune/tuner.h"

namespace tenon::tune {

// `compile`: one for each model, and so is the answer; empty: as the rules have it.
using CompileOffered = std::function<artifact::Program(const compile::Offers&)>;
std::vector<compile::Layouts> decide_layouts(compile::Offers offers,
                                             const std::vector<CompileOffered>& compile,
                                             const TunerOptions& tuner, measure::Measurer& measurer,
                                             db::Database* db, const std::string& run,
                                             const std::function<bool()>& stop);

}  // namespace tenon::tune
