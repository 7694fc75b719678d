// SPDX-License-Identifier: Apache-2.0
// SQLite's C interface with owners for its handles; every failure is a UserError that names the file.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "db/busy.h"

namespace tenon::db {

struct CloseConnection {
  void operator()(sqlite3* c) const { sqlite3_close_v2(c); }
};

class Connection {
 public:
  // kReadOnly leaves no files behind and works in folders that cannot be written to.
  enum class Mode : uint8_t { kReadWrite, kReadOnly };
  Connection(const std::string& path, Mode mode, WhileBusy while_busy = {});
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  sqlite3* get() const { return handle_.get(); }
  const std::string& path() const { return path_; }
  void run(const char* sql) const;  // statements without results
  [[noreturn]] void fail(int code) const;

 private:
  int open(const std::string& name, int flags);
  void open_read_only();
  static int on_busy(void* connection, int calls);
  std::string path_;
  WhileBusy while_busy_;
  std::chrono::steady_clock::time_point busy_since_;
  std::unique_ptr<sqlite3, CloseConnection> handle_;
};

// All or nothing: rolled back unless commit() was reached.
class Transaction {
 public:
  explicit Transaction(const Connection& c) : c_(c) { c.run("BEGIN IMMEDIATE"); }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  const Connection& c_;
  bool open_ = true;
};

// A prepared statement: bind in order, then step through its rows.
class Statement {
 public:
  Statement(const Connection& c, const std::string& sql);
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(handle_); }

  Statement& bind(const std::string& v);
  Statement& bind(int64_t v);
  Statement& bind(double v);
  bool step();   // false: no more rows
  void reset();  // to bind and run again

  std::string text(int column) const;
  int64_t integer(int column) const { return sqlite3_column_int64(handle_, column); }
  double real(int column) const { return sqlite3_column_double(handle_, column); }

 private:
  void check(int code) const;
  const Connection& c_;
  sqlite3_stmt* handle_ = nullptr;
  int next_ = 1;
};

}  // namespace tenon::db
