// SPDX-License-Identifier: Apache-2.0
// tenon model value: a value function out of all records of a database.
#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <thread>

#include "files/file.h"
#include "support/check.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/model/verbs.h"
#include "tools/tenon/text.h"
#include "value/train.h"

namespace tenon::tools {
namespace {

constexpr history::Limits kLimits{.per_task = 512, .total = 200000, .least = 16, .threads = 0};

// Of all machines that were selected: each task counts once for each of them.
std::vector<history::Known> records_of(const db::Database& db, const ModelVerbOptions& o) {
  std::vector<history::Known> all;
  for (const Machine& m : machines(db, o.select)) {
    history::Records r = history::read_records(db, m.where, kLimits);
    std::move(r.tasks.begin(), r.tasks.end(), std::back_inserter(all));
  }
  return all;
}

value::TrainValueOptions options_of(const ModelVerbOptions& o) {
  value::TrainValueOptions how;
  how.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  how.lessons.threads = how.threads;
  how.lessons.beginnings = static_cast<size_t>(o.beginnings);
  how.lessons.seed = how.seed = o.seed;
  how.epochs = static_cast<uint32_t>(o.epochs);
  how.width = static_cast<uint32_t>(o.width);
  how.rank = o.rank;
  how.ship = !o.file.empty();
  return how;
}

}  // namespace

int model_value(const ModelVerbOptions& o, const Console& console) {
  const auto begin = std::chrono::steady_clock::now();
  const auto tasks = records_of(*open_db_to_read(o.db), o);
  const value::TrainedValue t = value::train_value(tasks, options_of(o));
  if (!o.file.empty()) files::write_file(o.file, value::to_bytes(t.model));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const Json answer = {{"schema", "tenon.model/1"},
                       {"verb", "value"},
                       {"file", o.file.empty() ? Json() : Json(o.file)},
                       {"lessons", t.lessons},
                       {"programs", t.programs},
                       {"tasks", t.tasks},
                       {"margin", t.model.margin},
                       {"algorithm_margin", t.model.algorithm_margin},
                       {"rules", t.rules},
                       {"chosen", t.chosen},
                       {"scores", scores_json(t.held_out)},
                       {"seconds", seconds}};
  console.answer(
      console.json()
          ? to_text(answer)
          : fmt::format(
                "{} lessons of {} programs, {} tasks, {:.1f} s\n  {}\n  held-out tasks: the "
                "rules' programs {:.3f} of the best, what it would take {:.3f} (margin "
                "{:.2f}, {:.2f} to another algorithm)\n",
                grouped(t.lessons), grouped(t.programs), grouped(t.tasks), seconds,
                scores_text(t.held_out), t.rules, t.chosen, t.model.margin,
                t.model.algorithm_margin));
  return kExitOk;
}

}  // namespace tenon::tools
