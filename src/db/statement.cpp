// SPDX-License-Identifier: Apache-2.0
#include "db/statement.h"

#include "support/check.h"

namespace tenon::db {
namespace {

constexpr int kBusyTimeoutMs = 10'000;

std::string hint_for(int code) {
  switch (code & 0xff) {
    case SQLITE_READONLY:
      return "the file or its folder cannot be written to";
    case SQLITE_FULL:
      return "no room is left on the device; what was recorded before is safe";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "move the file away, or restore it from an export (tenon db export)";
    case SQLITE_BUSY:
      return "another process has been writing for too long";
    default:
      return "";
  }
}

}  // namespace

Connection::Connection(const std::string& path, Mode mode) : path_(path) {
  sqlite3* raw = nullptr;
  const int flags =
      mode == Mode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(raw);
  if (code != SQLITE_OK) fail(code);
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, kBusyTimeoutMs);
}

void Connection::fail(int code) const {
  const char* message = handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code);
  throw UserError(path_, 0, 0, std::string("database: ") + message, hint_for(code));
}

void Connection::run(const char* sql) const {
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

void Transaction::commit() {
  c_.run("COMMIT");
  open_ = false;
}

Transaction::~Transaction() {
  if (open_) sqlite3_exec(c_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Statement::Statement(const Connection& c, const std::string& sql) : c_(c) {
  check(sqlite3_prepare_v2(c.get(), sql.c_str(), -1, &handle_, nullptr));
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) c_.fail(code);
}

Statement& Statement::bind(const std::string& v) {
  check(sqlite3_bind_text64(handle_, next_++, v.data(), v.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}
Statement& Statement::bind(int64_t v) {
  check(sqlite3_bind_int64(handle_, next_++, v));
  return *this;
}
Statement& Statement::bind(double v) {
  check(sqlite3_bind_double(handle_, next_++, v));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) c_.fail(code);
  return code == SQLITE_ROW;
}

void Statement::reset() {
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
  next_ = 1;
}

std::string Statement::text(int column) const {
  const auto* bytes = sqlite3_column_text(handle_, column);
  const int size = sqlite3_column_bytes(handle_, column);
  return bytes == nullptr
             ? ""
             : std::string(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
}

}  // namespace tenon::db
