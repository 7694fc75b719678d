// SPDX-License-Identifier: Apache-2.0
// tenon db prune, verify: keeping a database small and right.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>

#include "measure/measure.h"
#include "tools/tenon/command.h"
#include "tools/tenon/db_verbs.h"
#include "tools/tenon/helper_tools.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"
#include "tune/records.h"

namespace tenon::tools {
namespace {

void confirm(const DbVerbOptions& options, int64_t rows, const Console& console) {
  if (options.yes || rows == 0) return;
  if (!options.ask) {
    throw UserError(fmt::format("{} measurements would be removed; nothing was", grouped(rows)),
                    "--yes removes them, --dry-run only counts");
  }
  console.error("question", fmt::format("remove {} measurements from {}? [y/N]", grouped(rows),
                                        db_file(options.db)));
  std::string word;
  std::getline(std::cin, word);
  if (word != "y" && word != "Y" && word != "yes") throw UserError("nothing was removed");
}

struct Checked {
  RecordKey key;
  std::string label;
  std::string trace;
  double median_s = 0;
  std::string wrong;  // empty: right
};

// The target that records on this machine name so; null: another machine's.
std::shared_ptr<const target::Target> target_here(const std::string& measured) {
  std::vector<target::Target> all = target::known_targets();
  all.insert(all.begin(), target::host_target());
  for (const target::Target& t : all) {
    if (measure::measured_target(t) == measured) return std::make_shared<const target::Target>(t);
  }
  return nullptr;
}

// Measurers are made once for each protocol.
class Verifier {
 public:
  Verifier(db::Database& db, const DbVerbOptions& options) : db_(db), options_(options) {}

  // The best, and if it is wrong, the next, until one is right.
  void check(const task::Task& t, const RecordKey& key, std::vector<Checked>& out) {
    for (;;) {
      const tune::Known known = known_of(db_, {}, key);
      const task::Measurement* best = known.best(true);
      if (best == nullptr) return;
      Checked c{key, t.label, best->trace, best->median_s, ""};
      c.wrong = measurer(key.protocol).verify(t, schedule::trace_from_json(best->trace));
      out.push_back(c);
      if (c.wrong.empty()) return;
      db_.record({wrong_record(*best, c.wrong)});
    }
  }

 private:
  measure::Measurer& measurer(const std::string& protocol) {
    auto& m = measurers_[protocol];
    if (m == nullptr) {
      measure::DeviceOptions o;
      o.protocol = task::parse_protocol(protocol);
      o.build_tool = find_helper_tool("tenon-build", options_.build_tool);
      o.run_tool = find_helper_tool("tenon-run", options_.run_tool);
      m = measure::device_measurer(o);
    }
    return *m;
  }

  static task::Measurement wrong_record(const task::Measurement& of, const std::string& why) {
    task::Measurement m;
    m.task = of.task;
    m.target = of.target;
    m.protocol = of.protocol;
    m.trace = of.trace;
    m.outcome = task::Outcome::kWrong;
    m.error = why;
    m.verified = true;
    m.run = of.run;
    m.time = std::chrono::duration_cast<std::chrono::seconds>(
                 std::chrono::system_clock::now().time_since_epoch())
                 .count();
    return m;
  }

  db::Database& db_;
  const DbVerbOptions& options_;
  std::map<std::string, std::unique_ptr<measure::Measurer>> measurers_;
};

// Tasks whose text is not what their key says; records of them are of no use.
std::vector<std::string> damaged_tasks(const std::vector<db::TaskRow>& tasks) {
  const auto target = std::make_shared<const target::Target>(target::host_target());
  std::vector<std::string> faults;
  for (const db::TaskRow& t : tasks) {
    if (t.te.empty()) continue;
    try {
      tune::task_of(t, target);
    } catch (const UserError& e) {
      faults.push_back(fmt::format("task {}: {}", t.key, e.what()));
    }
  }
  return faults;
}

struct Verified {
  size_t tasks = 0;
  std::vector<std::string> faults;
  std::vector<Checked> checked;
  size_t elsewhere = 0;  // keys of other machines
};

Verified verify(const DbVerbOptions& options, const Console& console) {
  const auto db = options.records ? open_existing_db(options.db) : open_db_to_read(options.db);
  Verified v;
  if (const std::string why = db->check(); !why.empty()) {
    throw UserError(db_file(options.db), 0, 0, "database: damaged: " + why,
                    "restore it from an export (tenon db import)");
  }
  const Selection s = select(*db, options.select);
  v.tasks = s.tasks.size();
  v.faults = damaged_tasks(s.tasks);
  if (!options.records || !v.faults.empty()) return v;
  Verifier verifier(*db, options);
  Progress progress(console, "verifying");
  size_t done = 0;
  for (const db::TaskRow& t : s.tasks) {
    progress.at(static_cast<double>(done++) / static_cast<double>(s.tasks.size()), t.label);
    for (const RecordKey& key : s.keys_of(t.key)) {
      const auto target = target_here(key.target);
      if (target == nullptr || !target::runs_here(*target) || t.te.empty()) {
        ++v.elsewhere;
      } else {
        verifier.check(tune::task_of(t, target), key, v.checked);
      }
    }
  }
  return v;
}

Json to_json(const Verified& v, const std::string& file) {
  Json checked = Json::array();
  for (const Checked& c : v.checked) {
    checked.push_back({{"task", c.key.task},
                       {"label", c.label},
                       {"protocol", c.key.protocol},
                       {"median_s", c.median_s},
                       {"right", c.wrong.empty()},
                       {"why", c.wrong},
                       {"trace", Json::parse(c.trace, nullptr, false)}});
  }
  return {{"schema", "tenon.db/1"},    {"verb", "verify"},        {"file", file},
          {"sound", v.faults.empty()}, {"faults", v.faults},      {"tasks", v.tasks},
          {"checked", checked},        {"elsewhere", v.elsewhere}};
}

std::string to_text(const Verified& v, const DbVerbOptions& options) {
  std::string text = fmt::format("{}  {} tasks\n", db_file(options.db), v.tasks);
  for (const std::string& fault : v.faults) text += fmt::format("damaged  {}\n", fault);
  if (v.faults.empty()) text += "sound    the file and the text of every task\n";
  for (const Checked& c : v.checked) {
    text += fmt::format("{:<8} {}  {:<28} {:>10}  {}{}\n", c.wrong.empty() ? "right" : "wrong",
                        escaped(c.key.task), escaped(c.label), time_text(c.median_s),
                        escaped(c.key.protocol), c.wrong.empty() ? "" : ": " + c.wrong);
  }
  if (v.elsewhere > 0) {
    text += fmt::format("skipped  {} records of other machines\n", v.elsewhere);
  }
  return text;
}

}  // namespace

int db_prune(const DbVerbOptions& options, const Console& console) {
  const auto db = options.dry_run ? open_db_to_read(options.db) : open_existing_db(options.db);
  const Selection s = select(*db, options.select);
  int64_t rows = 0, before = 0;
  for (const auto& [key, groups] : s.keys) {
    rows += db->prunable({key.task, key.target, key.protocol, s.run}, options.keep);
    for (const db::Group& g : groups) before += g.count;
  }
  if (!options.dry_run) {
    confirm(options, rows, console);
    rows = 0;
    for (const auto& [key, groups] : s.keys) {
      rows += db->prune({key.task, key.target, key.protocol, s.run}, options.keep);
    }
    if (rows > 0) db->compact();
  }
  const Json answer = {
      {"schema", "tenon.db/1"},     {"verb", "prune"}, {"file", db_file(options.db)},
      {"dry_run", options.dry_run}, {"removed", rows}, {"kept", before - rows}};
  console.answer(console.json() ? tools::to_text(answer)
                                : fmt::format("{}: {} of {} measurements {}\n", db_file(options.db),
                                              grouped(rows), grouped(before),
                                              options.dry_run ? "would be removed" : "removed"));
  return kExitOk;
}

int db_verify(const DbVerbOptions& options, const Console& console) {
  const Verified v = verify(options, console);
  console.answer(console.json() ? tools::to_text(to_json(v, db_file(options.db)))
                                : to_text(v, options));
  if (!v.faults.empty()) {
    throw UserError(db_file(options.db), 0, 0,
                    fmt::format("database: {} tasks are damaged", v.faults.size()));
  }
  const auto wrong = std::count_if(v.checked.begin(), v.checked.end(),
                                   [](const Checked& c) { return !c.wrong.empty(); });
  if (wrong > 0) {
    throw CommandError(kExitMismatch,
                       fmt::format("{}: {} records compute something else than their tasks; they "
                                   "are marked as wrong and will not be used",
                                   db_file(options.db), wrong));
  }
  return kExitOk;
}

}  // namespace tenon::tools
