// SPDX-License-Identifier: Apache-2.0
// tenon data ls: how much of what.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "history/likeness.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/data/verbs.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

struct Count {
  std::set<std::string> tasks;
  int64_t records = 0, programs = 0, failed = 0;
  size_t fewest = SIZE_MAX, most = 0;  // programs of a task
};

struct MachineCount {
  history::Where where;
  Count all;
  std::map<std::string, Count> kinds;
};

// "conv2.f32", "softmax"; what cannot be read is of no kind.
std::map<std::string, std::string> kinds_of(const db::Database& db, const target::Target& target) {
  const auto machine = std::make_shared<const target::Target>(target);
  std::map<std::string, std::string> out;
  for (const db::TaskRow& row : db.tasks()) {
    try {
      out[row.key] = history::likeness_of(history::task_of(row, machine)).kind;
    } catch (const UserError&) {
      out[row.key] = "unreadable";
    }
  }
  return out;
}

void add_task(Count& c, const std::string& task, const std::vector<task::Measurement>& rows) {
  std::map<std::string, bool> ran;  // by trace; the last word counts
  for (const task::Measurement& m : rows) ran[m.trace] = m.outcome == task::Outcome::kOk;
  c.tasks.insert(task);
  c.records += std::ssize(rows);
  c.programs += std::ssize(ran);
  c.fewest = std::min(c.fewest, ran.size());
  c.most = std::max(c.most, ran.size());
  for (const auto& [trace, ok] : ran) c.failed += ok ? 0 : 1;
}

MachineCount count(const db::Database& db, const history::Where& where,
                   const std::map<std::string, std::string>& kinds) {
  MachineCount out{where, {}, {}};
  std::map<std::string, std::vector<task::Measurement>> rows;
  for (task::Measurement& m : db.measurements({"", where.measured, where.protocol, ""})) {
    rows[m.task].push_back(std::move(m));
  }
  for (const auto& [task, measurements] : rows) {
    const auto kind = kinds.find(task);
    add_task(out.all, task, measurements);
    add_task(out.kinds[kind == kinds.end() ? "unknown" : kind->second], task, measurements);
  }
  return out;
}

Json count_json(const Count& c) {
  return {{"tasks", c.tasks.size()}, {"records", c.records}, {"programs", c.programs},
          {"failed", c.failed},      {"fewest", c.fewest},   {"most", c.most}};
}

std::string count_text(const Count& c) {
  return fmt::format("{:>5} {:>9} {:>8}  {} to {}", grouped(std::ssize(c.tasks)),
                     grouped(c.programs), grouped(c.failed),
                     grouped(static_cast<int64_t>(c.fewest)),
                     grouped(static_cast<int64_t>(c.most)));
}

std::string machine_text(const MachineCount& m) {
  std::string text = fmt::format("{}; {}\n  {:<32} tasks  programs   failed  of a task\n",
                                 escaped(m.where.measured), escaped(m.where.protocol), "");
  text += fmt::format("  {:<32} {}\n", "all", count_text(m.all));
  for (const auto& [kind, c] : m.kinds) {
    text += fmt::format("  {:<32} {}\n", escaped(kind), count_text(c));
  }
  return text;
}

}  // namespace

int data_ls(const DataVerbOptions& o, const Console& console) {
  const auto db = open_data(o);
  const auto all = machines(*db, o.select);
  const auto kinds = kinds_of(*db, *all[0].where.target);
  Json list = Json::array();
  std::string text;
  for (const Machine& m : all) {
    const MachineCount c = count(*db, m.where, kinds);
    Json by_kind = Json::object();
    for (const auto& [kind, n] : c.kinds) by_kind[kind] = count_json(n);
    Json j = {{"target", m.where.measured}, {"protocol", m.where.protocol}};
    j.update(count_json(c.all));
    j["kinds"] = by_kind;
    list.push_back(std::move(j));
    text += machine_text(c);
  }
  console.answer(console.json()
                     ? to_text(Json{{"schema", "tenon.data/1"}, {"verb", "ls"}, {"machines", list}})
                     : text);
  return kExitOk;
}

}  // namespace tenon::tools
