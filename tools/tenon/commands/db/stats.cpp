// SPDX-License-Identifier: Apache-2.0
// tenon db stats: how much of what.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tools/tenon/command.h"
#include "tools/tenon/commands/db/verbs.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

double file_bytes(const std::string& file) {
  double total = 0;
  for (const char* suffix : {"", "-wal"}) {
    std::error_code missing;
    const auto bytes = std::filesystem::file_size(file + suffix, missing);
    if (!missing) total += static_cast<double>(bytes);
  }
  return total;
}

struct RunSpeed {
  db::RunRow run;
  double seconds = 0;  // of tuning; 0: not known
};

// By what the run told, else by when its measurements were taken.
RunSpeed speed_of(const db::Database& db, const db::RunRow& run, const history::Selection& s) {
  const auto events = db.events(run.id);
  if (!events.empty() && events.back().at_s > 0) return {run, events.back().at_s};
  int64_t first = INT64_MAX, last = 0;
  for (const auto& [key, groups] : s.keys) {
    for (const db::Group& g : groups) {
      if (g.run != run.id) continue;
      first = std::min(first, g.first);
      last = std::max(last, g.last);
    }
  }
  return {run, last > first ? static_cast<double>(last - first) : 0};
}

struct Stats {
  std::string file;
  double bytes = 0;
  int schema = 0;
  size_t tasks = 0, events = 0;
  history::Tally all;
  double build_s = 0, run_s = 0;
  std::map<std::string, history::Tally> targets, protocols;
  std::vector<RunSpeed> runs;
};

Stats gather(const db::Database& db, const DbVerbOptions& options) {
  const history::Selection s = select(db, with_host(options.select));
  Stats st{db_file(options.db),
           file_bytes(db_file(options.db)),
           db.schema_version(),
           s.tasks.size(),
           0,
           {},
           0,
           0,
           {},
           {},
           {}};
  std::set<std::string> runs;
  for (const auto& [key, groups] : s.keys) {
    for (const db::Group& g : groups) {
      st.all.add(g);
      st.build_s += g.build_s;
      st.run_s += g.run_s;
      st.targets[g.target].add(g);
      st.protocols[g.protocol].add(g);
      runs.insert(g.run);
    }
  }
  for (const db::RunRow& r : db.runs()) {
    if (options.select.any() && !runs.contains(r.id)) continue;
    st.events += db.events(r.id).size();
    st.runs.push_back(speed_of(db, r, s));
  }
  return st;
}

Json counts_json(const std::map<std::string, history::Tally>& tallies, const char* name) {
  Json list = Json::array();
  for (const auto& [text, t] : tallies) {
    list.push_back(
        {{name, text}, {"measured", t.measured}, {"failed", t.failed}, {"verified", t.verified}});
  }
  return list;
}

Json stats_json(const Stats& st) {
  Json runs = Json::array();
  for (const RunSpeed& r : st.runs) {
    runs.push_back(
        {{"run", r.run.id},
         {"measured", r.run.measured},
         {"failed", r.run.failed},
         {"seconds", r.seconds > 0 ? Json(r.seconds) : Json()},
         {"per_second",
          r.seconds > 0 ? Json(static_cast<double>(r.run.measured) / r.seconds) : Json()}});
  }
  return {{"schema", "tenon.db/1"},
          {"verb", "stats"},
          {"file", st.file},
          {"bytes", st.bytes},
          {"schema_version", st.schema},
          {"tasks", st.tasks},
          {"events", st.events},
          {"measurements", st.all.measured},
          {"failed", st.all.failed},
          {"verified", st.all.verified},
          {"outcomes", st.all.outcomes},
          {"build_s", st.build_s},
          {"run_s", st.run_s},
          {"targets", counts_json(st.targets, "target")},
          {"protocols", counts_json(st.protocols, "protocol")},
          {"runs", runs}};
}

std::string stats_text(const Stats& st) {
  std::string outcomes;
  for (const auto& [outcome, n] : st.all.outcomes) {
    outcomes += fmt::format("{}{} {}", outcomes.empty() ? "" : ", ", n, outcome);
  }
  std::string text = fmt::format("{}  {}  schema {}\n", st.file, bytes_text(st.bytes), st.schema);
  text += fmt::format("rows     {}, {}, {}, {}\n", counted(st.tasks, "task"),
                      counted(st.all.measured, "measurement"), counted(st.runs.size(), "run"),
                      counted(st.events, "event"));
  text += fmt::format("outcomes {}; {} verified\n", outcomes.empty() ? "none" : outcomes,
                      st.all.verified);
  text +=
      fmt::format("time     building {}, running {}\n", time_text(st.build_s), time_text(st.run_s));
  for (const auto& [target, t] : st.targets) {
    text += fmt::format("machine  {} measured, {} failed: {}\n", t.measured, t.failed, target);
  }
  for (const auto& [protocol, t] : st.protocols) {
    text += fmt::format("protocol {} measured, {} failed: {}\n", t.measured, t.failed, protocol);
  }
  for (const RunSpeed& r : st.runs) {
    const std::string speed =
        r.seconds > 0
            ? fmt::format("{:.2f} per second", static_cast<double>(r.run.measured) / r.seconds)
            : "";
    text += fmt::format("run      {}  {} measured  {} failed  {}\n", r.run.id, r.run.measured,
                        r.run.failed, speed);
  }
  return text;
}

}  // namespace

int db_stats(const DbVerbOptions& options, const Console& console) {
  const auto db = open_db_to_read(options.db);
  const Stats stats = gather(*db, options);
  console.answer(console.json() ? to_text(stats_json(stats)) : stats_text(stats));
  return kExitOk;
}

}  // namespace tenon::tools
