// SPDX-License-Identifier: Apache-2.0
// tenon db ls: the tasks of a database, or its runs.
#include <fmt/format.h>

#include <optional>
#include <set>

#include "tools/tenon/command.h"
#include "tools/tenon/commands/db/verbs.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

std::string best_text(const std::optional<task::Measurement>& m) {
  if (!m) return "-";
  return time_text(m->median_s) + (m->verified ? "" : " unverified");
}

Json best_json(const history::KeyRecords& row) {
  return {{"best_s", row.best ? Json(row.best->median_s) : Json()},
          {"verified", row.best && row.best->verified}};
}

// The best of all keys; a verified one comes before any other.
std::optional<task::Measurement> best_of(const history::TaskRecords& e) {
  std::optional<task::Measurement> best;
  const auto worse = [](const task::Measurement& a, const task::Measurement& b) {
    return std::pair(!a.verified, a.median_s) > std::pair(!b.verified, b.median_s);
  };
  for (const history::KeyRecords& row : e.keys) {
    if (row.best && (!best || worse(*best, *row.best))) best = row.best;
  }
  return best;
}

Json tasks_json(const std::vector<history::TaskRecords>& list) {
  Json tasks = Json::array();
  for (const history::TaskRecords& e : list) {
    Json keys = Json::array();
    for (const history::KeyRecords& row : e.keys) {
      Json key = {{"target", row.key.target},
                  {"protocol", row.key.protocol},
                  {"measured", row.tally.measured},
                  {"failed", row.tally.failed}};
      key.update(best_json(row));
      keys.push_back(std::move(key));
    }
    tasks.push_back(
        {{"task", e.task.key}, {"label", e.task.label}, {"flops", e.task.flops}, {"keys", keys}});
  }
  return tasks;
}

std::string tasks_text(const std::vector<history::TaskRecords>& list) {
  std::string text = fmt::format("{:<16}  {:<28} {:>20}  {:>8}  {:>6}  {:>7}\n", "task", "label",
                                 "best", "measured", "failed", "targets");
  for (const history::TaskRecords& e : list) {
    history::Tally all;
    std::set<std::string> targets;
    for (const history::KeyRecords& row : e.keys) {
      all.measured += row.tally.measured;
      all.failed += row.tally.failed;
      targets.insert(row.key.target);
    }
    text += fmt::format("{:<16}  {:<28} {:>20}  {:>8}  {:>6}  {:>7}\n", escaped(e.task.key),
                        escaped(e.task.label), best_text(best_of(e)), all.measured, all.failed,
                        targets.size());
  }
  return text;
}

int list_runs(const db::Database& db, const DbVerbOptions& options, const Console& console) {
  const history::Selection s = select(db, with_host(options.select));
  std::set<std::string> wanted;
  for (const auto& [key, groups] : s.keys) {
    for (const db::Group& g : groups) wanted.insert(g.run);
  }
  Json list = Json::array();
  std::string text = fmt::format("{:<16}  {:<20}  {:<20}  {:>8}  {:>6}  {}\n", "run", "started",
                                 "finished", "measured", "failed", "model");
  for (const db::RunRow& r : db.runs()) {
    if (options.select.any() && !wanted.contains(r.id)) continue;
    list.push_back({{"run", r.id},
                    {"command", r.command},
                    {"model", r.model},
                    {"started", r.started},
                    {"finished", r.finished.empty() ? Json() : Json(r.finished)},
                    {"measured", r.measured},
                    {"failed", r.failed}});
    text +=
        fmt::format("{:<16}  {:<20}  {:<20}  {:>8}  {:>6}  {}\n", r.id, r.started,
                    r.finished.empty() ? "-" : r.finished, r.measured, r.failed, escaped(r.model));
  }
  console.answer(console.json()
                     ? to_text(Json{{"schema", "tenon.db/1"}, {"verb", "ls"}, {"runs", list}})
                     : text);
  return kExitOk;
}

}  // namespace

int db_ls(const DbVerbOptions& options, const Console& console) {
  const auto db = open_db_to_read(options.db);
  if (options.runs) return list_runs(*db, options, console);
  const auto list = records_of(*db, select(*db, with_host(options.select)));
  console.answer(
      console.json()
          ? to_text(Json{{"schema", "tenon.db/1"}, {"verb", "ls"}, {"tasks", tasks_json(list)}})
          : tasks_text(list));
  return kExitOk;
}

}  // namespace tenon::tools
