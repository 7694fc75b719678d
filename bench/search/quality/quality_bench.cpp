// SPDX-License-Identifier: Apache-2.0
// How good a program each way of searching finds in a number of trials: arms x tasks x seeds, on as
// many lanes as the machine has cores for, as one JSON document. quality.py makes a table and a
// picture of it.
//
//   quality_bench --trials 128 --seeds 3 --lanes 8 --deadline 480 --json quality.json
//   quality_bench --list
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "bench/search/cases.h"
#include "bench/search/quality/contest.h"
#include "support/check.h"

namespace tenon::quality {
namespace {

namespace fs = std::filesystem;

struct Options {
  ContestOptions contest;
  std::string json = "-";
  bool worker = false, list = false;
};

// Beside this program, as in the folder that travels, or where the build leaves it.
std::string tool(const std::string& name) {
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& place : {here / name, here / "../../../tools/tenon" / name}) {
    if (fs::exists(place)) return fs::canonical(place.parent_path()) / name;
  }
  throw UserError(fmt::format("{} is missing: it should lie beside {}", name, here.string()));
}

void list_rows(const Given& given) {
  for (const Arm& a : arms()) {
    const std::string why = why_missing(a, given);
    fmt::print("arm   {:<34} {}\n", a.name, why.empty() ? "" : "missing: " + why);
  }
  for (const search::Case& c : search::cases()) {
    if (c.group != search::CaseGroup::kOther) {
      fmt::print("task  {:<34} {}\n", c.name, search::to_string(c.group));
    }
  }
}

// "known" and "held-out" mean all tasks of that group, "random:50" the first 50 of random shapes.
std::vector<std::string> expand(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const size_t before = out.size();
    for (const search::Case& c : search::cases()) {
      if (name == search::to_string(c.group)) out.emplace_back(c.name);
    }
    if (name.starts_with("random:")) {
      for (int i = 0; i < std::stoi(name.substr(7)); ++i) out.push_back(fmt::format("random{}", i));
    }
    if (out.size() == before) out.push_back(name);
  }
  return out;
}

void add_options(CLI::App& app, Options& o) {
  ContestOptions& c = o.contest;
  for (const Arm& a : arms()) c.arms.emplace_back(a.name);
  c.tasks = {"known", "held-out"};
  app.add_option("--arms", c.arms, "Which to compare (default: all)")->delimiter(',');
  app.add_option("--tasks", c.tasks, "Names, .te files, 'known', 'held-out', 'random:N'")
      ->delimiter(',');
  app.add_option("--seeds", c.seeds, "Searches of each arm and task")->capture_default_str();
  app.add_option("--first-seed", c.first_seed, "To go on after another part")
      ->capture_default_str();
  app.add_option("--trials", c.trials, "Programs that each may measure")->capture_default_str();
  app.add_option("--round", c.worker.round, "Programs of a round")->capture_default_str();
  app.add_option("--lanes", c.lanes, "Searches at once (default: one for each two cores)");
  app.add_option("--threads", c.worker.threads, "Threads of programs")->capture_default_str();
  app.add_option("--deadline", c.deadline_s, "Seconds after which nothing more is begun");
  app.add_option("--finals", c.finals_s, "Seconds of a task's final times")->capture_default_str();
  app.add_option("--history", c.worker.given.history,
                 "Trained models, for arms that begin with one of their kind")
      ->delimiter(',');
  app.add_option("--programs", c.worker.given.programs,
                 "A table of good programs (tenon db programs), for arms that begin with some");
  app.add_option("--value", c.worker.given.value,
                 "A value function (tenon model value), for arms that begin with what it finds");
  app.add_option("--json", o.json, "File to write ('-': standard output)")->capture_default_str();
  app.add_flag("--sim", c.worker.sim, "On the pretend device");
  app.add_flag("--quiet", c.quiet, "Say nothing on the way");
  app.add_flag("--list", o.list, "List arms and tasks");
  app.add_option("--population", c.worker.population)->group("");
  app.add_flag("--worker", o.worker)->group("");
  app.add_option("--cpus", c.worker.cpus)->delimiter(',')->group("");
  app.add_option("--build-tool", c.worker.build_tool)->group("");
  app.add_option("--run-tool", c.worker.run_tool)->group("");
}

int run(Options& o) {
  ContestOptions& c = o.contest;
  if (o.worker) return serve(c.worker);
  if (o.list) {
    list_rows(c.worker.given);
    return 0;
  }
  if (!c.worker.sim && c.worker.build_tool.empty()) {
    c.worker.build_tool = tool("tenon-build");
    c.worker.run_tool = tool("tenon-run");
  }
  c.tasks = expand(c.tasks);
  const nlohmann::json document = contest(c, fs::read_symlink("/proc/self/exe"));
  std::ofstream file;
  if (o.json != "-") file.open(o.json);
  std::ostream& out = o.json == "-" ? std::cout : file;
  out << document.dump() << '\n' << std::flush;
  if (!out) throw UserError(fmt::format("cannot write {}", o.json));
  return document.at("runs").empty() ? 5 : 0;
}

}  // namespace
}  // namespace tenon::quality

int main(int argc, char** argv) {
  CLI::App app("How good a program each way of searching finds in a number of trials");
  tenon::quality::Options options;
  tenon::quality::add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    return tenon::quality::run(options);
  } catch (const std::exception& e) {
    fmt::print(stderr, "quality_bench: {}\n", e.what());
    return 2;
  }
}
