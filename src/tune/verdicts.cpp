// SPDX-License-Identifier: Apache-2.0
#include "tune/verdicts.h"

#include <algorithm>

#include "events/events.h"
#include "plan/text.h"
#include "support/check.h"

namespace tenon::tune {
namespace {

// What the events of a run say about the model.
struct Told {
  bool there = false;  // it was timed on that machine and in that way
  std::optional<plan::NetworkPlan> plan;
  std::map<std::string, Verdict::Default> defaults;

  void take(const events::RunStarted& e, const JudgedWhere& where) {
    there = e.target == where.machine && e.protocol == where.protocol;
    for (const events::TaskNamed& t : e.tasks) defaults[t.key].origin = t.origin;
  }
  void take(const events::DefaultTimed& e, const JudgedWhere&) {
    if (e.outcome == "ok") defaults[e.task].trace = e.trace;
  }
  void take(const events::PlanDecided& e, const JudgedWhere& where) {
    const auto of = e.models.find(where.model);
    if (e.decided == "programs" && of != e.models.end()) {
      plan = plan::parse(of->second.text, "event plan");
    }
  }
  template <class Other>
  void take(const Other&, const JudgedWhere&) {}
};

Told read_run(const db::Database& db, const std::string& run, const JudgedWhere& where) {
  Told told;
  for (const db::EventRow& row : db.events(run)) {
    const events::Parsed read = events::parse(row.json);
    if (!read.event || !read.why.empty()) continue;
    std::visit([&](const auto& e) { told.take(e, where); }, *read.event);
  }
  return told;
}

}  // namespace

std::optional<Verdict> last_verdict(const db::Database& db, const JudgedWhere& where) {
  std::vector<db::RunRow> runs = db.runs();
  std::erase_if(runs, [](const db::RunRow& r) { return r.finished.empty(); });
  std::sort(runs.begin(), runs.end(),
            [](const db::RunRow& a, const db::RunRow& b) { return a.finished > b.finished; });
  for (const db::RunRow& r : runs) {
    try {
      Told told = read_run(db, r.id, where);
      if (!told.there || !told.plan) continue;
      Verdict v{r.id, std::move(*told.plan), std::move(told.defaults)};
      for (const db::Group& g : db.groups({"", "", "", r.id})) v.tasks[g.task];
      return v;
    } catch (const UserError&) {  // a damaged verdict is none
    }
  }
  return std::nullopt;
}

}  // namespace tenon::tune
