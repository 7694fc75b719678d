// SPDX-License-Identifier: Apache-2.0
#include "db/db.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "db/schema.h"
#include "db/statement.h"
#include "support/check.h"

namespace tenon::db {
namespace {

constexpr const char* kColumns =
    "task, target, protocol, trace, outcome, seconds, best_s, median_s, low_s, high_s, build_s, "
    "run_s, error,"
    " verified, load1, mhz, run, time";

std::string now() {
  const auto t = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(t));
}

// Unlike any other run's, also of another machine's: databases are merged.
std::string new_run_id() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

// " WHERE task = ? AND ..." for what the filter names; bind_filter follows the same order.
std::string where(const Filter& f, const std::string& more = "") {
  std::string text;
  const auto add = [&](const std::string& condition) {
    text += (text.empty() ? " WHERE " : " AND ") + condition;
  };
  if (!f.task.empty()) add("task = ?");
  if (!f.target.empty()) add("target = ?");
  if (!f.protocol.empty()) add("protocol = ?");
  if (!f.run.empty()) add("run = ?");
  if (!more.empty()) add(more);
  return text;
}

void bind_filter(Statement& s, const Filter& f) {
  for (const std::string* v : {&f.task, &f.target, &f.protocol, &f.run}) {
    if (!v->empty()) s.bind(*v);
  }
}

task::Measurement read_row(const Statement& s) {
  task::Measurement m;
  m.task = s.text(0);
  m.target = s.text(1);
  m.protocol = s.text(2);
  m.trace = s.text(3);
  m.outcome = task::parse_outcome(s.text(4)).value_or(task::Outcome::kRefused);
  m.seconds = nlohmann::json::parse(s.text(5)).get<std::vector<double>>();
  m.best_s = s.real(6);
  m.median_s = s.real(7);
  m.low_s = s.real(8);
  m.high_s = s.real(9);
  m.build_s = s.real(10);
  m.run_s = s.real(11);
  m.error = s.text(12);
  m.verified = s.integer(13) != 0;
  m.load1 = s.real(14);
  m.mhz = s.real(15);
  m.run = s.text(16);
  m.time = s.integer(17);
  return m;
}

class SqliteDatabase : public Database {
 public:
  SqliteDatabase(const std::string& path, Connection::Mode mode) : c_(path, mode) {
    if (mode == Connection::Mode::kReadWrite) {
      c_.run("PRAGMA journal_mode = WAL");
      c_.run("PRAGMA synchronous = FULL");  // a committed row survives a power cut
      migrate(c_);
    } else {
      Statement s(c_, "SELECT count(*) FROM measurement");
      s.step();
    }
  }

  void add_task(const TaskRow& t) override {
    Statement s(c_, "INSERT OR IGNORE INTO task VALUES (?, ?, ?, ?, ?)");
    s.bind(t.key).bind(t.te).bind(t.edges).bind(t.label).bind(t.flops);
    s.step();
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

  std::optional<RunRow> unfinished(const std::string& command,
                                   const std::string& model) const override {
    std::optional<RunRow> newest;
    for (RunRow& r : runs()) {
      if (r.command == command && r.model == model) newest = std::move(r);
    }
    return newest && newest->finished.empty() ? newest : std::nullopt;
  }

  void add_event(const std::string& run, const EventRow& e) override {
    Statement s(c_, "INSERT INTO event (run, at_s, json) VALUES (?, ?, ?)");
    s.bind(run).bind(e.at_s).bind(e.json);
    s.step();
  }

  std::vector<EventRow> events(const std::string& run) const override {
    Statement s(c_, "SELECT at_s, json FROM event WHERE run = ? ORDER BY id");
    s.bind(run);
    std::vector<EventRow> out;
    while (s.step()) out.push_back({s.real(0), s.text(1)});
    return out;
  }

  void record(const std::vector<task::Measurement>& measurements) override {
    if (measurements.empty()) return;
    Transaction t(c_);
    Statement s(c_, fmt::format("INSERT INTO measurement ({}) VALUES "
                                "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                                kColumns));
    for (const task::Measurement& m : measurements) {
      s.bind(m.task).bind(m.target).bind(m.protocol).bind(m.trace).bind(to_string(m.outcome));
      s.bind(nlohmann::json(m.seconds).dump()).bind(m.best_s).bind(m.median_s).bind(m.low_s);
      s.bind(m.high_s).bind(m.build_s).bind(m.run_s).bind(m.error);
      s.bind(static_cast<int64_t>(m.verified)).bind(m.load1).bind(m.mhz).bind(m.run).bind(m.time);
      s.step();
      s.reset();
    }
    t.commit();
  }

  std::vector<task::Measurement> measurements(const Filter& f) const override {
    Statement s(c_, fmt::format("SELECT {} FROM measurement{} ORDER BY id", kColumns, where(f)));
    bind_filter(s, f);
    std::vector<task::Measurement> out;
    while (s.step()) out.push_back(read_row(s));
    return out;
  }

  // A trace that was ever found wrong is out, however fast it was another time.
  std::optional<task::Measurement> best(const Filter& f, bool verified_only) const override {
    const std::string more = std::string("outcome = 'ok'") +
                             (verified_only ? " AND verified = 1" : "") +
                             " AND NOT EXISTS (SELECT 1 FROM measurement w WHERE w.task = m.task "
                             "AND w.trace = m.trace AND"
                             " w.outcome = 'wrong')";
    Statement s(c_, fmt::format("SELECT {} FROM measurement m{} ORDER BY median_s, id LIMIT 1",
                                kColumns, where(f, more)));
    bind_filter(s, f);
    if (!s.step()) return std::nullopt;
    return read_row(s);
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

  std::string check() const override {
    Statement s(c_, "PRAGMA integrity_check");
    s.step();
    return s.text(0) == "ok" ? "" : s.text(0);
  }

  int64_t prune(const Filter& f, int64_t keep) override {
    Transaction t(c_);
    Statement s(
        c_,
        fmt::format(
            "DELETE FROM measurement WHERE id IN (SELECT id FROM (SELECT id, outcome,"
            " row_number() OVER (PARTITION BY task, target, protocol"
            "  ORDER BY outcome <> 'ok', median_s, id) AS place FROM measurement{})"
            " WHERE (outcome <> 'ok' AND outcome <> 'wrong') OR (outcome = 'ok' AND place > ?))",
            where(f)));
    bind_filter(s, f);
    s.bind(keep);
    s.step();
    const int64_t gone = sqlite3_changes64(c_.get());
    t.commit();
    return gone;
  }

 private:
  Connection c_;
};

}  // namespace

std::unique_ptr<Database> Database::open(const std::string& path) {
  return std::make_unique<SqliteDatabase>(path, Connection::Mode::kReadWrite);
}

std::unique_ptr<Database> Database::open_read_only(const std::string& path) {
  return std::make_unique<SqliteDatabase>(path, Connection::Mode::kReadOnly);
}

}  // namespace tenon::db
