// SPDX-License-Identifier: Apache-2.0
// tenon db verify: whether a database is sound, and with --records whether its best records are
// right.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "history/records.h"
#include "history/task_history.h"
#include "measure/measure.h"
#include "support/text.h"
#include "task/serve.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/db/verbs.h"
#include "tools/tenon/helper_tools.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

bool is_protocol(const std::string& text) {
  try {
    task::parse_protocol(text);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

// ---- without running anything --------------------------------------------------------------------------------------

// Why no task may be served by the record; empty: one may. What another machine's program must fit
// is not known here, so of its trace no more is asked than that it replays and keeps the edges.
std::string fault_of(const task::Task& t, const task::Measurement& m, bool here) {
  if (m.error.starts_with(task::kDamaged)) return m.error;
  if (m.outcome != task::Outcome::kOk) return "";
  if (!task::has_time(m)) return fmt::format("it took {} s", m.median_s);
  if (here) return m.verified ? task::serve_json(t, m.trace).why : "";
  try {
    const schedule::Trace trace = schedule::trace_from_json(m.trace, "its trace");
    if (!m.verified) return "";
    const schedule::State initial(t.dag, t.target);
    const auto state = schedule::replay(initial, trace);
    if (!state) return schedule::render_illegal(initial, state.illegal());
    const std::string edge = task::changed_edge(t, *state);
    return edge.empty() ? "" : fmt::format("{} is not stored as the task's edges say", edge);
  } catch (const UserError& e) {
    return e.what();
  }
}

struct Faults {
  // By key: tasks whose text is not what their key says; no record of them is of use.
  std::map<std::string, std::string> tasks;
  std::vector<std::string> records;  // one for each task, target and protocol that has such
};

class SoundCheck {
 public:
  SoundCheck(const db::Database& db, const history::Selection& s) : db_(db), s_(s) {}

  Faults run() {
    for (const db::TaskRow& row : s_.tasks) {
      if (!row.te.empty()) check(row);
    }
    return std::move(found_);
  }

 private:
  void check(const db::TaskRow& row) {
    try {
      const auto host = std::make_shared<const target::Target>(target::host_target());
      const task::Task t = history::task_of(row, host);
      for (const history::RecordKey& key : s_.keys_of(row.key)) check(t, key);
    } catch (const UserError& e) {
      found_.tasks[row.key] = fmt::format("task {}: {}", row.key, e.what());
    }
  }

  void check(task::Task t, const history::RecordKey& key) {
    const auto here = target_here(key.target);
    if (here != nullptr) t.target = here;
    int64_t count = is_protocol(key.protocol) ? 0 : 1;
    std::string first = count > 0 ? "this is no protocol" : "";
    for (const auto& m : db_.measurements({key.task, key.target, key.protocol, s_.run})) {
      const std::string why = fault_of(t, m, here != nullptr);
      if (!why.empty() && count++ == 0) first = why;
    }
    if (count == 0) return;
    found_.records.push_back(fmt::format("task {}, {}: {} records cannot be used, the first: {}",
                                         key.task, key.protocol, count, first));
  }

  const db::Database& db_;
  const history::Selection& s_;
  Faults found_;
};

// ---- with the reference --------------------------------------------------------------------------------------------

struct Checked {
  history::RecordKey key;
  std::string label;
  std::string trace;
  double median_s = 0;
  measure::Verdict verdict;
};

const char* word_of(const measure::Verdict& v) {
  return v.right() ? "right" : v.wrong() ? "wrong" : "open";
}

// Measurers are made once for each protocol, for GPUs and for cores.
class Verifier {
 public:
  Verifier(db::Database& db, const DbVerbOptions& options) : db_(db), options_(options) {}

  // The best that may serve, and if it is wrong, the next, until one is right or the machine cannot
  // tell.
  void check(const task::Task& t, const history::RecordKey& key, std::vector<Checked>& out) {
    const history::TaskHistory history = history_of(db_, {}, key);
    for (const task::Measurement* m : history.fastest(SIZE_MAX)) {
      if (!m->verified) continue;
      const task::Served program = task::serve_json(t, m->trace);
      if (!program) continue;  // told before
      Checked c{key, t.label, m->trace, m->median_s, {}};
      c.verdict = measurer(key.protocol, !t.target->is_cpu()).verify(t, program->trace);
      out.push_back(c);
      if (!c.verdict.wrong()) return;
      db_.record({wrong_record(*m, c.verdict.why)});
    }
  }

 private:
  measure::Measurer& measurer(const std::string& protocol, bool on_card) {
    auto& m = measurers_[{protocol, on_card}];
    if (m == nullptr) {
      measure::DeviceOptions o;
      o.protocol = task::parse_protocol(protocol);
      o.on_card = on_card;
      o.build_tool = find_helper_tool("tenon-build", options_.build_tool);
      o.run_tool = find_helper_tool("tenon-run", options_.run_tool);
      m = measure::device_measurer(o);
    }
    return *m;
  }

  static task::Measurement wrong_record(const task::Measurement& of, const std::string& why) {
    task::Measurement m;
    m.task = of.task;
    m.target = of.target;
    m.protocol = of.protocol;
    m.trace = of.trace;
    m.outcome = task::Outcome::kWrong;
    m.error = why;
    m.verified = true;
    m.run = of.run;
    m.time = std::chrono::duration_cast<std::chrono::seconds>(
                 std::chrono::system_clock::now().time_since_epoch())
                 .count();
    return m;
  }

  db::Database& db_;
  const DbVerbOptions& options_;
  std::map<std::pair<std::string, bool>, std::unique_ptr<measure::Measurer>> measurers_;
};

struct Verified {
  size_t tasks = 0;
  Faults faults;
  std::vector<Checked> checked;
  size_t elsewhere = 0;  // keys of other machines
  bool sound() const { return faults.tasks.empty() && faults.records.empty(); }
  int64_t count(measure::Verdict::Kind kind) const {
    return std::count_if(checked.begin(), checked.end(),
                         [&](const Checked& c) { return c.verdict.kind == kind; });
  }
};

void check_task(const db::TaskRow& row, const history::Selection& s, Verifier& verifier,
                Verified& v) {
  if (v.faults.tasks.contains(row.key)) return;  // it costs the others nothing
  for (const history::RecordKey& key : s.keys_of(row.key)) {
    const auto target = target_here(key.target);
    if (target == nullptr || !target::runs_here(*target) || row.te.empty()) {
      ++v.elsewhere;
    } else if (is_protocol(key.protocol)) {
      verifier.check(history::task_of(row, target), key, v.checked);
    }
  }
}

Verified verify(const DbVerbOptions& options, const Console& console) {
  const auto db = options.records
                      ? open_existing_db(options.db, wait_for_writer(options.db, console))
                      : open_db_to_read(options.db);
  Verified v;
  if (const std::string why = db->check(); !why.empty()) {
    throw UserError(db_file(options.db), 0, 0, "database: damaged: " + why,
                    "restore it from an export (tenon db import)");
  }
  const history::Selection s = select(*db, with_host(options.select));
  v.tasks = s.tasks.size();
  v.faults = SoundCheck(*db, s).run();
  if (!options.records) return v;
  Verifier verifier(*db, options);
  Progress progress(console, "verifying");
  size_t done = 0;
  for (const db::TaskRow& t : s.tasks) {
    progress.at(static_cast<double>(done++) / static_cast<double>(s.tasks.size()), t.label);
    check_task(t, s, verifier, v);
  }
  return v;
}

// ---- what is said --------------------------------------------------------------------------------------------------

Json to_json(const Verified& v, const std::string& file) {
  Json checked = Json::array();
  for (const Checked& c : v.checked) {
    checked.push_back({{"task", c.key.task},
                       {"label", c.label},
                       {"protocol", c.key.protocol},
                       {"median_s", c.median_s},
                       {"right", c.verdict.right()},
                       {"verdict", word_of(c.verdict)},
                       {"why", c.verdict.why},
                       {"trace", Json::parse(c.trace, nullptr, false)}});
  }
  Json faults = Json::array();
  for (const auto& [key, fault] : v.faults.tasks) faults.push_back(fault);
  for (const std::string& fault : v.faults.records) faults.push_back(fault);
  return {{"schema", "tenon.db/1"}, {"verb", "verify"},        {"file", file},
          {"sound", v.sound()},     {"faults", faults},        {"tasks", v.tasks},
          {"checked", checked},     {"elsewhere", v.elsewhere}};
}

std::string to_text(const Verified& v, const DbVerbOptions& options) {
  std::string text = fmt::format("{}  {} tasks\n", db_file(options.db), v.tasks);
  for (const auto& [key, fault] : v.faults.tasks) text += fmt::format("damaged  {}\n", fault);
  for (const std::string& fault : v.faults.records) text += fmt::format("refused  {}\n", fault);
  if (v.sound())
    text += "sound    the file, the text of every task, and every record that is used\n";
  for (const Checked& c : v.checked) {
    text += fmt::format("{:<8} {}  {:<28} {:>10}  {}{}\n", word_of(c.verdict), escaped(c.key.task),
                        escaped(c.label), time_text(c.median_s), escaped(c.key.protocol),
                        c.verdict.right() ? "" : ": " + c.verdict.why);
  }
  if (v.elsewhere > 0) {
    text += fmt::format("skipped  {} records of other machines\n", v.elsewhere);
  }
  return text;
}

}  // namespace

int db_verify(const DbVerbOptions& options, const Console& console) {
  using Kind = measure::Verdict::Kind;
  const Verified v = verify(options, console);
  const std::string file = db_file(options.db);
  console.answer(console.json() ? tools::to_text(to_json(v, file)) : to_text(v, options));
  if (const int64_t wrong = v.count(Kind::kWrong); wrong > 0) {
    throw CommandError(kExitMismatch,
                       fmt::format("{}: {} records compute something else than their tasks; they "
                                   "are marked as wrong and will not be used",
                                   file, wrong));
  }
  if (!v.sound()) {
    throw UserError(file, 0, 0,
                    fmt::format("database: {} tasks are damaged, and of {} there are records that "
                                "cannot be used",
                                v.faults.tasks.size(), v.faults.records.size()),
                    "nothing uses them; tenon tune finds others");
  }
  if (const int64_t open = v.count(Kind::kUndecided); open > 0) {
    throw UserError(file, 0, 0, fmt::format("database: {} records could not be compared", open),
                    "the reasons are above; nothing was marked");
  }
  return kExitOk;
}

}  // namespace tenon::tools
