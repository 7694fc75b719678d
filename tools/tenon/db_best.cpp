// SPDX-License-Identifier: Apache-2.0
// tenon db best: the fastest verified of each task, also as a lock file.
#include <fmt/format.h>

#include <set>

#include "artifact/manifest.h"
#include "files/file.h"
#include "tools/tenon/command.h"
#include "tools/tenon/db_verbs.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"
#include "tune/records.h"

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

// A lock file is for one machine and one way of running: records of several do not mix.
void write_lock(const std::string& file, const std::vector<TaskEntry>& list) {
  artifact::Program program;
  program.name = "records";
  std::set<std::string> targets, protocols;
  for (const TaskEntry& e : list) {
    for (const KeyEntry& row : e.keys) {
      if (!row.best) continue;
      targets.insert(row.key.target);
      protocols.insert(row.key.protocol);
      const auto target = std::make_shared<const target::Target>(target::host_target());
      const task::Task t = tune::task_of(e.task, target);
      const schedule::Trace trace = schedule::trace_from_json(row.best->trace, "task " + t.key);
      artifact::Kernel kernel;
      kernel.task = t.key;
      kernel.te = e.task.te;
      kernel.edges = e.task.edges;
      kernel.trace = tune::to_schedule(t, trace, "tuned").trace;
      kernel.origin = "tuned";
      program.kernels.push_back(std::move(kernel));
    }
  }
  check_one(targets, "target");
  check_one(protocols, "protocol");
  if (program.kernels.empty()) throw UserError("--lock: there is no verified record to write");
  program.target.name = cpu_of(*targets.begin());
  files::write_file(file, artifact::lock_text(program));
}

Json best_list_json(const std::vector<TaskEntry>& list) {
  Json rows = Json::array();
  for (const TaskEntry& e : list) {
    for (const KeyEntry& row : e.keys) {
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

std::string best_list_text(const std::vector<TaskEntry>& list) {
  std::string text = fmt::format("{:<16}  {:<28} {:>10}  {:>8}  {:>8}  {:<18}  {}\n", "task",
                                 "label", "best", "GFLOP/s", "measured", "protocol", "target");
  for (const TaskEntry& e : list) {
    for (const KeyEntry& row : e.keys) {
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
  std::vector<TaskEntry> list = task_entries(*db, select(*db, options.select));
  for (TaskEntry& e : list) {
    std::erase_if(e.keys, [](const KeyEntry& row) { return !row.best || !row.best->verified; });
  }
  if (!options.lock.empty()) write_lock(options.lock, list);
  if (options.lock == "-") return kExitOk;
  console.answer(console.json() ? to_text(Json{{"schema", "tenon.db/1"},
                                               {"verb", "best"},
                                               {"best", best_list_json(list)}})
                                : best_list_text(list));
  return kExitOk;
}

}  // namespace tenon::tools
