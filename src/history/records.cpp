// SPDX-License-Identifier: Apache-2.0
#include "history/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "history/task_history.h"
#include "support/check.h"
#include "support/parallel.h"
#include "task/serve.h"
#include "te/text.h"

namespace tenon::history {
namespace {

using task::Measurement;
using Rows = std::map<std::string, std::vector<Measurement>>;  // by key as the row has it

// What is known of a task, before anybody looks at its traces.
struct Collected {
  task::Task task;
  TaskHistory history;
};

void leave_out(Records& out, int64_t rows, const std::string& why) {
  if (out.left_out == 0) out.why = why;
  out.left_out += rows;
}

Rows rows_of(const db::Database& db, const Where& where) {
  Rows out;
  for (Measurement& m : db.measurements({"", where.measured, where.protocol, ""})) {
    out[m.task].push_back(std::move(m));
  }
  return out;
}

// Rows of earlier versions tell apart tasks that are one now.
std::map<std::string, Collected> collect(const db::Database& db, const Where& where, Rows rows,
                                         Records& out) {
  std::map<std::string, Collected> known;
  for (const db::TaskRow& row : db.tasks()) {
    const auto it = rows.find(row.key);
    if (it == rows.end()) continue;
    const auto measurements = std::move(it->second);
    rows.erase(it);
    try {
      task::Task t = task_of(row, where.target);
      const std::string key = t.key;
      auto& history = known.try_emplace(key, Collected{std::move(t), {}}).first->second.history;
      for (const Measurement& m : measurements) history.add(m);
    } catch (const UserError& e) {
      leave_out(out, std::ssize(measurements), fmt::format("task {}: {}", row.key, e.what()));
    }
  }
  for (const auto& [key, measurements] : rows) {
    leave_out(out, std::ssize(measurements), fmt::format("nothing says what task {} is", key));
  }
  return known;
}

// The first half, and of the rest as many as fit, evenly spread.
template <class T>
std::vector<T> spread(std::vector<T> all, size_t most) {
  if (all.size() <= most) return all;
  const size_t first = most - most / 2, rest = most - first;
  std::vector<T> out(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first));
  for (size_t i = 1; i <= rest; ++i) {
    out.push_back(all[first - 1 + i * (all.size() - first) / rest]);
  }
  return out;
}

// Failures teach less than times do: they fill what is left, up to a quarter.
std::vector<const Measurement*> pick(const TaskHistory& history, size_t most) {
  const auto ran = history.fastest(SIZE_MAX);
  std::vector<const Measurement*> failed = history.failed_programs();
  const size_t room = std::max(most / 4, most - std::min(most, ran.size()));
  failed = spread(std::move(failed), room);
  std::vector<const Measurement*> out = spread(ran, most - std::min(most, failed.size()));
  out.insert(out.end(), failed.begin(), failed.end());
  return out;
}

space::Choices choices_of(const Measurement& m) {
  try {
    return m.choices.empty() ? space::Choices{} : space::choices_from_json(m.choices);
  } catch (const UserError&) {
    return {};
  }
}

struct Read {
  std::optional<Entry> entry;
  std::string why;  // there is none
};

Read read_entry(const task::Task& t, const Measurement& m) {
  task::Served served = task::serve_json(t, m.trace);
  if (!served) return {std::nullopt, served.why};
  const bool ran = m.outcome == task::Outcome::kOk;
  return {Entry{std::move(served.program->trace), choices_of(m),
                ran ? m.median_s : std::numeric_limits<double>::infinity(), m.outcome, m.verified},
          ""};
}

// One program of one task, to be read by any thread.
struct Job {
  size_t task;
  const Measurement* row;
};

void read_all(const std::vector<Job>& jobs, int threads, Records& out) {
  std::vector<Read> read(jobs.size());
  for_each_parallel(jobs.size(), threads, [&](size_t i) {
    read[i] = read_entry(out.tasks[jobs[i].task].task, *jobs[i].row);
  });
  for (size_t i = 0; i < jobs.size(); ++i) {
    Known& known = out.tasks[jobs[i].task];
    if (read[i].entry) {
      known.entries.push_back(*std::move(read[i].entry));
    } else if (jobs[i].row->outcome == task::Outcome::kOk) {  // what failed may never have served
      leave_out(out, 1, fmt::format("task {}: {}", known.task.key, read[i].why));
    }
  }
}

}  // namespace

int64_t Records::entries() const {
  int64_t n = 0;
  for (const Known& k : tasks) n += std::ssize(k.entries);
  return n;
}

task::Task task_of(const db::TaskRow& row, std::shared_ptr<const target::Target> target) {
  auto dag = std::make_shared<const te::ComputeDag>(te::parse(row.te));
  auto edges = task::parse_edges(row.edges, *dag);
  task::Task t = task::make_task(std::move(dag), std::move(edges), std::move(target));
  if (t.key != row.key && t.exact_key != row.key) {
    throw UserError("the text of task " + row.key + " is another task's");
  }
  return t;
}

Records read_records(const db::Database& db, const Where& where, const Limits& limits) {
  Records out;
  Rows rows = rows_of(db, where);
  for (const auto& [key, measurements] : rows) out.rows += std::ssize(measurements);
  std::map<std::string, Collected> known = collect(db, where, std::move(rows), out);
  if (known.empty()) return out;
  const size_t share = std::max(limits.total / known.size(), limits.least);
  std::vector<Job> jobs;
  for (auto& [key, c] : known) {
    for (const Measurement* m : pick(c.history, std::min(limits.per_task, share))) {
      jobs.push_back({out.tasks.size(), m});
    }
    out.tasks.push_back({std::move(c.task), {}});
  }
  read_all(jobs, limits.threads, out);
  std::erase_if(out.tasks, [](const Known& k) { return k.entries.empty(); });
  return out;
}

int64_t count_rows(const db::Database& db, const Where& where) {
  int64_t n = 0;
  for (const db::Group& g : db.groups({"", where.measured, where.protocol, ""})) n += g.count;
  return n;
}

}  // namespace tenon::history
