// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/commands/tune/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cost/model.h"
#include "search/space/spaces.h"
#include "search/strategy/strategy.h"
#include "tools/tenon/commands/tune/words.h"

namespace tenon::tools {
namespace {

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

void add_space_options(CLI::App& command, TuneOptions& o) {
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
      .add_option("--value", o.value,
                  "A value function whose choices are tried first; 'shipped': tenon's own")
      ->type_name("FILE");
  command
      .add_option(
          "--layouts", o.layouts,
          fmt::format("Which layouts to try next: {}; fixed: the defaults' alone; row-major: "
                      "every tensor as the model has it",
                      fmt::join(row_names(search::strategies()), ", ")))
      ->check(CLI::IsMember(layout_names()))
      ->capture_default_str()
      ->type_name("HOW");
  command
      .add_option("--layout-agent", o.layout_agent,
                  "What --layouts ppo learned before, if it is there; kept there afterwards")
      ->type_name("FILE");
}

void add_model_options(CLI::App& command, TuneOptions& o) {
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
}

void add_objective_options(CLI::App& command, TuneOptions& o) {
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
  command
      .add_option(
          "--round", o.round,
          "Programs measured in one round, at most (default: 32, more where many builders work)")
      ->check(CLI::Range(1, 100000))
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
  add_space_options(command, o);
  add_model_options(command, o);
  add_objective_options(command, o);
  add_measure_options(command, o);
  command.add_option("--name", o.name, "Prefix of files and C functions, for a single model")
      ->type_name("NAME");
  command.add_option("--emit", o.emit, "Any of so, a, h, o, ll, asm")
      ->capture_default_str()
      ->type_name("KIND,...");
  add_shape_options(command, o.model);
  add_build_options(command, o.model);
  add_optimize_option(command, o.model);
}

}  // namespace tenon::tools
