// SPDX-License-Identifier: Apache-2.0
#include "history/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "db/find_run.h"
#include "support/check.h"
#include "support/nearest.h"

namespace tenon::history {
namespace {

bool matches_task(const db::TaskRow& t, const std::string& text) {
  return text.empty() || t.key.starts_with(text) || t.label == text ||
         fnmatch(text.c_str(), t.label.c_str(), 0) == 0;
}

// Rows of tasks, and a bare one for each key that was measured without one.
std::vector<db::TaskRow> all_tasks(const db::Database& db, const std::vector<db::Group>& groups) {
  std::vector<db::TaskRow> tasks = db.tasks();
  std::set<std::string> known;
  for (const db::TaskRow& t : tasks) known.insert(t.key);
  for (const db::Group& g : groups) {
    if (known.insert(g.task).second) tasks.push_back({g.task, "", "", "", 0});
  }
  return tasks;
}

void check_found(bool found, const char* option, const std::string& text,
                 const std::set<std::string>& there) {
  if (text.empty() || found) return;
  const std::vector<std::string> words(there.begin(), there.end());
  std::string have = fmt::format("there are: {}", fmt::join(words, " | "));
  if (words.empty()) have = "there are none";
  throw UserError(fmt::format("no record answers to {} '{}'", option, text),
                  words.size() <= 4 ? have : did_you_mean(text, words, "tenon db ls lists them"));
}

// Of the wanted tasks: those whose target and protocol are meant.
std::map<RecordKey, std::vector<db::Group>> select_keys(const std::vector<db::Group>& groups,
                                                        const std::set<std::string>& wanted,
                                                        const SelectionOptions& o) {
  std::map<RecordKey, std::vector<db::Group>> keys;
  std::set<std::string> targets, protocols;
  bool target_found = false, protocol_found = false;
  for (const db::Group& g : groups) {
    if (!wanted.contains(g.task)) continue;
    const bool target = matches_target(g.target, o);
    const bool protocol = g.protocol.find(o.protocol) != std::string::npos;
    targets.insert(g.target);
    protocols.insert(g.protocol);
    target_found |= target;
    protocol_found |= protocol;
    if (target && protocol) keys[{g.task, g.target, g.protocol}].push_back(g);
  }
  check_found(target_found, "--target", o.target, targets);
  check_found(protocol_found, "--protocol", o.protocol, protocols);
  return keys;
}

}  // namespace

bool matches_target(const std::string& fingerprint, const SelectionOptions& o) {
  if (o.target != "host") return fingerprint.find(o.target) != std::string::npos;
  TENON_CHECK(!o.host.empty());
  return fingerprint == o.host;
}

bool Selection::has(const task::Measurement& m) const {
  return (run.empty() || run == m.run) && keys.contains({m.task, m.target, m.protocol});
}

std::vector<RecordKey> Selection::keys_of(const std::string& task) const {
  std::vector<RecordKey> list;
  for (const auto& [key, groups] : keys) {
    if (key.task == task) list.push_back(key);
  }
  return list;
}

Selection select(const db::Database& db, const SelectionOptions& o) {
  Selection s;
  if (!o.run.empty()) s.run = db::find_run(db, o.run);
  const std::vector<db::Group> groups =
      db.groups({.task = "", .target = "", .protocol = "", .run = s.run});
  std::set<std::string> wanted, names;
  std::vector<db::TaskRow> tasks;
  for (db::TaskRow& t : all_tasks(db, groups)) {
    names.insert(t.label.empty() ? t.key : t.label);
    if (!matches_task(t, o.task)) continue;
    wanted.insert(t.key);
    tasks.push_back(std::move(t));
  }
  check_found(!tasks.empty(), "--task", o.task, names);
  s.keys = select_keys(groups, wanted, o);
  const bool measured_only = !(o.target + o.protocol + o.run).empty();
  for (db::TaskRow& t : tasks) {
    if (!measured_only || !s.keys_of(t.key).empty()) s.tasks.push_back(std::move(t));
  }
  return s;
}

TaskHistory history_of(const db::Database& db, const Selection& selection, const RecordKey& key) {
  TaskHistory history;
  for (const task::Measurement& m :
       db.measurements({key.task, key.target, key.protocol, selection.run})) {
    history.add(m);
  }
  return history;
}

const db::TaskRow& find_task(const std::vector<db::TaskRow>& tasks, const std::string& name) {
  std::vector<const db::TaskRow*> found;
  std::vector<std::string> names;
  for (const db::TaskRow& t : tasks) {
    if (t.key.starts_with(name) || t.label == name) found.push_back(&t);
    names.push_back(t.key);
    if (!t.label.empty()) names.push_back(t.label);
  }
  if (found.empty()) {
    throw UserError(fmt::format("there is no task '{}'", name),
                    did_you_mean(name, names, "tenon db ls lists them"));
  }
  if (found.size() > 1) {
    std::vector<std::string> keys;
    for (const db::TaskRow* t : found) keys.push_back(t->key);
    throw UserError(fmt::format("'{}' means {} tasks", name, found.size()),
                    fmt::format("{}", fmt::join(keys, ", ")));
  }
  return *found[0];
}

void Tally::add(const db::Group& g) {
  measured += g.count;
  verified += g.verified;
  failed += g.outcome == task::Outcome::kOk ? 0 : g.count;
  outcomes[to_string(g.outcome)] += g.count;
}

std::vector<TaskRecords> records_of(const db::Database& db, const Selection& s) {
  std::vector<TaskRecords> list;
  for (const db::TaskRow& t : s.tasks) {
    TaskRecords e{t, {}};
    for (const RecordKey& key : s.keys_of(t.key)) {
      KeyRecords entry{key, {}, {}};
      for (const db::Group& g : s.keys.at(key)) entry.tally.add(g);
      const TaskHistory history = history_of(db, s, key);
      const task::Measurement* best = history.best(true);
      if (best == nullptr) best = history.best(false);
      if (best != nullptr) entry.best = *best;
      e.keys.push_back(std::move(entry));
    }
    list.push_back(std::move(e));
  }
  return list;
}

}  // namespace tenon::history
