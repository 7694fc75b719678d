// SPDX-License-Identifier: Apache-2.0
// tenon db export, import, merge: records from file to file.
#include <fmt/format.h>

#include <set>

#include "db/records.h"
#include "files/packed.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/db/verbs.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

// The rows that were selected, and the runs and tasks that they belong to.
db::Rows selected_records(const db::Database& db, const history::SelectionOptions& options) {
  db::Rows all = db::all_records(db);
  if (!options.any()) return all;
  const history::Selection s = select(db, with_host(options));
  std::set<std::string> tasks, runs;
  for (const db::TaskRow& t : s.tasks) tasks.insert(t.key);
  std::erase_if(all.measurements, [&](const task::Measurement& m) { return !s.has(m); });
  for (const task::Measurement& m : all.measurements) runs.insert(m.run);
  std::erase_if(all.tasks, [&](const db::TaskRow& t) { return !tasks.contains(t.key); });
  std::erase_if(all.runs, [&](const db::RunRow& r) { return !runs.contains(r.id); });
  std::erase_if(all.events, [&](const db::RunEvent& e) { return !runs.contains(e.run); });
  return all;
}

// All files are read before anything is written.
int add_files(const DbVerbOptions& options, const char* verb, const Console& console) {
  std::vector<db::Rows> parts;
  for (const std::string& file : options.files) parts.push_back(read_records(file));
  const db::Added added = open_db(options.db, wait_for_writer(options.db, console))->add(parts);
  const Json answer = {{"schema", "tenon.db/1"},
                       {"verb", verb},
                       {"file", db_file(options.db)},
                       {"tasks", added.tasks},
                       {"runs", added.runs},
                       {"events", added.events},
                       {"measurements", added.measurements},
                       {"known", added.known}};
  console.answer(
      console.json()
          ? to_text(answer)
          : fmt::format("{}: {}, {}, {}, {} added; {} there before\n", db_file(options.db),
                        counted(added.tasks, "task"), counted(added.measurements, "measurement"),
                        counted(added.runs, "run"), counted(added.events, "event"),
                        counted(added.known, "row") + (added.known == 1 ? " was" : " were")));
  return kExitOk;
}

}  // namespace

int db_export(const DbVerbOptions& options, const Console& console) {
  const db::Rows r = selected_records(*open_db_to_read(options.db), options.select);
  const std::string text = db::to_json_lines(r);
  if (options.output == "-") {
    console.answer(text);
    return kExitOk;
  }
  files::write_maybe_packed(options.output, text);
  const Json answer = {{"schema", "tenon.db/1"},    {"verb", "export"},
                       {"file", options.output},    {"bytes", text.size()},
                       {"tasks", r.tasks.size()},   {"runs", r.runs.size()},
                       {"events", r.events.size()}, {"measurements", r.measurements.size()}};
  console.answer(
      console.json()
          ? to_text(answer)
          : fmt::format("{}: {}, {}, {}, {}\n", options.output, counted(r.tasks.size(), "task"),
                        counted(r.measurements.size(), "measurement"),
                        counted(r.runs.size(), "run"), counted(r.events.size(), "event")));
  return kExitOk;
}

int db_import(const DbVerbOptions& options, const Console& console) {
  return add_files(options, "import", console);
}

int db_merge(const DbVerbOptions& options, const Console& console) {
  return add_files(options, "merge", console);
}

}  // namespace tenon::tools
