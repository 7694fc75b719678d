// SPDX-License-Identifier: Apache-2.0
// tenon db show: all there is to say about a task or a run.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "db/find_run.h"
#include "history/records.h"
#include "history/task_history.h"
#include "measure/handoff.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/db/verbs.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

Json json_or_text(const std::string& text) {
  Json j = Json::parse(text, nullptr, false);
  return j.is_discarded() ? Json(text) : j;
}

Json measurement_json(const task::Measurement& m) {
  return {{"median_s", m.median_s},
          {"low_s", m.low_s},
          {"high_s", m.high_s},
          {"best_s", m.best_s},
          {"repetitions", m.seconds.size()},
          {"verified", m.verified},
          {"run", m.run},
          {"time", m.time},
          {"load1", m.load1},
          {"mhz", m.mhz},
          {"handoff_ns", m.handoff_ns},
          {"trace", json_or_text(m.trace)}};
}

std::string time_of_day(int64_t seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string failures_text(const std::map<std::string, int64_t>& failures) {
  std::string text;
  for (const auto& [outcome, n] : failures) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, outcome);
  }
  return text;
}

std::string indented(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out += "    " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

// The steps by name; as JSON where the task's own text is not there or no longer fits.
std::string trace_text(const db::TaskRow& task, const std::string& trace) {
  try {
    const auto target = std::make_shared<const target::Target>(target::host_target());
    const task::Task t = history::task_of(task, target);
    return schedule::to_text(schedule::trace_from_json(trace), schedule::State(t.dag, t.target));
  } catch (const UserError&) {
    return trace + "\n";
  }
}

std::string key_text(const db::TaskRow& task, const history::RecordKey& key,
                     const history::TaskHistory& history, int top) {
  std::string text = fmt::format("\n{}  {}\n", key.protocol, key.target);
  text += fmt::format("  {} measured, {} failed{}\n", history.measured(), history.failed(),
                      history.failed() > 0 ? ": " + failures_text(history.failures()) : "");
  const auto fastest = history.fastest(static_cast<size_t>(top));
  for (const task::Measurement* m : fastest) {
    text += fmt::format(
        "  {:>10}  [{}, {}]  {:<10}  {}  run {}{}\n", time_text(m->median_s), time_text(m->low_s),
        time_text(m->high_s), m->verified ? "verified" : "unverified", time_of_day(m->time),
        m->run.empty() ? "-" : m->run, m->handoff_ns > measure::kApartNs ? "  cores apart" : "");
  }
  if (!fastest.empty())
    text += "  the first of them:\n" + indented(trace_text(task, fastest[0]->trace));
  return text;
}

int show_task(const db::Database& db, const history::Selection& s, const db::TaskRow& task, int top,
              const Console& console) {
  Json keys = Json::array();
  std::string text = fmt::format("task     {}  {}  {:.3g} MFLOP\n{}", escaped(task.key),
                                 escaped(task.label), task.flops * 1e-6, indented(task.te));
  if (!task.edges.empty()) text += "stored\n" + indented(task.edges);
  for (const history::RecordKey& key : s.keys_of(task.key)) {
    const history::TaskHistory history = history_of(db, s, key);
    Json best = Json::array();
    for (const task::Measurement* m : history.fastest(static_cast<size_t>(top))) {
      best.push_back(measurement_json(*m));
    }
    keys.push_back({{"target", key.target},
                    {"protocol", key.protocol},
                    {"measured", history.measured()},
                    {"failed", history.failed()},
                    {"failures", history.failures()},
                    {"best", best}});
    text += key_text(task, key, history, top);
  }
  const Json answer = {{"schema", "tenon.db/1"}, {"verb", "show"},      {"task", task.key},
                       {"label", task.label},    {"flops", task.flops}, {"te", task.te},
                       {"edges", task.edges},    {"keys", keys}};
  console.answer(console.json() ? tools::to_text(answer) : text);
  return kExitOk;
}

Json last_event(const std::vector<db::EventRow>& events, const char* name) {
  for (auto it = events.rbegin(); it != events.rend(); ++it) {
    const Json e = Json::parse(it->json, nullptr, false);
    if (e.is_object() && e.contains("event") && e["event"] == name) return e;
  }
  return nullptr;
}

// What the records and the events of a run say.
struct RunRecords {
  history::Tally all;
  Json tasks = Json::array();
  std::string rows;  // the tasks as text
  size_t events = 0;
  Json end;  // the event that ended the run, if one did

  void add(const history::TaskRecords& e, const history::KeyRecords& k) {
    tasks.push_back({{"task", e.task.key},
                     {"label", e.task.label},
                     {"target", k.key.target},
                     {"protocol", k.key.protocol},
                     {"measured", k.tally.measured},
                     {"failed", k.tally.failed},
                     {"outcomes", k.tally.outcomes},
                     {"best_s", k.best ? Json(k.best->median_s) : Json()},
                     {"verified", k.best && k.best->verified}});
    rows += fmt::format("  {:<16}  {:<28} {:>10}  {:>8} measured  {:>6} failed\n", e.task.key,
                        escaped(e.task.label), k.best ? time_text(k.best->median_s) : "-",
                        k.tally.measured, k.tally.failed);
  }
};

RunRecords records_of_run(const db::Database& db, const db::RunRow& run) {
  history::SelectionOptions only;
  only.run = run.id;
  const history::Selection s = select(db, only);
  RunRecords r;
  for (const history::TaskRecords& e : records_of(db, s)) {
    for (const history::KeyRecords& k : e.keys) {
      for (const auto& g : s.keys.at(k.key)) r.all.add(g);
      r.add(e, k);
    }
  }
  const auto events = db.events(run.id);
  r.events = events.size();
  r.end = last_event(events, "end");
  return r;
}

Json run_json(const db::RunRow& run, const RunRecords& r) {
  return {{"schema", "tenon.db/1"},
          {"verb", "show"},
          {"run", run.id},
          {"command", run.command},
          {"model", run.model},
          {"started", run.started},
          {"finished", run.finished.empty() ? Json() : Json(run.finished)},
          {"measured", run.measured},
          {"failed", run.failed},
          {"outcomes", r.all.outcomes},
          {"events", r.events},
          {"end", r.end},
          {"tasks", r.tasks}};
}

std::string run_text(const db::RunRow& run, const RunRecords& r) {
  std::string text = fmt::format(
      "run      {}\nmodel    {}\ncommand  {}\ntime     from {} {}\nrows     {} measured, {} "
      "failed, "
      "{} events\noutcomes {}\n",
      escaped(run.id), escaped(run.model), escaped(run.command), escaped(run.started),
      run.finished.empty() ? "(cut off, or going on)" : "to " + run.finished, run.measured,
      run.failed, r.events, failures_text(r.all.outcomes));
  if (r.end.is_object() && r.end.contains("reason") && r.end["reason"].is_string()) {
    text += fmt::format("ended    {}\n", escaped(r.end["reason"].get<std::string>()));
  }
  return text + "tasks\n" + r.rows;
}

int show_run(const db::Database& db, const db::RunRow& run, const Console& console) {
  const RunRecords r = records_of_run(db, run);
  console.answer(console.json() ? tools::to_text(run_json(run, r)) : run_text(run, r));
  return kExitOk;
}

}  // namespace

int db_show(const DbVerbOptions& options, const Console& console) {
  const auto db = open_db_to_read(options.db);
  const auto runs = db->runs();
  const auto is_run = [&](const db::RunRow& r) {
    return options.name == "last" || r.id.starts_with(options.name);
  };
  const history::Selection s = select(*db, with_host(options.select));
  const bool task = std::any_of(s.tasks.begin(), s.tasks.end(), [&](const db::TaskRow& t) {
    return t.key.starts_with(options.name) || t.label == options.name;
  });
  if (std::any_of(runs.begin(), runs.end(), is_run)) {
    if (task) {
      throw UserError(fmt::format("'{}' means a run and a task", options.name), "give more of it");
    }
    const std::string id = db::find_run(*db, options.name);
    const auto run =
        std::find_if(runs.begin(), runs.end(), [&](const auto& r) { return r.id == id; });
    return show_run(*db, *run, console);
  }
  return show_task(*db, s, history::find_task(s.tasks, options.name), options.top, console);
}

}  // namespace tenon::tools
