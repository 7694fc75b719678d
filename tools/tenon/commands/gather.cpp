// SPDX-License-Identifier: Apache-2.0
// tenon gather: many programs of many tasks into the database, for cost models to learn from.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <set>

#include "files/file.h"
#include "history/records.h"
#include "neural/compiled.h"
#include "runtime/cpus.h"
#include "support/private_folder.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/tune/options.h"
#include "tools/tenon/db_source.h"
#include "tools/tenon/interrupt.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"
#include "tune/best_schedules.h"
#include "tune/gather.h"
#include "tune/random_tasks.h"

namespace tenon::tools {
namespace {

struct GatherArgs {
  TuneOptions tune;  // models, target, device, database
  std::string threads = "1";
  std::string programs_from;  // file
  std::string value;          // file
  std::string verify = "best";
  tune::RandomTaskOptions random;
  tune::GatherOptions gather;
};

void set_threads(GatherArgs& a) {
  a.tune.threads = a.threads == "all" ? runtime::default_threads() : std::stoi(a.threads);
}

// ---- tasks ---------------------------------------------------------------------------------------

using Tasks = std::vector<tune::TaskToGather>;

void add_task(tune::TaskToTune t, Tasks& tasks, std::set<std::string>& known) {
  if (known.insert(t.task.key).second) tasks.push_back({std::move(t), std::nullopt});
}

void add_models(const std::vector<tune::Model>& models, const compile::Options& how, Tasks& tasks,
                std::set<std::string>& known) {
  for (const tune::Model& m : models) {
    const plan::Network n = compile::decide(*m.graph, m.name, how);
    for (size_t i = 0; i < n.tasks.size(); ++i) add_task(tune::to_tune(n, i), tasks, known);
  }
}

// The programs of all targets and protocols there are measured here, and no others.
Tasks listed_tasks(const std::string& file, const target::Target& target, const Console& console) {
  const auto records = open_records(file);
  const auto machine = std::make_shared<const target::Target>(target);
  Tasks tasks;
  for (const db::TaskRow& row : records->tasks()) {
    std::vector<tune::ListedProgram> list;
    std::set<std::string> known;
    for (const task::Measurement& m : records->measurements({row.key, "", "", ""})) {
      if (known.insert(m.trace).second) list.push_back({m.trace, m.choices});
    }
    try {
      tasks.push_back({{history::task_of(row, machine), {}, "list"}, std::move(list)});
    } catch (const UserError& damaged) {
      console.warn(fmt::format("task {} is left out: {}", row.key, damaged.what()));
    }
  }
  return tasks;
}

Tasks find_tasks(const GatherArgs& a, const std::vector<tune::Model>& models,
                 const compile::Options& how, const Console& console) {
  if (!a.programs_from.empty()) {
    if (!models.empty() || a.random.count > 0) {
      throw UserError("--programs-from says which tasks: it goes without models and --random");
    }
    return listed_tasks(a.programs_from, how.target, console);
  }
  Tasks tasks;
  std::set<std::string> known;
  add_models(models, how, tasks, known);
  for (tune::TaskToTune& t : tune::random_tasks(a.random, how.target)) {
    add_task(std::move(t), tasks, known);
  }
  if (tasks.empty()) {
    throw UserError("there is nothing to gather from",
                    "name ONNX files, or ask for tasks with --random N");
  }
  return tasks;
}

// ---- what is said --------------------------------------------------------------------------------

std::string command_text(const GatherArgs& a, const std::vector<tune::Model>& models) {
  std::string text = fmt::format("gather --programs {} --seed {} --threads {}", a.gather.programs,
                                 a.gather.seed, protocol_of(a.tune).threads);
  for (const tune::Model& m : models) text += " " + m.name;
  if (a.random.count > 0) {
    text += fmt::format(" --random {} --min-flops {} --max-flops {}", a.random.count,
                        a.random.least_flops, a.random.most_flops);
  }
  if (!a.programs_from.empty()) text += " --programs-from " + a.programs_from;
  const tune::GatherOptions usual;
  if (a.gather.random_share != usual.random_share) {
    text += fmt::format(" --random-share {}", a.gather.random_share);
  }
  if (!a.value.empty()) text += " --value " + a.value;
  return text + " --target " + a.tune.model.target + (a.tune.sim ? " --sim" : "") +
         (a.tune.warm ? " --warm-cache" : "");
}

int list_tasks(const Tasks& tasks, const Console& console) {
  Json rows = Json::array();
  std::string text = counted(tasks.size(), "task") + "\n";
  for (const tune::TaskToGather& g : tasks) {
    const task::Task& t = g.task.task;
    rows.push_back({{"key", t.key}, {"label", t.label}, {"flops", t.flops}});
    if (g.list) rows.back()["programs"] = g.list->size();
    text += fmt::format("  {}  {:>9.3f} MFLOP  {}\n", t.key, t.flops * 1e-6, escaped(t.label));
  }
  console.answer(console.json()
                     ? tools::to_text(Json{{"schema", "tenon.gather-tasks/1"}, {"tasks", rows}})
                     : text);
  return kExitOk;
}

std::string progress_text(const tune::Gathered& g, double seconds) {
  return fmt::format("{} of {} tasks, {} measured ({} failed), {:.1f} per second", g.complete,
                     g.tasks, grouped(g.measured), grouped(g.failed),
                     static_cast<double>(g.measured) / std::max(seconds, 1e-3));
}

Json to_json(const tune::Gathered& g, const std::string& run, const std::string& reason,
             double seconds) {
  return {{"schema", "tenon.gather/1"},
          {"run", run},
          {"reason", reason},
          {"tasks", g.tasks},
          {"complete", g.complete},
          {"measured", g.measured},
          {"failed", g.failed},
          {"known", g.known},
          {"refused", g.refused},
          {"verified", g.verified},
          {"wrong", g.wrong},
          {"outcomes", g.outcomes},
          {"seconds", seconds},
          {"per_second", static_cast<double>(g.measured) / std::max(seconds, 1e-3)}};
}

std::string to_text(const tune::Gathered& g, const std::string& reason, double seconds) {
  std::string text = fmt::format(
      "gathered {} programs in {} ({:.1f} per second), {} failed; {}\n", grouped(g.measured),
      time_text(seconds), static_cast<double>(g.measured) / std::max(seconds, 1e-3),
      grouped(g.failed), reason == "complete" ? "all tasks are complete" : reason);
  text += fmt::format("known    {} of {}, {} complete\n", counted(g.known, "program"),
                      counted(g.tasks, "task"), g.complete);
  text += fmt::format("bests    {} verified, {} wrong\n", g.verified, g.wrong);
  if (g.refused > 0) text += fmt::format("refused  {} programs do not fit here\n", g.refused);
  for (const auto& [outcome, n] : g.outcomes) {
    text += fmt::format("  {:<16} {}\n", outcome, grouped(n));
  }
  return text;
}

// ---- the run -------------------------------------------------------------------------------------

std::unique_ptr<measure::Measurer> make_device(const TuneOptions& o) {
  if (!o.sim) return measure::device_measurer(device_options(o));
  measure::SimOptions sim;
  sim.seed = o.seed;
  sim.protocol = protocol_of(o);
  return measure::sim_measurer(sim);
}

class Timer {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

int gather_tasks(const GatherArgs& a, Tasks tasks, const std::string& command,
                 const Console& console) {
  const Interrupt interrupt;
  const auto asked = [&] { return interrupt.asked(); };
  const auto say = [&](const std::string& text) { console.note(text); };
  const auto db = open_db(a.tune.db, wait_for_writer(a.tune.db, say, asked));
  const auto claim = db->claim_runs(command, "gather");
  const auto cut_off = db->unfinished(command, "gather", [](const db::RunRow&) { return true; });
  const std::string run = cut_off ? cut_off->id : db->begin_run(command, "gather");
  console.note("records  " + db_file(a.tune.db));
  const auto device = make_device(a.tune);
  const Timer timer;
  const double budget_s = a.tune.budget.empty() ? std::numeric_limits<double>::infinity()
                                                : parse_duration(a.tune.budget, "--budget");
  const auto stop = [&] { return asked() || timer.seconds() >= budget_s; };
  Progress progress(console, "gathering");
  tune::Gatherer gatherer(
      std::move(tasks), a.gather, *device, *db, run,
      [&](const tune::Gathered& g) {
        progress.at(static_cast<double>(g.complete) / static_cast<double>(g.tasks),
                    progress_text(g, timer.seconds()));
      },
      [&](const std::string& text) { console.warn(text); });
  const tune::Gathered& sum = gatherer.run(stop);
  gatherer.verify_open(asked);
  const std::string reason = asked()                     ? "interrupted"
                             : sum.complete == sum.tasks ? "complete"
                                                         : "budget";
  if (reason == "complete") db->end_run(run);
  console.answer(console.json() ? tools::to_text(to_json(sum, run, reason, timer.seconds()))
                                : to_text(sum, reason, timer.seconds()));
  if (reason == "complete") return kExitOk;
  console.note("saved; run the same command again to continue");
  return reason == "budget" ? kExitOk : kExitInterrupted;
}

int gather_command(GatherArgs a, const Console& console) {
  temporary_place();  // said before the work, not after it
  set_threads(a);
  a.gather.seed = a.random.seed = a.tune.seed;
  a.gather.verify = a.verify == "best";
  if (!a.value.empty()) {
    a.gather.value = std::make_shared<const value::ValueFunction>(
        value::model_from_bytes(files::read_file(a.value)),
        neural::compiled_rows_scorers({.cache = {}, .threads = runtime::default_threads()}));
  }
  const tune::SessionOptions session = session_options(a.tune);
  const std::vector<tune::Model> models = import_models(a.tune, console);
  Tasks tasks = find_tasks(a, models, session.compile, console);
  if (a.tune.dry_run) return list_tasks(tasks, console);
  return gather_tasks(a, std::move(tasks), command_text(a, models), console);
}

void add_task_options(CLI::App& command, GatherArgs& a) {
  command.add_option("model,-m,--model", a.tune.paths, "ONNX files, whose tasks are taken")
      ->type_name("FILE");
  command.add_option("--random", a.random.count, "Tasks of random shapes to add")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 20))
      ->type_name("N");
  command.add_option("--min-flops", a.random.least_flops, "Least work of a random task")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->type_name("X");
  command.add_option("--max-flops", a.random.most_flops, "Most work of a random task")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->type_name("X");
  command
      .add_option("--programs-from", a.programs_from,
                  "Measure the tasks and programs of this export or database, and no others")
      ->type_name("FILE");
  command.add_flag("--dry-run", a.tune.dry_run, "List the tasks; measure nothing");
}

// "1", "all" and the like.
std::string check_threads(const std::string& text) {
  const bool number = !text.empty() && text.size() <= 4 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  return text == "all" || (number && std::stoi(text) > 0) ? "" : "a number or 'all' expected";
}

}  // namespace

Run add_gather(CLI::App& command, Console& console) {
  const auto args = std::make_shared<GatherArgs>();
  GatherArgs& a = *args;
  add_task_options(command, a);
  command
      .add_option("--programs", a.gather.programs, "Programs of each task, with those on record")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30))
      ->capture_default_str()
      ->type_name("N");
  command
      .add_option("--random-share", a.gather.random_share,
                  "Of the programs; the others come from a search")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str()
      ->type_name("X");
  command
      .add_option("--value", a.value,
                  "A value function that leads to the other programs, instead of a search")
      ->type_name("FILE");
  command
      .add_option("--verify", a.verify,
                  "Compare the best of each task with the reference: best, off")
      ->check(CLI::IsMember({"best", "off"}))
      ->capture_default_str()
      ->type_name("WHAT");
  command.add_option("--seed", a.tune.seed, "Of everything that is drawn at random")
      ->capture_default_str()
      ->type_name("N");
  command
      .add_option("--budget", a.tune.budget,
                  "How long to measure, such as 10m (default: to the end)")
      ->type_name("TIME");
  command.add_option("--threads", a.threads, "Threads that programs run with")
      ->check(check_threads)
      ->capture_default_str()
      ->type_name("N|all");
  command.add_flag("--warm-cache", a.tune.warm, "Time with weights and outputs left in the caches");
  command.add_flag("--sim", a.tune.sim,
                   "Measure on a pretend device: the same numbers on every machine");
  add_db_option(command, a.tune.db);
  add_shape_options(command, a.tune.model);
  add_build_options(command, a.tune.model);
  // Not for people: an empty group is not shown.
  command.add_option("--build-tool", a.tune.build_tool)->group("");
  command.add_option("--run-tool", a.tune.run_tool)->group("");
  command.add_option("--population", a.gather.search.population)->group("");
  return [args, &console] { return gather_command(*args, console); };
}

}  // namespace tenon::tools
