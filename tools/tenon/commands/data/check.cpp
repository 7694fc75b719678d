// SPDX-License-Identifier: Apache-2.0
// tenon data check: whether records can be learned from.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "schedule/trace.h"
#include "search/space/spaces.h"
#include "support/parallel.h"
#include "task/serve.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/data/verbs.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

using task::Measurement;
using task::Outcome;

// One kind of mistake: how many records have it, and the first.
struct Fault {
  int64_t records = 0;
  std::string first;
};
using Faults = std::map<std::string, Fault>;

void note(Faults& faults, const std::string& what, const std::string& where) {
  Fault& f = faults[what];
  if (f.records++ == 0) f.first = where;
}

constexpr const char* kStale = "choices that do not lead to the trace";

// Why the record is of no use, or kStale; empty: nothing is wrong.
std::string fault_of(const task::Task& t, const space::Space* space, const Measurement& m) {
  if (m.outcome == Outcome::kOk && !has_time(m)) return "ran, without a time";
  try {
    const auto trace = schedule::trace_from_json(m.trace);
    if (m.outcome != Outcome::kOk) return "";  // what failed may never have served
    if (!task::serve(t, trace)) return "a trace that may not serve its task";
    if (m.choices.empty() || space == nullptr) return "";
    const auto p = space->adopt(trace, space::choices_from_json(m.choices));
    return p && p->choices.empty() ? kStale : "";
  } catch (const UserError&) {
    return "a trace or choices that cannot be read";
  }
}

struct Checked {
  int64_t records = 0, programs = 0, again = 0, tasks = 0;
  int64_t stale = 0;  // their traces teach alone
  Faults faults;
};

void check_task(const db::TaskRow& row, const Machine& machine,
                const std::vector<Measurement>& rows, Checked& out) {
  const history::Where& where = machine.where;
  std::optional<task::Task> t;
  try {
    t = history::task_of(row, where.target);
  } catch (const UserError& e) {
    note(out.faults, "a task that cannot be read", fmt::format("{}: {}", row.key, e.what()));
    return;
  }
  // Legal choices depend on the machine, so the check does not follow those of a machine that it does not know.
  const auto space = machine.known ? search::make_space("joint", *t) : nullptr;
  std::vector<std::string> why(rows.size());
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  for_each_parallel(rows.size(), threads,
                    [&](size_t i) { why[i] = fault_of(*t, space.get(), rows[i]); });
  std::set<std::string> known;
  bool any = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    out.again += known.insert(rows[i].trace).second ? 0 : 1;
    any = any || rows[i].outcome == Outcome::kOk;
    out.stale += why[i] == kStale ? 1 : 0;
    if (!why[i].empty() && why[i] != kStale)
      note(out.faults, why[i], fmt::format("task {}", row.key));
  }
  out.programs += std::ssize(known);
  ++out.tasks;
  if (!any) note(out.faults, "a task with failures alone", fmt::format("task {}", row.key));
}

Checked check_machine(const db::Database& db, const Machine& machine) {
  const history::Where& where = machine.where;
  Checked out;
  std::map<std::string, std::vector<Measurement>> rows;
  for (Measurement& m : db.measurements({"", where.measured, where.protocol, ""})) {
    ++out.records;
    rows[m.task].push_back(std::move(m));
  }
  for (const db::TaskRow& row : db.tasks()) {
    const auto it = rows.find(row.key);
    if (it == rows.end()) continue;
    check_task(row, machine, it->second, out);
    rows.erase(it);
  }
  for (const auto& [key, measurements] : rows) {
    note(out.faults, "a task that nothing tells of", fmt::format("task {}", key));
  }
  return out;
}

Json checked_json(const history::Where& where, const Checked& c) {
  Json faults = Json::array();
  for (const auto& [what, f] : c.faults) {
    faults.push_back({{"what", what}, {"records", f.records}, {"first", f.first}});
  }
  return {{"target", where.measured}, {"protocol", where.protocol},
          {"records", c.records},     {"tasks", c.tasks},
          {"programs", c.programs},   {"measured_again", c.again},
          {"stale_choices", c.stale}, {"faults", faults}};
}

std::string checked_text(const history::Where& where, const Checked& c) {
  std::string text =
      fmt::format("{}; {}\n  {} of {}, {} programs, {} measured again\n", escaped(where.measured),
                  escaped(where.protocol), counted(c.records, "record"), counted(c.tasks, "task"),
                  grouped(c.programs), grouped(c.again));
  for (const auto& [what, f] : c.faults) {
    text += fmt::format("  {} with {}, the first: {}\n", counted(f.records, "record"), what,
                        escaped(f.first));
  }
  if (c.stale > 0) {
    text += fmt::format("  {} with {}, of a space that was another then: the trace teaches alone\n",
                        counted(c.stale, "record"), kStale);
  }
  return text + (c.faults.empty() ? "  all of them can be learned from\n" : "");
}

}  // namespace

int data_check(const DataVerbOptions& o, const Console& console) {
  const auto db = open_data(o);
  Json list = Json::array();
  std::string text;
  bool sound = true;
  for (const Machine& m : machines(*db, o.select)) {
    const Checked c = check_machine(*db, m);
    sound = sound && c.faults.empty();
    list.push_back(checked_json(m.where, c));
    text += checked_text(m.where, c);
  }
  console.answer(console.json() ? to_text(Json{{"schema", "tenon.data/1"},
                                               {"verb", "check"},
                                               {"sound", sound},
                                               {"machines", list}})
                                : text);
  return sound ? kExitOk : kExitNoMeasurement;
}

}  // namespace tenon::tools
