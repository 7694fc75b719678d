// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/db_source.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "support/check.h"

namespace tenon::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSqlite = "sqlite:";

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

std::unique_ptr<db::Database> open_db(const DbOptions& options) {
  const fs::path file = db_file(options);
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  if (error) {
    throw UserError(file.parent_path().string(), 0, 0,
                    fmt::format("this folder cannot be made: {}", error.message()),
                    "name another database with --db FILE");
  }
  return db::Database::open(file.string());
}

std::unique_ptr<db::Database> open_existing_db(const DbOptions& options) {
  open_db_to_read(options);  // throws for what is not there or no database
  return db::Database::open(db_file(options));
}

std::unique_ptr<db::Database> open_db_to_read(const DbOptions& options) {
  return db::Database::open_read_only(db_file(options));
}

}  // namespace tenon::tools
