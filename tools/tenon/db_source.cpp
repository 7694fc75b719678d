// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/db_source.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "db/records.h"
#include "files/file.h"
#include "files/folder.h"
#include "files/packed.h"
#include "support/check.h"

namespace tenon::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSqlite = "sqlite:";
constexpr double kQuietWaitS = 3;  // writers are done in less, as a rule

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string default_db_file() {
  const std::string state = variable("XDG_STATE_HOME");
  const std::string home = variable("HOME");
  if (state.empty() && home.empty()) {
    throw UserError("neither XDG_STATE_HOME nor HOME is set", "name a database with --db FILE");
  }
  const fs::path folder = state.empty() ? fs::path(home) / ".local" / "state" : fs::path(state);
  return (folder / "tenon" / "tenon.db").string();
}

void add_db_option(CLI::App& command, DbOptions& options) {
  command
      .add_option("--db", options.file,
                  "Database of records (default: $XDG_STATE_HOME/tenon/tenon.db, else "
                  "~/.local/state/tenon/tenon.db)")
      ->type_name("FILE");
}

std::string db_file(const DbOptions& options) {
  if (options.file.empty()) return default_db_file();
  if (options.file.find("://") != std::string::npos) {
    throw UserError(fmt::format("--db {}: only SQLite files can be used", options.file));
  }
  return options.file.starts_with(kSqlite) ? options.file.substr(kSqlite.size()) : options.file;
}

db::WhileBusy wait_for_writer(const DbOptions& options, std::function<void(const std::string&)> say,
                              std::function<bool()> stop) {
  // One wait may follow another; each is told of.
  return [=, file = db_file(options), told_s = 0.0](double waited_s) mutable {
    if (stop && stop()) return false;
    if (waited_s < told_s) told_s = 0;
    if (waited_s >= kQuietWaitS && told_s == 0) {
      const std::string who = db::writer_of(file);
      say(fmt::format("waiting for another process that writes to {}{}", file,
                      who.empty() ? "" : fmt::format(" ({})", who)));
      told_s = waited_s;
    }
    return true;
  };
}

db::WhileBusy wait_for_writer(const DbOptions& options, const Console& console) {
  return wait_for_writer(options, [&console](const std::string& text) { console.warn(text); });
}

std::unique_ptr<db::Database> open_db(const DbOptions& options, db::WhileBusy while_busy) {
  const fs::path file = db_file(options);
  if (file.has_parent_path()) {
    files::make_folder(file.parent_path(), "name another database with --db FILE");
  }
  return db::Database::open(file.string(), std::move(while_busy));
}

std::unique_ptr<db::Database> open_existing_db(const DbOptions& options, db::WhileBusy while_busy) {
  open_db_to_read(options);  // throws for what is not there or no database
  return db::Database::open(db_file(options), std::move(while_busy));
}

std::unique_ptr<db::Database> open_db_to_read(const DbOptions& options) {
  return db::Database::open_read_only(db_file(options));
}

db::Rows read_records(const std::string& file) {
  if (file != "-" && db::is_database_file(file)) {
    return db::all_records(*db::Database::open_read_only(file));
  }
  return db::records_from_json_lines(files::read_maybe_packed(file), files::display_name(file));
}

std::unique_ptr<db::Database> open_records(const std::string& file) {
  if (file != "-" && db::is_database_file(file)) return db::Database::open_read_only(file);
  auto db = db::Database::open(":memory:");
  db->add({read_records(file)});
  return db;
}

}  // namespace tenon::tools
