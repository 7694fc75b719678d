// SPDX-License-Identifier: Apache-2.0
// What the tuner makes of the options of `tenon tune`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "cost/model.h"
#include "files/file.h"
#include "history/model_file.h"
#include "history/program_table.h"
#include "runtime/cpus.h"
#include "search/strategy/strategy.h"
#include "support/nearest.h"
#include "support/private_folder.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/tune/options.h"
#include "tools/tenon/commands/tune/words.h"
#include "tools/tenon/given_plan.h"
#include "tools/tenon/helper_tools.h"
#include "tools/tenon/model_program.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultBudget = "5m";

// A missing plug-in, a file that is no agent, and a folder that takes none are found before any
// work is done.
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

// On the pretend device nothing depends on when it runs, nor on what happens to lie beside the
// program.
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

void set_compile(const TuneOptions& o, compile::Options& c) {
  c.target = target_of(o.model);
  if (!o.sim && !target::runs_here(c.target)) {
    throw CommandError(kExitUnreachable,
                       fmt::format("target '{}' does not run on this machine, so nothing can be "
                                   "measured for it (tenon compile builds for it)",
                                   c.target.name));
  }
  c.fuse = !o.model.no_fuse;
  c.accuracy = accuracy_of(o.model);
  c.lean = o.model.optimize == "memory";
  c.threads = o.model.compile_threads;
  c.row_major = o.layouts == "row-major";
  c.plan = locked_plan(o.model);
}

void set_budget(const TuneOptions& o, tune::SessionOptions& s) {
  const bool open_end = o.budget.empty() && o.trials == 0;
  if (o.budget.empty() && !open_end) return;
  s.budget_s = parse_duration(open_end ? kDefaultBudget : o.budget, "--budget");
}

void set_tuner(const TuneOptions& o, tune::TunerOptions& t) {
  t.seed = o.seed;
  t.space = o.space;
  t.strategy = o.strategy;
  t.verify = find(kVerify, o.verify);
  t.trials = o.trials;
  t.round = o.round;
  t.threads = o.search_threads > 0 ? o.search_threads : runtime::default_threads();
  t.search.population = o.population > 0 ? o.population : t.search.population;
  t.scheduler.objective = find(kObjectives, o.objective);
  t.scheduler.early_stop = o.objective == "early-stop" ? o.early_stop : 0;
}

// A row of the table, or a file.
void set_cost_model(const TuneOptions& o, tune::TunerOptions& t) {
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
}

}  // namespace

tune::SessionOptions session_options(const TuneOptions& o) {
  tune::SessionOptions s;
  set_compile(o, s.compile);
  s.outputs = artifact::parse_outputs(o.emit);
  s.threads = protocol_of(o).threads;
  s.tasks = o.tasks;
  set_budget(o, s);
  s.pairs.on = find(kOnOff, o.pairs);
  s.transplant = find(kOnOff, o.transplant);
  s.layouts.strategy = o.layouts == "fixed" || o.layouts == "row-major" ? "" : o.layouts;
  set_layout_agent(o, s.layouts);
  set_tuner(o, s.tuner);
  s.save_cost_model = o.save_cost_model;
  if (!o.save_cost_model.empty()) PrivateFolder::beside(o.save_cost_model);  // or tell it now
  set_cost_model(o, s.tuner);
  tune::TunerOptions& t = s.tuner;
  if (find(kOnOff, o.history) && t.cost_model_file.empty() && t.cost_model != "random") {
    s.history = history_options(o);
    t.networks = (history::models_folder(s.history->database) / "networks").string();
  }
  return s;
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

task::Protocol protocol_of(const TuneOptions& o) {
  task::Protocol p;
  // The cores of the machine around it are nothing to a GPU.
  const bool gpu = !target_of(o.model).is_cpu();
  p.threads = gpu ? 1 : o.threads > 0 ? o.threads : runtime::default_threads();
  p.cold = !o.warm;
  return p;
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

}  // namespace tenon::tools
