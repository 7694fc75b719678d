// SPDX-License-Identifier: Apache-2.0
// tenon explain: what becomes of a tensor expression under a schedule, at any stage of the way.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "files/file.h"
#include "measure/measure.h"
#include "report/network/network_html.h"
#include "report/network/network_json.h"
#include "report/network/network_records.h"
#include "report/network/network_text.h"
#include "runtime/cpus.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/explain/sections.h"
#include "tools/tenon/commands/explain/why.h"
#include "tools/tenon/db_source.h"
#include "tools/tenon/json.h"
#include "tools/tenon/model_program.h"
#include "tools/tenon/network_source.h"
#include "tools/tenon/program.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

struct ExplainOptions {
  ProgramOptions program;
  ModelOptions model;
  std::string task;
  std::string why;
  std::vector<std::string> show = {"loops", "summary", "accuracy"};
  std::string html, db;
  bool measure = false;
  int threads = 0;
};

constexpr const char* kStdout = "-";

Json list_json(const compile::TaskList& list) {
  Json tasks = Json::array();
  for (const compile::TaskText& t : list.tasks) {
    Json row = {{"kernel", t.kernel}, {"task", t.task}, {"origin", t.origin}};
    if (!t.algorithm.empty()) {
      row["algorithm"] = t.algorithm;
      row["error"] = t.error;
      row["direct_error"] = t.direct_error;
    }
    row["calls"] = t.calls;
    row["flops"] = t.flops;
    row["nodes"] = t.nodes;
    tasks.push_back(std::move(row));
  }
  return {{"schema", "tenon.explain/1"}, {"model", list.model}, {"tasks", tasks}};
}

// Errors are against float64 on random data, relative to the largest value.
std::string list_text(const compile::TaskList& list) {
  std::string text =
      fmt::format("{:<24} {:<16}  {:>5}  {:>9}  {:<22} {:<10} {:>8}  {}\n", "kernel", "task",
                  "calls", "MFLOP", "schedule", "algorithm", "error", "first node of the model");
  for (const compile::TaskText& t : list.tasks) {
    text +=
        fmt::format("{:<24} {:<16}  {:>5}  {:>9.2f}  {:<22} {:<10} {:>8}  {}\n", escaped(t.kernel),
                    escaped(t.task), t.calls, t.flops * 1e-6, escaped(t.origin),
                    escaped(t.algorithm), t.algorithm.empty() ? "" : fmt::format("{:.1e}", t.error),
                    escaped(t.nodes.empty() ? "" : t.nodes.front()));
  }
  return text;
}

int explain_program(const Program& program, const ExplainOptions& options, const Console& console) {
  Json sections = Json::object();
  for (const std::string& name : options.show) {
    sections[name] = show_section(program, name, console.json());
  }
  if (console.json()) {
    const Json answer = {{"schema", "tenon.explain/1"},
                         {"te", program.name},
                         {"target", program.state.target().fingerprint()},
                         {"sections", sections}};
    console.answer(tools::to_text(answer));
    return kExitOk;
  }
  std::string all;
  for (const auto& [name, text] : sections.items()) {
    all += sections.size() > 1 ? fmt::format("== {}\n", name) : "";
    all += text.get<std::string>() + "\n";
  }
  console.answer(all);
  return kExitOk;
}

void reject_with_layouts(const ExplainOptions& options) {
  if (!options.program.te_file.empty() || !options.task.empty() || options.show.size() > 1) {
    throw UserError("--show layouts is about a whole model or artifact",
                    "it goes without --te, --task and other sections");
  }
  if (options.measure && !options.db.empty()) {
    throw UserError("times are from --measure or from --db, not from both");
  }
}

report::Network network_of(const ExplainOptions& options, const Console& console) {
  if (options.measure) return measure_network(options.model, options.threads, console);
  report::Network network = load_network(options.model, console);
  if (options.db.empty()) return network;
  task::Protocol protocol;
  protocol.threads = options.threads > 0 ? options.threads : runtime::default_threads();
  add_records(network, *open_db_to_read({options.db}),
              measure::measured_target(target_of(options.model)), task::to_string(protocol));
  return network;
}

int explain_layouts(const ExplainOptions& options, const Console& console) {
  const bool page_is_answer = options.html == kStdout;
  if (page_is_answer && console.json()) {
    throw UserError("only one of --html and --json can go to standard output");
  }
  const report::Network network = network_of(options, console);
  if (page_is_answer) {
    console.answer(report::network_page(network));
  } else if (!options.html.empty()) {
    files::write_file(options.html, report::network_page(network));
    console.note(fmt::format("wrote    {}", options.html));
  }
  if (console.json()) {
    Json answer = {{"schema", "tenon.explain/1"}};
    answer.update(report::network_json(network));
    console.answer(tools::to_text(answer));
  } else if (options.html.empty()) {
    console.answer(report::to_text(network));
  }
  return kExitOk;
}

int explain(ExplainOptions& options, const Console& console) {
  check_sections(options.show);
  const bool layouts =
      std::find(options.show.begin(), options.show.end(), kLayouts) != options.show.end();
  if (layouts) {
    reject_with_layouts(options);
  } else if (options.measure || options.threads > 0 || !(options.html + options.db).empty()) {
    throw UserError("--measure, --db, --threads and --html go with --show layouts");
  }
  const bool te = !options.program.te_file.empty();
  if (te == !options.model.path.empty()) {
    throw UserError("give either a model (or an artifact) or --te",
                    "tenon explain -h shows its use");
  }
  if (te) {
    options.program.target = options.model.target;
    return explain_program(load_program(options.program), options, console);
  }
  if (layouts) {
    return explain_layouts(options, console);
  }
  if (!options.why.empty()) return explain_why(options.model, options.why, console);
  const compile::TaskList list = load_tasks(options.model, console);
  if (options.task.empty()) {
    console.answer(console.json() ? tools::to_text(list_json(list)) : list_text(list));
    return kExitOk;
  }
  const compile::TaskText& task = find_task(list, options.task);
  return explain_program(make_program({task.kernel, task.te, task.trace}, list.target), options,
                         console);
}

}  // namespace

Run add_explain(CLI::App& command, Console& console) {
  const auto options = std::make_shared<ExplainOptions>();
  add_import_options(command, options->model)->required(false);
  command
      .add_option("--task", options->task, "Kernel, task or node of the model (default: list them)")
      ->type_name("NAME");
  command
      .add_option("--why", options->why,
                  "Of a task: what the value function decides, expects, and had to choose from")
      ->type_name("TASK");
  command
      .add_option("--show", options->show,
                  fmt::format("Any of {}; of a whole model {}: algorithms, layouts and conversions "
                              "along its graph",
                              kSectionNames, kLayouts))
      ->delimiter(',')
      ->type_name("WHAT,...")
      ->capture_default_str();
  command.add_option("--html", options->html, "With --show layouts: write a page with a picture")
      ->type_name("FILE");
  command.add_flag("--measure", options->measure,
                   "With --show layouts: run the network and time its steps and conversions");
  command
      .add_option("--db", options->db,
                  "With --show layouts: what conversions cost by the records of a database")
      ->type_name("FILE");
  command
      .add_option("--threads", options->threads, "Of --measure and --db (default: one per core)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  add_compile_options(command, options->model);
  add_te_options(command, options->program);
  return [options, &console] { return explain(*options, console); };
}

}  // namespace tenon::tools
