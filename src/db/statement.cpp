// SPDX-License-Identifier: Apache-2.0
#include "db/statement.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <filesystem>

#include "support/check.h"

namespace tenon::db {
namespace {

namespace fs = std::filesystem;

constexpr double kPatienceS = 10;
constexpr useconds_t kBetweenTriesUs = 50'000;

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
      return "another process is writing to it";
    case SQLITE_CANTOPEN:
      return "the file or its folder is not there, or may not be used";
    default:
      return "";
  }
}

// SQLite says of all of these only that it is unable to open the file.
void check_place(const std::string& path, Connection::Mode mode) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    throw UserError(path, 0, 0, "database: this is a folder", "name a file in it");
  }
  if (mode == Connection::Mode::kReadOnly && !fs::exists(path, ignored)) {
    throw UserError(path, 0, 0, "database: there is no such file",
                    "tenon tune and tenon db import make one");
  }
}

// A file that nobody may write beside: SQLite reads it without the files that writers share.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    uri += std::isalnum(byte) != 0 || c == '/' || c == '.' || c == '-' || c == '_'
               ? std::string(1, c)
               : fmt::format("%{:02X}", byte);
  }
  return uri + "?immutable=1";
}

}  // namespace

Connection::Connection(const std::string& path, Mode mode, WhileBusy while_busy)
    : path_(path), while_busy_(std::move(while_busy)) {
  if (!while_busy_) while_busy_ = [](double waited_s) { return waited_s < kPatienceS; };
  check_place(path, mode);
  if (mode == Mode::kReadOnly) {
    open_read_only();
  } else if (const int code = open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) {
    fail(code);
  }
}

int Connection::on_busy(void* connection, int calls) {
  auto& c = *static_cast<Connection*>(connection);
  const auto now = std::chrono::steady_clock::now();
  if (calls == 0) c.busy_since_ = now;
  if (!c.while_busy_(std::chrono::duration<double>(now - c.busy_since_).count())) return 0;
  usleep(kBetweenTriesUs);
  return 1;
}

int Connection::open(const std::string& name, int flags) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(raw);
  if (raw != nullptr) sqlite3_extended_result_codes(raw, 1);
  if (raw != nullptr) sqlite3_busy_handler(raw, on_busy, this);
  return code;
}

void Connection::open_read_only() {
  const auto probe = [&] {
    return sqlite3_exec(handle_.get(), "PRAGMA schema_version", nullptr, nullptr, nullptr);
  };
  int code = open(path_, SQLITE_OPEN_READONLY);
  if (code == SQLITE_OK) code = probe();
  const int kind = code & 0xff;
  if (kind == SQLITE_CANTOPEN || kind == SQLITE_READONLY) {
    // The folder cannot be written to. Without a log of unfinished writes the file alone is all there is.
    std::error_code missing;
    const auto log_bytes = fs::file_size(path_ + "-wal", missing);
    if (missing || log_bytes == 0) {
      code = open(immutable_uri(path_), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
      if (code == SQLITE_OK) code = probe();
    }
  }
  if (code != SQLITE_OK) fail(code);
}

void Connection::fail(int code) const {
  const char* message = handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code);
  const std::string text = std::string("database: ") + message;
  if ((code & 0xff) == SQLITE_BUSY) throw Busy(path_, 0, 0, text, hint_for(code));
  throw UserError(path_, 0, 0, text, hint_for(code));
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
