// SPDX-License-Identifier: Apache-2.0
#include "tune/plan_event.h"

#include "plan/text.h"

namespace tenon::tune {
namespace {

// The plan of each model, by its entry in the event; one that is not named has an empty plan.
template <class Entries, class Read>
std::vector<plan::NetworkPlan> by_model(const std::vector<Model>& models, const Entries& entries,
                                        const Read& read) {
  std::vector<plan::NetworkPlan> out;
  for (const Model& m : models) {
    const auto it = entries.find(m.name);
    out.push_back(it == entries.end() ? plan::NetworkPlan{} : read(it->second));
  }
  return out;
}

// Which depthwise convolution goes with each call was not told then.
plan::NetworkPlan first_pairs(const std::vector<std::string>& calls) {
  plan::NetworkPlan p;
  for (const std::string& call : calls) p.pairs.calls[call] = "";
  p.pairs.from = plan::From::kMeasured;
  return p;
}

plan::NetworkPlan first_layouts(const std::map<std::string, std::string>& calls) {
  plan::NetworkPlan p;
  p.layouts = {calls, plan::From::kMeasured};
  return p;
}

}  // namespace

events::PlanDecided plan_decided(const std::string& decided, const std::vector<Model>& models,
                                 const std::vector<plan::NetworkPlan>& plans) {
  events::PlanDecided e{decided, {}};
  for (size_t m = 0; m < models.size(); ++m) {
    const plan::NetworkPlan p = plan::without_rules(plans[m]);
    e.models[models[m].name] = {plan::to_text(p), p.pairs.calls, p.layouts.calls};
  }
  return e;
}

std::optional<PlanTold> plan_of(const events::Event& e, const std::vector<Model>& models) {
  if (const auto* plan = std::get_if<events::PlanDecided>(&e)) {
    return PlanTold{plan->decided, by_model(models, plan->models, [](const events::PlanOf& p) {
                      return plan::parse(p.text, "event plan");
                    })};
  }
  if (const auto* pairs = std::get_if<events::PairsChosen>(&e)) {
    return PlanTold{"pairs", by_model(models, pairs->models, first_pairs)};
  }
  if (const auto* layouts = std::get_if<events::LayoutsChosen>(&e)) {
    return PlanTold{"layouts", by_model(models, layouts->models, first_layouts)};
  }
  return std::nullopt;
}

}  // namespace tenon::tune
