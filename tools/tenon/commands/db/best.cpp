// SPDX-License-Identifier: Apache-2.0
// tenon db best: the fastest verified of each task, also as a lock file.
#include <fmt/format.h>

#include <set>

#include "files/file.h"
#include "history/records.h"
#include "plan/text.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/db/verbs.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"
#include "tune/best_schedules.h"

namespace tenon::tools {
namespace {

// "x86-64-v4" of a fingerprint: what a lock file calls its target.
std::string cpu_of(const std::string& fingerprint) {
  const size_t begin = fingerprint.find(';');
  if (begin == std::string::npos) return fingerprint;
  return fingerprint.substr(begin + 1, fingerprint.find(';', begin + 1) - begin - 1);
}

void check_one(const std::set<std::string>& there, const char* option) {
  if (there.size() <= 1) return;
  throw UserError(fmt::format("--lock: the records are of {} {}s; choose with --{}", there.size(),
                              option, option),
                  fmt::format("{}", fmt::join(there, " | ")));
}

plan::TaskPlan program_of(const db::TaskRow& row, const task::Measurement& best) {
  const auto target = std::make_shared<const target::Target>(target::host_target());
  return tune::tuned_program(history::task_of(row, target), schedule::trace_from_json(best.trace),
                             plan::From::kRecord);
}

// A lock file is for one machine and one way of running: records of several do not mix. What cannot
// be read is left out.
void write_lock(const std::string& file, const std::vector<history::TaskRecords>& list,
                const Console& console) {
  plan::NetworkPlan plan;
  plan.name = "records";
  std::set<std::string> targets, protocols;
  for (const history::TaskRecords& e : list) {
    for (const history::KeyRecords& row : e.keys) {
      if (!row.best) continue;
      targets.insert(row.key.target);
      protocols.insert(row.key.protocol);
      try {
        plan.set(program_of(e.task, *row.best));
      } catch (const UserError& damaged) {
        console.warn(fmt::format("task {} is left out: {}", e.task.key, damaged.what()));
      }
    }
  }
  check_one(targets, "target");
  check_one(protocols, "protocol");
  if (plan.tasks.empty()) throw UserError("--lock: there is no verified record to write");
  plan.target = cpu_of(*targets.begin());
  files::write_file(file, plan::to_text(plan));
}

Json best_list_json(const std::vector<history::TaskRecords>& list) {
  Json rows = Json::array();
  for (const history::TaskRecords& e : list) {
    for (const history::KeyRecords& row : e.keys) {
      if (!row.best) continue;
      rows.push_back({{"task", e.task.key},
                      {"label", e.task.label},
                      {"target", row.key.target},
                      {"protocol", row.key.protocol},
                      {"median_s", row.best->median_s},
                      {"low_s", row.best->low_s},
                      {"high_s", row.best->high_s},
                      {"gflops", e.task.flops / row.best->median_s * 1e-9},
                      {"measured", row.tally.measured},
                      {"run", row.best->run},
                      {"trace", Json::parse(row.best->trace, nullptr, false)}});
    }
  }
  return rows;
}

std::string best_list_text(const std::vector<history::TaskRecords>& list) {
  std::string text = fmt::format("{:<16}  {:<28} {:>10}  {:>8}  {:>8}  {:<18}  {}\n", "task",
                                 "label", "best", "GFLOP/s", "measured", "protocol", "target");
  for (const history::TaskRecords& e : list) {
    for (const history::KeyRecords& row : e.keys) {
      if (!row.best) continue;
      text += fmt::format("{:<16}  {:<28} {:>10}  {:>8.1f}  {:>8}  {:<18}  {}\n", e.task.key,
                          escaped(e.task.label), time_text(row.best->median_s),
                          e.task.flops / row.best->median_s * 1e-9, row.tally.measured,
                          row.key.protocol, cpu_of(row.key.target));
    }
  }
  return text;
}

}  // namespace

int db_best(const DbVerbOptions& options, const Console& console) {
  const auto db = open_db_to_read(options.db);
  std::vector<history::TaskRecords> list = records_of(*db, select(*db, with_host(options.select)));
  for (history::TaskRecords& e : list) {
    std::erase_if(e.keys,
                  [](const history::KeyRecords& row) { return !row.best || !row.best->verified; });
  }
  if (!options.lock.empty()) write_lock(options.lock, list, console);
  if (options.lock == "-") return kExitOk;
  console.answer(console.json() ? to_text(Json{{"schema", "tenon.db/1"},
                                               {"verb", "best"},
                                               {"best", best_list_json(list)}})
                                : best_list_text(list));
  return kExitOk;
}

}  // namespace tenon::tools
