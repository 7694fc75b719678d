// SPDX-License-Identifier: Apache-2.0
// The database that a command works on: --db FILE, or the user's own.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "db/db.h"
#include "tools/tenon/console.h"

namespace tenon::tools {

struct DbOptions {
  std::string file;  // as given, also "sqlite:FILE"; empty: default_db_file()
};

// $XDG_STATE_HOME/tenon/tenon.db, else ~/.local/state/tenon/tenon.db. Throws UserError if neither is set.
std::string default_db_file();

// --db.
void add_db_option(CLI::App& command, DbOptions& options);

// The file that the options mean. Throws UserError for kinds of databases that there are not.
std::string db_file(const DbOptions& options);

// Waits for as long as another process writes to the file, says once who it is, and gives up when `stop` says so.
db::WhileBusy wait_for_writer(const DbOptions& options, std::function<void(const std::string&)> say,
                              std::function<bool()> stop = {});
db::WhileBusy wait_for_writer(const DbOptions& options, const Console& console);

// Made, with its folder, where there is none yet.
std::unique_ptr<db::Database> open_db(const DbOptions& options, db::WhileBusy while_busy);
// To change what is there already: a file that is missing is not made.
std::unique_ptr<db::Database> open_existing_db(const DbOptions& options, db::WhileBusy while_busy);
std::unique_ptr<db::Database> open_db_to_read(const DbOptions& options);
// All that an export ('-': standard input; also one packed by zstd) or a database holds.
db::Rows read_records(const std::string& file);
// Both alike, as a database to read.
std::unique_ptr<db::Database> open_records(const std::string& file);

}  // namespace tenon::tools
