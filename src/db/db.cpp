// SPDX-License-Identifier: Apache-2.0
#include "db/db.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <random>

#include "db/measurement_rows.h"
#include "db/schema.h"
#include "db/statement.h"
#include "support/check.h"

namespace tenon::db {
namespace {

std::string now() {
  const auto t = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(t));
}

// Unlike any other run's, also of another machine's: databases are merged.
std::string new_run_id() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

// All fields of a row as one text, different for different rows; it takes values as a Statement
// does.
class RowText {
 public:
  RowText& bind(const std::string& v) { return add(fmt::format("{} {}", v.size(), v)); }
  RowText& bind(int64_t v) { return add(fmt::format("{}", v)); }
  RowText& bind(double v) { return add(fmt::format("{:a}", v)); }
  const std::string& text() const { return text_; }

 private:
  RowText& add(const std::string& field) {
    text_ += field + ' ';
    return *this;
  }
  std::string text_;
};

class SqliteDatabase : public Database {
 public:
  SqliteDatabase(const std::string& path, Connection::Mode mode, WhileBusy while_busy)
      : c_(path, mode, std::move(while_busy)) {
    if (mode == Connection::Mode::kReadWrite) {
      c_.run("PRAGMA journal_mode = WAL");
      c_.run("PRAGMA synchronous = FULL");  // a committed row survives a power cut
      migrate(c_);
    }
    version_ = readable_version(c_);
  }

  void add_task(const TaskRow& t) override {
    Statement s(c_, "INSERT OR IGNORE INTO task VALUES (?, ?, ?, ?, ?)");
    s.bind(t.key).bind(t.te).bind(t.edges).bind(t.label).bind(t.flops);
    s.step();
  }

  std::unique_ptr<RunClaim> claim_runs(const std::string& command,
                                       const std::string& model) const override {
    return std::make_unique<RunClaim>(c_.path(), command, model);
  }

  std::string begin_run(const std::string& command, const std::string& model) override {
    const std::string id = new_run_id();
    Statement s(c_, "INSERT INTO run (id, command, model, started) VALUES (?, ?, ?, ?)");
    s.bind(id).bind(command).bind(model).bind(now());
    s.step();
    return id;
  }

  void end_run(const std::string& id) override {
    Statement s(c_, "UPDATE run SET finished = ? WHERE id = ?");
    s.bind(now()).bind(id);
    s.step();
  }

  std::optional<RunRow> unfinished(const std::string& command, const std::string& model,
                                   const std::function<bool(const RunRow&)>& mine) const override {
    std::optional<RunRow> newest;
    for (RunRow& r : runs()) {
      if (r.command == command && r.model == model && mine(r)) newest = std::move(r);
    }
    return newest && newest->finished.empty() ? newest : std::nullopt;
  }

  void add_event(const std::string& run, const EventRow& e) override {
    Statement s(c_, "INSERT INTO event (run, at_s, json) VALUES (?, ?, ?)");
    s.bind(run).bind(e.at_s).bind(e.json);
    s.step();
  }

  std::vector<EventRow> events(const std::string& run) const override {
    if (version_ < kVersionWithEvents) return {};
    Statement s(c_, "SELECT at_s, json FROM event WHERE run = ? ORDER BY id");
    s.bind(run);
    std::vector<EventRow> out;
    while (s.step()) out.push_back({s.real(0), s.text(1)});
    return out;
  }

  void record(const std::vector<task::Measurement>& measurements) override {
    if (measurements.empty()) return;
    Transaction t(c_);
    Statement s(c_, fmt::format(kInsert, kColumns));
    for (const task::Measurement& m : measurements) {
      bind_measurement(s, m);
      s.step();
      s.reset();
    }
    t.commit();
  }

  Added add(const std::vector<Rows>& parts) override {
    Transaction t(c_);
    Added added;
    for (const Rows& r : parts) add_part(r, added);
    t.commit();
    return added;
  }

  std::vector<task::Measurement> measurements(const Filter& f) const override {
    Statement s(c_, fmt::format("SELECT {} FROM measurement{} ORDER BY id", columns(), where(f)));
    bind_filter(s, f);
    std::vector<task::Measurement> out;
    while (s.step()) out.push_back(read_row(s));
    return out;
  }

  // A trace that was ever found wrong is out, however fast it was another time.
  std::optional<task::Measurement> best(const Filter& f, bool verified_only) const override {
    const std::string more = std::string(kRan) + (verified_only ? " AND verified = 1" : "") +
                             " AND NOT EXISTS (SELECT 1 FROM measurement w WHERE w.task = m.task "
                             "AND w.trace = m.trace AND"
                             " w.outcome = 'wrong')";
    Statement s(c_, fmt::format("SELECT {} FROM measurement m{} ORDER BY median_s, id", columns(),
                                where(f, more)));
    bind_filter(s, f);
    while (s.step()) {
      task::Measurement m = read_row(s);
      if (m.outcome == task::Outcome::kOk) return m;
    }
    return std::nullopt;
  }

  std::vector<TaskRow> tasks() const override {
    Statement s(c_, "SELECT key, te, edges, label, flops FROM task ORDER BY rowid");
    std::vector<TaskRow> out;
    while (s.step()) out.push_back({s.text(0), s.text(1), s.text(2), s.text(3), s.real(4)});
    return out;
  }

  std::vector<RunRow> runs() const override {
    Statement s(
        c_,
        "SELECT r.id, command, model, started, finished, count(m.id),"
        " coalesce(sum(m.outcome <> 'ok'), 0)"
        " FROM run r LEFT JOIN measurement m ON m.run = r.id GROUP BY r.id ORDER BY r.rowid");
    std::vector<RunRow> out;
    while (s.step()) {
      out.push_back(
          {s.text(0), s.text(1), s.text(2), s.text(3), s.text(4), s.integer(5), s.integer(6)});
    }
    return out;
  }

  std::vector<Group> groups(const Filter& f) const override {
    Statement s(c_, fmt::format("SELECT task, target, protocol, run, outcome, count(*),"
                                " sum(verified), sum(build_s), sum(run_s), min(time), max(time)"
                                " FROM measurement{} GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5",
                                where(f)));
    bind_filter(s, f);
    std::vector<Group> out;
    while (s.step()) {
      out.push_back({s.text(0), s.text(1), s.text(2), s.text(3), read_outcome(s.text(4)),
                     s.integer(5), s.integer(6), s.real(7), s.real(8), s.integer(9),
                     s.integer(10)});
    }
    return out;
  }

  int schema_version() const override { return version_; }

  std::string check() const override {
    Statement s(c_, "PRAGMA integrity_check");
    s.step();
    return s.text(0) == "ok" ? "" : s.text(0);
  }

  int64_t prune(const Filter& f, int64_t keep) override {
    Transaction t(c_);
    Statement s(c_, fmt::format("DELETE FROM measurement WHERE id IN ({})", prunable_rows(f)));
    bind_filter(s, f);
    s.bind(keep);
    s.step();
    const int64_t gone = changes();
    t.commit();
    return gone;
  }

  void compact() override {
    sqlite3_exec(c_.get(), "VACUUM", nullptr, nullptr, nullptr);
    sqlite3_exec(c_.get(), "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr);
  }

  int64_t prunable(const Filter& f, int64_t keep) const override {
    Statement s(c_, fmt::format("SELECT count(*) FROM ({})", prunable_rows(f)));
    bind_filter(s, f);
    s.bind(keep);
    s.step();
    return s.integer(0);
  }

 private:
  static constexpr int kVersionWithEvents = 2, kVersionWithHandoff = 3, kVersionWithChoices = 4;

  // A file that was opened only to be read has what its version has.
  std::string columns() const {
    std::string names = kColumns;
    const auto stand_in = [&](int since, std::string_view column, const char* value) {
      if (version_ < since) names.replace(names.find(column), column.size(), value);
    };
    stand_in(kVersionWithHandoff, "handoff_ns", "0");
    stand_in(kVersionWithChoices, "choices", "''");
    return names;
  }

  int64_t changes() const { return sqlite3_changes64(c_.get()); }

  void add_part(const Rows& r, Added& added) {
    for (const TaskRow& row : r.tasks) {
      add_task(row);
      ++(changes() > 0 ? added.tasks : added.known);
    }
    for (const RunRow& row : r.runs) ++(add_run(row) ? added.runs : added.known);
    add_missing(
        r.events, "SELECT count(*) FROM event WHERE run = ? AND at_s = ? AND json = ?",
        "INSERT INTO event (run, at_s, json) VALUES (?, ?, ?)",
        [](auto& s, const RunEvent& e) { s.bind(e.run).bind(e.event.at_s).bind(e.event.json); },
        added.events, added.known);
    add_missing(
        r.measurements,
        fmt::format("SELECT count(*) FROM measurement WHERE ({}) ="
                    " (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                    kColumns),
        fmt::format(kInsert, kColumns),
        [](auto& s, const task::Measurement& m) { bind_measurement(s, m); }, added.measurements,
        added.known);
  }

  // A run that is known and was going on may have come to its end elsewhere.
  bool add_run(const RunRow& r) {
    Statement s(c_, "INSERT OR IGNORE INTO run VALUES (?, ?, ?, ?, ?)");
    s.bind(r.id).bind(r.command).bind(r.model).bind(r.started).bind(r.finished);
    s.step();
    if (changes() > 0) return true;
    Statement end(c_, "UPDATE run SET finished = ? WHERE id = ? AND finished = '' AND ? <> ''");
    end.bind(r.finished).bind(r.id).bind(r.finished);
    end.step();
    return false;
  }

  // The same row twice in `rows` is twice in the database, unless it was there twice before.
  template <class Row, class Bind>
  void add_missing(const std::vector<Row>& rows, const std::string& count,
                   const std::string& insert, const Bind& bind, int64_t& added, int64_t& known) {
    Statement counting(c_, count);
    Statement inserting(c_, insert);
    std::map<std::string, int64_t> there;  // by all fields: how many were there before, not yet met
    for (const Row& row : rows) {
      RowText key;
      bind(key, row);
      const auto [it, first] = there.emplace(key.text(), 0);
      if (first) {
        bind(counting, row);
        counting.step();
        it->second = counting.integer(0);
        counting.reset();
      }
      if (it->second > 0) {
        --it->second;
        ++known;
      } else {
        bind(inserting, row);
        inserting.step();
        inserting.reset();
        ++added;
      }
    }
  }

  Connection c_;
  int version_ = 0;
};

}  // namespace

std::unique_ptr<Database> Database::open(const std::string& path, WhileBusy while_busy) {
  return std::make_unique<SqliteDatabase>(path, Connection::Mode::kReadWrite,
                                          std::move(while_busy));
}

std::unique_ptr<Database> Database::open_read_only(const std::string& path, WhileBusy while_busy) {
  return std::make_unique<SqliteDatabase>(path, Connection::Mode::kReadOnly, std::move(while_busy));
}

}  // namespace tenon::db
