// SPDX-License-Identifier: Apache-2.0
// The event that tells what is decided about each model, as the text of plans (plan/text.h). A run
// that goes on reads it back.
//
//   {"event": "plan", "decided": "layouts", "models": {"net": {"schema": "tenon.lock/2", ..}}}
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "events/events.h"
#include "plan/plan.h"
#include "tune/session.h"

namespace tenon::tune {

// What has just been decided: "pairs", "layouts" or "programs". Programs of rules are left out.
events::PlanDecided plan_decided(const std::string& decided, const std::vector<Model>& models,
                                 const std::vector<plan::NetworkPlan>& plans);

struct PlanTold {
  std::string decided;
  std::vector<plan::NetworkPlan> plans;  // by model; empty for one that is not named
};
// Nothing: another event. Runs of earlier versions told of pairs and of layouts by events of their
// own, which are read, too. Throws UserError for a plan that cannot be read.
std::optional<PlanTold> plan_of(const events::Event& e, const std::vector<Model>& models);

}  // namespace tenon::tune
