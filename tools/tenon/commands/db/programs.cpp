// SPDX-License-Identifier: Apache-2.0
// tenon db programs: the best programs of each task as a table for other tasks to begin with.
#include <fmt/format.h>

#include "files/file.h"
#include "history/program_table.h"
#include "history/records.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/db/verbs.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

using TargetRef = std::shared_ptr<const target::Target>;

// Whose structures the choices of a record name: those of the kind of machine that it was measured on.
TargetRef target_of(const std::string& measured, const TargetRef& host) {
  for (const target::Target& t : target::gpu_targets()) {
    if (measured.starts_with(fmt::format("{};{};", t.triple, t.gpu().processor))) {
      return std::make_shared<const target::Target>(t);
    }
  }
  return host;
}

// Tasks of several machines or protocols have an entry for each.
std::vector<history::KnownTask> known_tasks(const DbVerbOptions& options, const Console& console) {
  const auto db = open_db_to_read(options.db);
  const auto host = std::make_shared<const target::Target>(target::host_target());
  const history::Selection selection = select(*db, with_host(options.select));
  std::vector<history::KnownTask> out;
  for (const db::TaskRow& row : selection.tasks) {
    try {
      history::task_of(row, host);  // what is no task is said, whether it has records or not
      for (const history::RecordKey& key : selection.keys_of(row.key)) {
        const task::Task t = history::task_of(row, target_of(key.target, host));
        const history::Translator translator(t);
        const auto rows = db->measurements({key.task, key.target, key.protocol, selection.run});
        auto programs = history::best_programs(rows, translator, static_cast<size_t>(options.best));
        if (programs.empty()) continue;
        out.push_back({t.key, row.label, history::likeness_of(t), std::move(programs)});
      }
    } catch (const UserError& damaged) {
      console.warn(fmt::format("task {} is left out: {}", row.key, damaged.what()));
    }
  }
  return out;
}

}  // namespace

int db_programs(const DbVerbOptions& options, const Console& console) {
  const auto tasks = known_tasks(options, console);
  const std::string text = history::to_table(tasks);
  if (options.output == "-") {
    console.answer(text);
    return kExitOk;
  }
  files::write_file(options.output, text);
  size_t programs = 0;
  for (const auto& t : history::read_table(text).tasks) programs += t.programs.size();
  console.answer(console.json() ? to_text(Json{{"schema", "tenon.db/1"},
                                               {"verb", "programs"},
                                               {"file", options.output},
                                               {"tasks", tasks.size()},
                                               {"programs", programs},
                                               {"bytes", text.size()}})
                                : fmt::format("{}: {} of {}, {} bytes\n", options.output,
                                              counted(programs, "program"),
                                              counted(tasks.size(), "task"), text.size()));
  return kExitOk;
}

}  // namespace tenon::tools
