// SPDX-License-Identifier: Apache-2.0
// tenon db why-miss: which tasks of a model have a record that can be used, and why the others have
// none.
#include <fmt/format.h>

#include <filesystem>

#include "history/records.h"
#include "history/why_miss.h"
#include "measure/measure.h"
#include "runtime/cpus.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/db/verbs.h"
#include "tools/tenon/json.h"
#include "tools/tenon/model_program.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

struct Row {
  db::TaskRow task;
  history::Miss miss;
};

db::TaskRow row_of(const compile::TaskText& t,
                   const std::shared_ptr<const target::Target>& target) {
  db::TaskRow row{t.task, t.te, t.edges, "", t.flops};
  row.label = history::task_of(row, target).label;
  return row;
}

std::vector<db::TaskRow> wanted_tasks(const DbVerbOptions& options,
                                      const std::vector<db::TaskRow>& known,
                                      const Console& console) {
  std::error_code ignored;
  if (options.name != "-" && !std::filesystem::exists(options.name, ignored)) {
    try {
      return {history::find_task(known, options.name)};
    } catch (const UserError& e) {
      throw UserError(fmt::format("'{}' is no file, and {}", options.name, e.what()));
    }
  }
  ModelOptions model = options.model;
  model.path = options.name;
  const auto target =
      std::make_shared<const target::Target>(target::parse_target(options.model.target));
  std::vector<db::TaskRow> rows;
  for (const compile::TaskText& t : load_tasks(model, console).tasks)
    rows.push_back(row_of(t, target));
  return rows;
}

Json to_json(const std::vector<Row>& rows, const std::string& target, const std::string& protocol) {
  Json tasks = Json::array();
  for (const Row& r : rows) {
    Json list = Json::array();
    for (const history::FieldDifference& d : r.miss.differences) {
      list.push_back({{"field", d.field}, {"wanted", d.wanted}, {"recorded", d.recorded}});
    }
    const bool hit = r.miss.reason == "hit";
    tasks.push_back({{"task", r.task.key},
                     {"label", r.task.label},
                     {"hit", hit},
                     {"reason", r.miss.reason},
                     {"what", r.miss.what},
                     {"median_s", hit ? Json(r.miss.median_s) : Json()},
                     {"differences", list},
                     {"nearest", r.miss.nearest.empty() ? Json() : Json(r.miss.nearest)}});
  }
  return {{"schema", "tenon.db/1"},
          {"verb", "why-miss"},
          {"target", target},
          {"protocol", protocol},
          {"tasks", tasks}};
}

std::string to_text(const std::vector<Row>& rows, const std::string& target,
                    const std::string& protocol) {
  std::string text = fmt::format("wanted   {}  {}\n", protocol, target);
  int hits = 0;
  for (const Row& r : rows) {
    hits += r.miss.reason == "hit" ? 1 : 0;
    text += fmt::format("{:<16}  {:<28} {:<14}  {}\n", escaped(r.task.key), escaped(r.task.label),
                        r.miss.reason, r.miss.what);
    if (!r.miss.nearest.empty()) text += fmt::format("    nearest: task {}\n", r.miss.nearest);
    for (const history::FieldDifference& d : r.miss.differences) {
      text += fmt::format("    {}: wanted {}, recorded {}\n", d.field,
                          d.wanted.empty() ? "nothing" : d.wanted,
                          d.recorded.empty() ? "nothing" : d.recorded);
    }
  }
  return text + fmt::format("{} of {} tasks have a record that can be used\n", hits, rows.size());
}

}  // namespace

int db_why_miss(const DbVerbOptions& options, const Console& console) {
  const auto db = open_db_to_read(options.db);
  const target::Target target = target::parse_target(options.model.target);
  task::Protocol protocol;
  protocol.threads = options.threads > 0 ? options.threads : runtime::default_threads();
  protocol.cold = !options.warm;
  const std::string machine = measure::measured_target(target);
  const auto shared = std::make_shared<const target::Target>(target);
  const auto tasks = db->tasks();
  const auto groups = db->groups({});
  std::vector<Row> rows;
  for (const db::TaskRow& t : wanted_tasks(options, tasks, console)) {
    rows.push_back(
        {t, history::why_miss(*db, tasks, groups, {t, shared, machine, to_string(protocol)})});
  }
  const std::string how = to_string(protocol);
  console.answer(console.json() ? tools::to_text(to_json(rows, machine, how))
                                : to_text(rows, machine, how));
  return kExitOk;
}

}  // namespace tenon::tools
