// SPDX-License-Identifier: Apache-2.0
#include "db/schema.h"

#include <fmt/format.h>

#include "support/check.h"

namespace tenon::db {
namespace {

constexpr const char* kMigrations[] = {
    // 0 -> 1
    "CREATE TABLE task (key TEXT PRIMARY KEY, te TEXT NOT NULL, edges TEXT NOT NULL, label TEXT "
    "NOT NULL,"
    "                   flops REAL NOT NULL);"
    "CREATE TABLE run (id TEXT PRIMARY KEY, command TEXT NOT NULL, model TEXT NOT NULL, started "
    "TEXT NOT NULL,"
    "                  finished TEXT NOT NULL DEFAULT '');"
    "CREATE TABLE measurement (id INTEGER PRIMARY KEY, task TEXT NOT NULL, target TEXT NOT NULL,"
    "  protocol TEXT NOT NULL, trace TEXT NOT NULL, outcome TEXT NOT NULL, seconds TEXT NOT NULL,"
    "  best_s REAL NOT NULL, median_s REAL NOT NULL, low_s REAL NOT NULL, high_s REAL NOT NULL,"
    "  build_s REAL NOT NULL, run_s REAL NOT NULL, error TEXT NOT NULL, verified INTEGER NOT NULL,"
    "  load1 REAL NOT NULL, mhz REAL NOT NULL, run TEXT NOT NULL, time INTEGER NOT NULL);"
    "CREATE INDEX measurement_key ON measurement (task, target, protocol, outcome, median_s);"
    "CREATE INDEX measurement_run ON measurement (run);",
    // 1 -> 2
    "CREATE TABLE event (id INTEGER PRIMARY KEY, run TEXT NOT NULL, at_s REAL NOT NULL,"
    "                    json TEXT NOT NULL);"
    "CREATE INDEX event_run ON event (run);",
    // 2 -> 3
    "ALTER TABLE measurement ADD COLUMN handoff_ns REAL NOT NULL DEFAULT 0;",
    // 3 -> 4
    "ALTER TABLE measurement ADD COLUMN choices TEXT NOT NULL DEFAULT '';",
};

int version_of(const Connection& c) {
  Statement s(c, "PRAGMA user_version");
  s.step();
  return static_cast<int>(s.integer(0));
}

bool has_table(const Connection& c, const std::string& name) {
  Statement s(c, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND (? = '' OR name = ?)");
  s.bind(name).bind(name);
  return s.step();
}

void check_version(const Connection& c) {
  const int version = version_of(c);
  if (version > schema_version()) {
    throw UserError(c.path(), 0, 0,
                    fmt::format("database: its schema is version {}, this tenon knows up to {}",
                                version, schema_version()),
                    "use a newer tenon, or another file (--db)");
  }
  if (has_table(c, "") && (version <= 0 || !has_table(c, "measurement"))) {
    throw UserError(c.path(), 0, 0, "database: this is not tenon's", "use another file (--db)");
  }
}

}  // namespace

std::span<const char* const> migrations() { return kMigrations; }

void migrate(const Connection& c) {
  check_version(c);
  if (version_of(c) == schema_version()) return;
  Transaction t(c);
  // Read again: another process may have migrated while this one waited for the lock.
  for (int v = version_of(c); v < schema_version(); ++v) c.run(kMigrations[v]);
  c.run(fmt::format("PRAGMA user_version = {}", schema_version()).c_str());
  t.commit();
}

int readable_version(const Connection& c) {
  check_version(c);
  if (!has_table(c, "")) {
    throw UserError(c.path(), 0, 0, "database: this file is empty", "use another file (--db)");
  }
  return version_of(c);
}

}  // namespace tenon::db
