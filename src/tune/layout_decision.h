// SPDX-License-Identifier: Apache-2.0
// From layout times to the layouts of whole models: plan::choose_layouts decides, and the
// conversions that its choice needs are measured before it stands.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan/network.h"
#include "tune/tuner.h"

namespace tenon::tune {

// `decide`: one for each model, and so is the answer (NetworkPlan::layouts); empty: as the rules
// have it.
using DecideWithTimes = std::function<plan::Network(const plan::LayoutTimes&)>;
std::vector<plan::CallDecisions> decide_layouts(plan::LayoutTimes layout_times,
                                                const std::vector<DecideWithTimes>& decide,
                                                const TunerOptions& tuner,
                                                measure::Measurer& measurer, db::Database* db,
                                                const std::string& run,
                                                const std::function<bool()>& stop);

}  // namespace tenon::tune
