// SPDX-License-Identifier: Apache-2.0
// tenon model ls: the models beside a database, and those that ship.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "history/renew.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/model/verbs.h"
#include "tools/tenon/helper_tools.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

namespace fs = std::filesystem;

struct Row {
  fs::path path;
  history::FoundModel found;
  bool shipped = false;
  int64_t since = -1;  // records that came after it was trained; -1: not known
};

// "5 min", "3 h", "12 d"
std::string age_text(int64_t seconds) {
  struct Unit {
    int64_t seconds;
    const char* name;
  };
  constexpr Unit kUnits[] = {{86400, "d"}, {3600, "h"}, {60, "min"}};
  for (const Unit& u : kUnits) {
    if (seconds >= u.seconds) return fmt::format("{} {}", seconds / u.seconds, u.name);
  }
  return fmt::format("{} s", std::max<int64_t>(0, seconds));
}

int64_t age_of(const history::Card& c) {
  return static_cast<int64_t>(std::time(nullptr)) - c.trained_at;
}

int64_t rows_since(const db::Database& db, const history::Card& c) {
  const int64_t now = history::count_rows(db, {nullptr, c.target, c.protocol});
  return std::max<int64_t>(0, now - c.rows);
}

bool meant(const history::FoundModel& f, const history::SelectionOptions& o) {
  if (!f.file) return o.target.empty() && o.protocol.empty();
  const history::Card& c = f.file->card;
  return matches_target(c.target, with_host(o)) && c.protocol.find(o.protocol) != std::string::npos;
}

std::vector<Row> rows_of(const ModelVerbOptions& o) {
  std::unique_ptr<db::Database> db;
  const std::string file = db_file(o.db);
  if (std::error_code ignored; !o.db.file.empty() || fs::exists(file, ignored)) {
    db = open_db_to_read(o.db);
  }
  std::vector<Row> rows;
  const auto add = [&](const fs::path& folder, bool shipped) {
    for (const fs::path& path : history::model_files(folder)) {
      Row r{path, history::read_model(path), shipped};
      if (!meant(r.found, o.select)) continue;
      if (!shipped && db != nullptr && r.found.file) r.since = rows_since(*db, r.found.file->card);
      rows.push_back(std::move(r));
    }
  };
  add(history::models_folder(file), false);
  for (const fs::path& place : history::shipped_places(program_folder())) add(place, true);
  return rows;
}

Json row_json(const Row& r) {
  Json j = {{"file", r.path.string()}, {"shipped", r.shipped}};
  if (!r.found.file) {
    j["problem"] = r.found.why;
    return j;
  }
  const history::Card& c = r.found.file->card;
  j.update(card_json(c));
  j["age_s"] = c.trained_at > 0 ? Json(age_of(c)) : Json();
  j["records_since"] = r.since >= 0 ? Json(r.since) : Json();
  return j;
}

std::string row_text(const Row& r) {
  if (!r.found.file) {
    return fmt::format("{}: {}; the next run trains it again\n", escaped(r.path.string()),
                       escaped(r.found.why));
  }
  const history::Card& c = r.found.file->card;
  std::string text = fmt::format("{}  {} records of {} tasks", escaped(c.model), grouped(c.records),
                                 grouped(std::ssize(c.tasks)));
  if (c.trained_at > 0) text += fmt::format(", {} old", age_text(age_of(c)));
  if (r.since > 0) text += fmt::format(", {} records since", grouped(r.since));
  if (r.shipped) text += ", ships with tenon";
  return text + fmt::format("\n  {}\n  {}; {}\n  {}\n", scores_text(c.scores), escaped(c.target),
                            escaped(c.protocol), escaped(r.path.string()));
}

}  // namespace

int model_ls(const ModelVerbOptions& options, const Console& console) {
  Json list = Json::array();
  std::string text;
  for (const Row& r : rows_of(options)) {
    list.push_back(row_json(r));
    text += row_text(r);
  }
  if (text.empty()) text = "there are no trained models yet; tenon tune leaves one\n";
  console.answer(console.json()
                     ? to_text(Json{{"schema", "tenon.model/1"}, {"verb", "ls"}, {"models", list}})
                     : text);
  return kExitOk;
}

}  // namespace tenon::tools
