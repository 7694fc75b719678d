// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/commands/explain/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "search/space/spaces.h"
#include "space/choice.h"
#include "support/check.h"
#include "tools/tenon/command.h"
#include "tools/tenon/json.h"
#include "tools/tenon/model_program.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

constexpr size_t kOthersShown = 3;

bool has_node(const plan::Network& n, size_t task, const std::string& node) {
  for (size_t s = 0; s < n.task_of.size(); ++s) {
    if (n.task_of[s] != static_cast<int32_t>(task)) continue;
    const auto& nodes = n.layouts.calls[s].nodes;
    if (std::find(nodes.begin(), nodes.end(), node) != nodes.end()) return true;
  }
  return false;
}

const task::Task& task_named(const plan::Network& n, const std::string& name) {
  for (size_t i = 0; i < n.tasks.size(); ++i) {
    const task::Task& t = n.tasks[i].task;
    if (t.key.starts_with(name) || t.label == name || has_node(n, i, name)) return t;
  }
  throw UserError(fmt::format("no task '{}'", name), "tenon explain MODEL lists them");
}

// As a share of the task's best: 0.93.
double share(double worth) { return std::min(1.0, std::exp(worth)); }

Json reason_json(const value::Reason& r) {
  Json others = Json::array();
  for (const auto& [value, worth] : r.others)
    others.push_back({{"value", value}, {"worth", share(worth)}});
  return {{"decision", space::word(r.decision.hole.kind)},
          {"name", r.decision.name},
          {"stage", r.decision.hole.stage},
          {"value", r.decision.value},
          {"rule", r.decision.rule},
          {"values", r.decision.domain.size()},
          {"worth", share(r.worth)},
          {"others", others}};
}

std::string reason_text(const value::Reason& r) {
  std::string others;
  for (size_t i = 0; i < std::min(kOthersShown, r.others.size()); ++i) {
    others += fmt::format("{}{} {:.2f}", i == 0 ? "" : ", ", r.others[i].first,
                          share(r.others[i].second));
  }
  return fmt::format("  {:<10} {:<14} {:>6}  {:.2f}  {:>6}  {}\n",
                     space::word(r.decision.hole.kind), r.decision.name, r.decision.value,
                     share(r.worth), r.decision.rule, others);
}

Json found_json(const value::Found& f) {
  return {{"worth", share(f.worth)}, {"choices", Json::parse(to_json(f.look.program.choices))}};
}

Json to_json(const task::Task& t, const value::Chosen& c, const std::vector<value::Reason>& why) {
  Json decisions = Json::array();
  for (const value::Reason& r : why) decisions.push_back(reason_json(r));
  Json others = Json::array();
  for (const value::Found& f : c.others) others.push_back(found_json(f));
  return {{"schema", "tenon.why/1"},
          {"task", t.key},
          {"label", t.label},
          {"taken", c.is_rule() ? "rule" : "instant"},
          {"worth", share(c.taken.worth)},
          {"rule_worth", share(c.by_rule.worth)},
          {"decisions", decisions},
          {"others", others}};
}

std::string to_text(const task::Task& t, const value::Chosen& c, const value::ValueModel& model,
                    const std::vector<value::Reason>& why) {
  std::string text = fmt::format(
      "{}  {}\n{}: expected at {:.2f} of the best, what the rules write at {:.2f} (another is "
      "taken if "
      "it is expected to be {:.0f} % faster, {:.0f} % with another algorithm)\n",
      t.key, escaped(t.label), c.is_rule() ? "the rules' program" : "another than the rules'",
      share(c.taken.worth), share(c.by_rule.worth), 100 * (std::exp(model.margin) - 1),
      100 * (std::exp(model.algorithm_margin) - 1));
  text += fmt::format("  {:<10} {:<14} {:>6}  {:>4}  {:>6}  {}\n", "decision", "name", "value",
                      "then", "rule", "other values and what was expected of them");
  for (const value::Reason& r : why) text += reason_text(r);
  for (const value::Found& f : c.others) {
    text += fmt::format("not taken, {:.2f}: {}\n", share(f.worth), to_json(f.look.program.choices));
  }
  return text;
}

}  // namespace

int explain_why(const ModelOptions& options, const std::string& task, const Console& console) {
  const Planned planned = plan_model(options, "", console);
  const task::Task& t = task_named(planned.network, task);
  const auto instant = find_instant(options.instant, *t.target, console);
  if (instant == nullptr) return kExitUsage;
  const auto chosen = instant->choose(t);
  if (!chosen) throw UserError("nothing can be decided about this task");
  const auto space = search::make_space(options.instant.space, t);
  const value::RowMaker maker(t, chosen->by_rule.look.program);
  const auto why = value::reasons(*space, maker, instant->value(), chosen->taken.look);
  console.answer(console.json() ? tools::to_text(to_json(t, *chosen, why))
                                : to_text(t, *chosen, instant->value().model(), why));
  return kExitOk;
}

}  // namespace tenon::tools
