// SPDX-License-Identifier: Apache-2.0
#include "db/records.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "support/check.h"

namespace tenon::db {
namespace {

using Json = nlohmann::ordered_json;

std::string line(const Json& j) {
  return j.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// An object where writing it again gives the same text, else the text: what comes back is what was there.
Json parsed(const std::string& text) {
  Json j = Json::parse(text, nullptr, false);
  return !j.is_discarded() && !j.is_string() && j.dump() == text ? j : Json(text);
}

std::string line(const task::Measurement& m) {
  return "{\"kind\":\"measurement\"," + to_json(m).substr(1) + "\n";
}

struct Counts {
  int64_t tasks = 0, runs = 0, events = 0, measurements = 0;
};

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  void read(const std::string& text) {
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      ++line_;
      read_line(text.substr(at, end - at));
      at = end + 1;
    }
    if (!begun_) fail(fmt::format("this is no file of records ({})", kRecordsSchema));
    check_whole();
  }

  Rows rows;

 private:
  [[noreturn]] void fail(const std::string& why) const { throw UserError(file_, line_, 0, why); }

  void read_line(const std::string& text) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) return;
    const Json j = Json::parse(text, nullptr, false);
    if (j.is_discarded() || !j.is_object()) {
      fail(begun_ ? "damaged: this is not JSON"
                  : fmt::format("this is no file of records ({})", kRecordsSchema));
    }
    try {
      j.contains("schema") ? read_head(j) : read_row(j, text);
    } catch (const nlohmann::json::exception& e) {
      fail(fmt::format("damaged: {}", e.what()));
    } catch (const UserError& e) {
      if (e.line() > 0) throw;
      fail(fmt::format("damaged: {}", e.what()));
    }
  }

  // The counts of files that were joined add up.
  void read_head(const Json& j) {
    const auto schema = j.at("schema").get<std::string>();
    if (schema != kRecordsSchema) {
      fail(fmt::format("its schema is {}, {} {}", schema,
                       schema.starts_with("tenon.records/") ? "this tenon knows up to" : "not",
                       kRecordsSchema));
    }
    if (begun_) check_whole();
    begun_ = true;
    told_ = j.contains("measurements");
    if (!told_) return;
    const auto& r = rows;
    expected_ = {std::ssize(r.tasks) + j.at("tasks").get<int64_t>(),
                 std::ssize(r.runs) + j.at("runs").get<int64_t>(),
                 std::ssize(r.events) + j.at("events").get<int64_t>(),
                 std::ssize(r.measurements) + j.at("measurements").get<int64_t>()};
  }

  void check_whole() const {
    if (!told_) return;
    const auto one = [&](const char* what, size_t got, int64_t expected) {
      if (static_cast<int64_t>(got) == expected) return;
      fail(fmt::format("the file was cut off or changed: it has {} {}, its first line says {}", got,
                       what, expected));
    };
    one("tasks", rows.tasks.size(), expected_.tasks);
    one("runs", rows.runs.size(), expected_.runs);
    one("events", rows.events.size(), expected_.events);
    one("measurements", rows.measurements.size(), expected_.measurements);
  }

  void read_row(const Json& j, const std::string& text) {
    if (!begun_) fail(fmt::format("this is no file of records ({})", kRecordsSchema));
    const auto field = [&](const char* name) { return j.at(name).get<std::string>(); };
    const std::string kind = field("kind");
    if (kind == "task") {
      rows.tasks.push_back(
          {field("key"), field("te"), field("edges"), field("label"), j.at("flops")});
    } else if (kind == "run") {
      rows.runs.push_back({field("id"), field("command"), field("model"), field("started"),
                           field("finished"), 0, 0});
    } else if (kind == "event") {
      const Json& e = j.at("event");
      rows.events.push_back(
          {field("run"), {j.at("at_s"), e.is_string() ? e.get<std::string>() : e.dump()}});
    } else if (kind == "measurement") {
      rows.measurements.push_back(task::measurement_from_json(text));
    } else {
      fail(fmt::format("there is no kind of record '{}'", kind));
    }
  }

  std::string file_;
  int line_ = 0;
  bool begun_ = false, told_ = false;
  Counts expected_;
};

}  // namespace

std::string to_json_lines(const Rows& r) {
  std::string text = line(Json{{"schema", kRecordsSchema},
                               {"tasks", r.tasks.size()},
                               {"runs", r.runs.size()},
                               {"events", r.events.size()},
                               {"measurements", r.measurements.size()}});
  for (const TaskRow& t : r.tasks) {
    text += line(Json{{"kind", "task"},
                      {"key", t.key},
                      {"label", t.label},
                      {"flops", t.flops},
                      {"edges", t.edges},
                      {"te", t.te}});
  }
  for (const RunRow& run : r.runs) {
    text += line(Json{{"kind", "run"},
                      {"id", run.id},
                      {"command", run.command},
                      {"model", run.model},
                      {"started", run.started},
                      {"finished", run.finished}});
  }
  for (const RunEvent& e : r.events) {
    text += line(Json{{"kind", "event"},
                      {"run", e.run},
                      {"at_s", e.event.at_s},
                      {"event", parsed(e.event.json)}});
  }
  for (const task::Measurement& m : r.measurements) text += line(m);
  return text;
}

Rows records_from_json_lines(const std::string& text, const std::string& file) {
  Reader reader(file);
  reader.read(text);
  return std::move(reader.rows);
}

Rows all_records(const Database& db) {
  Rows r{db.tasks(), db.runs(), {}, db.measurements({})};
  for (const RunRow& run : r.runs) {
    for (EventRow& e : db.events(run.id)) r.events.push_back({run.id, std::move(e)});
  }
  return r;
}

bool is_database_file(const std::string& path) {
  constexpr std::string_view kMagic = "SQLite format 3";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;  // a pipe is read only once
  std::ifstream in(path, std::ios::binary);
  std::string head(kMagic.size(), '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  return in.gcount() == static_cast<std::streamsize>(head.size()) && head == kMagic;
}

}  // namespace tenon::db
