// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/tune_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "files/file.h"
#include "history/model_file.h"
#include "history/program_table.h"
#include "plan/text.h"
#include "runtime/cpus.h"
#include "search/space/spaces.h"
#include "search/strategy/strategy.h"
#include "support/nearest.h"
#include "support/private_folder.h"
#include "tools/tenon/command.h"
#include "tools/tenon/helper_tools.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultBudget = "5m";

template <class E>
struct Word {
  const char* word;
  E value;
};
constexpr Word<tune::Verify> kVerify[] = {
    {"best", tune::Verify::kBest}, {"all", tune::Verify::kAll}, {"off", tune::Verify::kOff}};
constexpr Word<bool> kOnOff[] = {{"on", true}, {"off", false}};
constexpr Word<tune::Objective> kObjectives[] = {{"sum", tune::Objective::kSum},
                                                 {"targets", tune::Objective::kTargets},
                                                 {"speedup", tune::Objective::kSpeedup},
                                                 {"early-stop", tune::Objective::kEarlyStop}};

template <class E, size_t N>
std::vector<std::string> words(const Word<E> (&table)[N]) {
  std::vector<std::string> list;
  for (const auto& row : table) {
    list.emplace_back(row.word);
  }
  return list;
}

template <class E, size_t N>
E find(const Word<E> (&table)[N], const std::string& word) {
  const auto it = std::find_if(std::begin(table), std::end(table),
                               [&](const auto& row) { return row.word == word; });
  TENON_CHECK(it != std::end(table)) << word;
  return it->value;
}

template <class Rows>
std::vector<std::string> row_names(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) {
    names.emplace_back(row.name);
  }
  return names;
}

// "joint" is the tuner's own: all rows at once.
std::vector<std::string> space_names() {
  std::vector<std::string> names = row_names(search::spaces());
  if (std::find(names.begin(), names.end(), "joint") == names.end()) {
    names.insert(names.begin(), "joint");
  }
  return names;
}

std::vector<std::string> layout_names() {
  std::vector<std::string> names = row_names(search::strategies());
  names.insert(names.end(), {"fixed", "row-major"});
  return names;
}

void add_search_options(CLI::App& command, TuneOptions& o) {
  command.add_option("--space", o.space, "What may be tried")
      ->check(CLI::IsMember(space_names()))
      ->capture_default_str();
  command.add_option("--strategy", o.strategy, "Which of it to try next")
      ->check(CLI::IsMember(search::loop_strategies()))
      ->capture_default_str();
  command
      .add_option("--pairs", o.pairs,
                  "Whether depthwise and pointwise convolutions may become one task")
      ->check(CLI::IsMember(words(kOnOff)))
      ->capture_default_str();
  command
      .add_option("--transplant", o.transplant,
                  "Whether tasks begin with the best programs of similar tasks")
      ->check(CLI::IsMember(words(kOnOff)))
      ->capture_default_str();
  command
      .add_option("--programs", o.programs,
                  "A table of programs for --transplant, instead of the one that comes with tenon")
      ->type_name("FILE");
  command
      .add_option("--layouts", o.layouts, "Which layouts to try next; fixed: the defaults' alone")
      ->check(CLI::IsMember(layout_names()))
      ->capture_default_str();
  command
      .add_option("--layout-agent", o.layout_agent,
                  "What --layouts ppo learned before, if it is there; kept there afterwards")
      ->type_name("FILE");
  command
      .add_option("--cost-model", o.cost_model,
                  fmt::format("{}, or a file with a trained model",
                              fmt::join(row_names(cost::models()), ", ")))
      ->capture_default_str()
      ->type_name("NAME|FILE");
  command
      .add_option("--history", o.history,
                  "Whether the cost model begins with what earlier runs on this machine measured")
      ->check(CLI::IsMember(words(kOnOff)))
      ->capture_default_str();
  command
      .add_option("--save-cost-model", o.save_cost_model,
                  "Where to leave the trained model, for --cost-model of later runs")
      ->type_name("FILE");
  command.add_option("--verify", o.verify, "What is compared with the reference")
      ->check(CLI::IsMember(words(kVerify)))
      ->capture_default_str();
  command.add_option("--objective", o.objective, "What the tasks' times are weighed by")
      ->check(CLI::IsMember(words(kObjectives)))
      ->capture_default_str();
  command
      .add_option("--latency-target", o.latency_targets,
                  "A model counts until it is so fast; with --objective targets")
      ->allow_extra_args(false)
      ->type_name("[MODEL=]TIME");
  command
      .add_option("--reference", o.references,
                  "What speed-ups are taken over (default: the untuned artifact); with --objective "
                  "speedup")
      ->allow_extra_args(false)
      ->type_name("[MODEL=]TIME");
  command
      .add_option("--early-stop", o.early_stop,
                  "Rounds without gain that end a task; with --objective early-stop")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--round", o.round, "Programs measured in one round, at most")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--seed", o.seed, "Of everything that is drawn at random")
      ->capture_default_str()
      ->type_name("N");
}

void add_measure_options(CLI::App& command, TuneOptions& o) {
  command.add_option("--compile-limit", o.compile_limit, "CPU time that one compilation may take")
      ->capture_default_str()
      ->type_name("TIME");
  command.add_option("--compile-memory", o.compile_memory_mib, "MiB that one compilation may take")
      ->check(CLI::Range(64, 1 << 20))
      ->capture_default_str()
      ->type_name("MIB");
  command.add_option("--run-limit", o.run_limit, "CPU time that one program may run, at most")
      ->capture_default_str()
      ->type_name("TIME");
  command.add_flag("--warm-cache", o.warm, "Time with weights and outputs left in the caches");
  command.add_flag("--overlap", o.overlap,
                   "Compile on the cores where times are taken, too: faster, and noisier");
  command
      .add_option("--search-threads", o.search_threads,
                  "Threads to search with (default: all cores)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command.add_flag(
      "--sim", o.sim,
      "Measure on a pretend device: the same numbers on every machine, for experiments");
  // Not for people: an empty group is not shown.
  command.add_option("--build-tool", o.build_tool)->group("");
  command.add_option("--run-tool", o.run_tool)->group("");
  command.add_option("--population", o.population)->group("");
}

// "MODEL=10ms" for one of the models, "10ms" if there is but one.
void set_times(const std::vector<std::string>& texts, const char* option, double tune::Model::*time,
               std::vector<tune::Model>& models) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const std::string name = equals == std::string::npos ? "" : text.substr(0, equals);
    const auto it = std::find_if(models.begin(), models.end(), [&](const tune::Model& m) {
      return m.name == name || (name.empty() && models.size() == 1);
    });
    if (it == models.end()) {
      throw UserError(fmt::format("{} '{}': MODEL=TIME expected", option, text),
                      fmt::format("models: {}", fmt::join(row_names(models), ", ")));
    }
    (*it).*time =
        parse_duration(equals == std::string::npos ? text : text.substr(equals + 1), option);
  }
}

fs::path directory_of(const TuneOptions& o, const std::string& name) {
  if (o.output.empty()) {
    return name + ".tenon";
  }
  return o.paths.size() == 1 ? fs::path(o.output) : fs::path(o.output) / name;
}

}  // namespace

void add_tune_options(CLI::App& command, TuneOptions& o) {
  command.add_option("model,-m,--model", o.paths, "ONNX files ('-': standard input)")
      ->required()
      ->type_name("FILE");
  command
      .add_option("-o,--output", o.output,
                  "Folder to write, with a folder for each of several models (default: NAME.tenon)")
      ->type_name("DIR");
  command.add_option("--budget", o.budget, "How long to tune, such as 300s, 5m, 1h30m")
      ->type_name("TIME");
  command.add_option("--trials", o.trials, "How many programs to measure, at most")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->type_name("N");
  command
      .add_option("--threads", o.threads,
                  "Threads that the artifact will run with (default: all cores)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command.add_option("--tasks", o.tasks, "Tune only tasks whose label or key matches")
      ->capture_default_str()
      ->type_name("GLOB");
  command.add_flag("--dry-run", o.dry_run, "List tasks and what is known of them; measure nothing");
  command.add_flag("--jsonl", o.jsonl, "Print what happens as JSON objects, one per line");
  add_db_option(command, o.db);
  add_search_options(command, o);
  add_measure_options(command, o);
  command.add_option("--name", o.name, "Prefix of files and C functions, for a single model")
      ->type_name("NAME");
  command.add_option("--emit", o.emit, "Any of so, a, h, o, ll, asm")
      ->capture_default_str()
      ->type_name("KIND,...");
  add_shape_options(command, o.model);
  add_build_options(command, o.model);
}

std::vector<tune::Model> import_models(const TuneOptions& o, const Console& console) {
  if (!o.name.empty() && o.paths.size() > 1) {
    throw UserError("--name is for a single model");
  }
  std::vector<tune::Model> models;
  std::set<std::string> names;
  for (const std::string& path : o.paths) {
    if (is_artifact(path)) {
      throw UserError(path, 0, 0, "this is a folder or a manifest; tuning begins with a model");
    }
    ModelOptions one = o.model;
    one.path = path;
    tune::Model m;
    m.name = model_name(one, o.name);
    if (!names.insert(m.name).second) {
      throw UserError(fmt::format("two models are called {}", m.name), "rename one of the files");
    }
    onnx::Imported imported = import_model(one, console);
    if (!o.dry_run) m.provenance = provenance(one, imported.info);
    m.graph = std::make_shared<const graph::Graph>(std::move(imported.graph));
    m.directory = directory_of(o, m.name);
    models.push_back(std::move(m));
  }
  set_times(o.latency_targets, "--latency-target", &tune::Model::target_s, models);
  set_times(o.references, "--reference", &tune::Model::reference_s, models);
  for (const tune::Model& m : models) {
    if (o.objective == "targets" && m.target_s <= 0) {
      throw UserError(fmt::format("--objective targets needs --latency-target {}=TIME", m.name));
    }
  }
  return models;
}

task::Protocol protocol_of(const TuneOptions& o) {
  task::Protocol p;
  // The cores of the machine around it are nothing to a GPU.
  const bool gpu = !target_of(o.model).is_cpu();
  p.threads = gpu ? 1 : o.threads > 0 ? o.threads : runtime::default_threads();
  p.cold = !o.warm;
  return p;
}

measure::DeviceOptions device_options(const TuneOptions& o) {
  measure::DeviceOptions d;
  d.protocol = protocol_of(o);
  d.build_tool = find_helper_tool("tenon-build", o.build_tool);
  d.run_tool = find_helper_tool("tenon-run", o.run_tool);
  d.compile_limit_s = parse_duration(o.compile_limit, "--compile-limit");
  d.compile_memory_bytes = o.compile_memory_mib << 20;
  d.run_limit_s = parse_duration(o.run_limit, "--run-limit");
  d.builders = o.model.compile_threads;
  d.overlap = o.overlap;
  d.on_card = !target_of(o.model).is_cpu();
  // Nothing disturbs a card: a few milliseconds tell as much as many on a CPU.
  if (d.on_card) d.min_run_s = 0.003;
  return d;
}

// A missing plug-in, a file that is no agent, and a folder that takes none are found before any work is done.
void set_layout_agent(const TuneOptions& o, tune::LayoutOptions& layouts) {
  if (!o.layout_agent.empty() && o.layouts != "ppo") {
    throw UserError("--layout-agent goes with --layouts ppo",
                    "no other way to propose layouts learns");
  }
  layouts.learned = o.layout_agent;
  if (!layouts.on()) return;
  search::LearnerOptions options;
  if (fs::exists(o.layout_agent)) options.learned = o.layout_agent;
  const auto learner = search::make_learner(layouts.strategy, options);
  if (learner == nullptr || o.layout_agent.empty()) return;
  const auto folder = PrivateFolder::beside(o.layout_agent);
  learner->save((folder.path() / "tried").string());
}

// On the pretend device nothing depends on when it runs, nor on what happens to lie beside the program.
history::Options history_options(const TuneOptions& o) {
  history::Options h{.database = db_file(o.db), .model = o.cost_model};
  h.limits.threads = o.search_threads > 0 ? o.search_threads : runtime::default_threads();
  if (o.sim) {
    h.now = [] { return int64_t{0}; };
  } else {
    h.shipped = history::shipped_places(program_folder());
  }
  return h;
}

tune::SessionOptions session_options(const TuneOptions& o) {
  tune::SessionOptions s;
  s.compile.target = target_of(o.model);
  if (!target::runs_here(s.compile.target)) {
    throw CommandError(kExitUnreachable,
                       fmt::format("target '{}' does not run on this machine, so nothing can be "
                                   "measured for it (tenon compile builds for it)",
                                   s.compile.target.name));
  }
  s.compile.fuse = !o.model.no_fuse;
  s.compile.accuracy = accuracy_of(o.model);
  s.compile.threads = o.model.compile_threads;
  if (!o.model.lock.empty()) {
    s.compile.plan = plan::read_lock(o.model.lock);
  }
  s.outputs = artifact::parse_outputs(o.emit);
  s.threads = protocol_of(o).threads;
  s.tasks = o.tasks;
  const bool open_end = o.budget.empty() && o.trials == 0;
  if (!o.budget.empty() || open_end) {
    s.budget_s = parse_duration(open_end ? kDefaultBudget : o.budget, "--budget");
  }
  tune::TunerOptions& t = s.tuner;
  t.seed = o.seed;
  t.space = o.space;
  t.strategy = o.strategy;
  s.pairs.on = find(kOnOff, o.pairs);
  s.transplant = find(kOnOff, o.transplant);
  s.layouts.strategy = o.layouts == "fixed" || o.layouts == "row-major" ? "" : o.layouts;
  s.compile.row_major = o.layouts == "row-major";
  set_layout_agent(o, s.layouts);
  t.verify = find(kVerify, o.verify);
  t.trials = o.trials;
  t.round = o.round;
  t.threads = o.search_threads > 0 ? o.search_threads : runtime::default_threads();
  t.search.population = o.population > 0 ? o.population : t.search.population;
  t.scheduler.objective = find(kObjectives, o.objective);
  t.scheduler.early_stop = o.objective == "early-stop" ? o.early_stop : 0;
  s.save_cost_model = o.save_cost_model;
  if (!o.save_cost_model.empty()) PrivateFolder::beside(o.save_cost_model);  // or tell it now
  const auto models = row_names(cost::models());
  if (std::find(models.begin(), models.end(), o.cost_model) != models.end()) {
    t.cost_model = o.cost_model;
  } else if (std::error_code ignored; fs::is_regular_file(o.cost_model, ignored)) {
    t.cost_model_file = o.cost_model;
    t.networks = o.cost_model + ".networks";
  } else {
    throw UserError(
        fmt::format("--cost-model: there is no model and no file called '{}'", o.cost_model),
        did_you_mean(o.cost_model, models, fmt::format("models: {}", fmt::join(models, ", "))));
  }
  if (find(kOnOff, o.history) && t.cost_model_file.empty() && t.cost_model != "random") {
    s.history = history_options(o);
    t.networks = (history::models_folder(s.history->database) / "networks").string();
  }
  return s;
}

std::vector<history::KnownTask> known_programs(const TuneOptions& o, const Console& console) {
  if (!find(kOnOff, o.transplant)) return {};
  const std::string file = find_programs(o.programs, target_of(o.model));
  if (file.empty()) return {};
  history::Table table = history::read_table(files::read_file(file));
  if (table.left_out > 0) {
    console.warn(
        fmt::format("{}: {} lines are left out: they are no programs, or of another version", file,
                    table.left_out));
  }
  return std::move(table.tasks);
}

std::string command_text(const TuneOptions& o, const std::vector<tune::Model>& models) {
  std::string text = "tune";
  for (const tune::Model& m : models) {
    const auto hash = std::find_if(m.provenance.begin(), m.provenance.end(),
                                   [](const auto& row) { return row.first == "sha256"; });
    text += fmt::format(" {}@{:.16}", m.name, hash == m.provenance.end() ? "-" : hash->second);
  }
  const TuneOptions usual;
  const auto add = [&](const char* option, const auto& value, const auto& otherwise) {
    if (value != otherwise) {
      text += fmt::format(" {} {}", option, value);
    }
  };
  const auto add_list = [&](const char* option, const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      text += fmt::format(" {} {}", option, value);
    }
  };
  text += fmt::format(" --threads {}", protocol_of(o).threads);
  text += std::string(o.warm ? " --warm-cache" : "") + (o.overlap ? " --overlap" : "") +
          (o.sim ? " --sim" : "") + (o.model.no_fuse ? " --no-fuse" : "");
  add("--target", o.model.target, usual.model.target);
  add("--accuracy", o.model.accuracy, usual.model.accuracy);
  add("--budget", o.budget, usual.budget);
  add("--trials", o.trials, usual.trials);
  add("--tasks", o.tasks, usual.tasks);
  add("--seed", o.seed, usual.seed);
  add("--space", o.space, usual.space);
  add("--strategy", o.strategy, usual.strategy);
  add("--pairs", o.pairs, usual.pairs);
  add("--transplant", o.transplant, usual.transplant);
  add("--programs", o.programs, usual.programs);
  add("--layouts", o.layouts, usual.layouts);
  add("--layout-agent", o.layout_agent, usual.layout_agent);
  add("--cost-model", o.cost_model, usual.cost_model);
  add("--history", o.history, usual.history);
  add("--verify", o.verify, usual.verify);
  add("--objective", o.objective, usual.objective);
  add("--early-stop", o.early_stop, usual.early_stop);
  add("--round", o.round, usual.round);
  add("--lock", o.model.lock, usual.model.lock);
  add_list("--latency-target", o.latency_targets);
  add_list("--reference", o.references);
  add_list("--dims", o.model.dims);
  add_list("--shape", o.model.shapes);
  add_list("--bind", o.model.binds);
  return text;
}

}  // namespace tenon::tools
