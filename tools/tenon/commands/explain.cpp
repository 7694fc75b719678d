// SPDX-License-Identifier: Apache-2.0
// tenon explain: what becomes of a tensor expression under a schedule, at any stage of the way.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "backend/backend.h"
#include "files/file.h"
#include "ir/print.h"
#include "measure/measure.h"
#include "plan/accuracy.h"
#include "report/network/network_html.h"
#include "report/network/network_json.h"
#include "report/network/network_text.h"
#include "runtime/cpus.h"
#include "te/text.h"
#include "tools/tenon/command.h"
#include "tools/tenon/db_source.h"
#include "tools/tenon/gpu_code.h"
#include "tools/tenon/json.h"
#include "tools/tenon/network_source.h"
#include "tools/tenon/program.h"
#include "tools/tenon/summary.h"
#include "tools/tenon/tasks.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

using backend::Emit;

struct ExplainOptions {
  ProgramOptions program;
  ModelOptions model;
  std::string task;
  std::vector<std::string> show = {"loops", "summary", "accuracy"};
  std::string html, db;
  bool measure = false;
  int threads = 0;
};

std::string emit_text(const Program& program, Emit kind) {
  return backend::emit(lower_program(program), program.state.target(), kind).bytes;
}

Json to_json(const CodeCounts& counts) {
  return {{"instructions", counts.instructions},
          {"multiply_adds", counts.multiply_adds},
          {"spills", counts.spills},
          {"reloads", counts.reloads}};
}

Json to_json(const StageSummary& stage) {
  Json loops = Json::array();
  for (const LoopSummary& loop : stage.loops) {
    loops.push_back({{"name", loop.name},
                     {"extent", loop.extent},
                     {"reduction", loop.reduction},
                     {"how", loop.how}});
  }
  return {{"name", stage.name},
          {"place", stage.place},
          {"storage", stage.storage},
          {"layout", stage.layout},
          {"loops", loops}};
}

// Text sections are JSON strings; the summary is an object in JSON and text for people.
Json show_summary(const Program& program, bool json) {
  const std::vector<StageSummary> stages = summarize_stages(program.state);
  const CodeSummary code = summarize_assembly(emit_text(program, Emit::kAssembly));
  if (!json) {
    return to_text(stages, code);
  }
  Json list = Json::array();
  for (const StageSummary& stage : stages) {
    list.push_back(to_json(stage));
  }
  return {{"stages", list}, {"code", to_json(code.all)}, {"hottest_block", to_json(code.hottest)}};
}

// By which algorithm sums of products are computed, and what its rounding costs.
Json show_accuracy(const Program& program, bool json) {
  plan::Errors errors;
  const auto e = errors.of(program.initial, program.trace);
  if (json) {
    return !e ? Json()
              : Json{{"algorithm", e->algorithm},
                     {"error", e->error.relative},
                     {"direct_error", e->error.direct}};
  }
  if (!e) return "no sums of products in float32\n";
  return fmt::format(
      "algorithm {}, error {:.1e} of the largest value against float64 on random data "
      "(direct float32: {:.1e})\n",
      e->algorithm, e->error.relative, e->error.direct);
}

Json show_te(const Program& p, bool) { return te::to_text(p.state.dag()); }
Json show_trace(const Program& p, bool) { return schedule::to_text(p.trace, p.initial); }
Json show_loops(const Program& p, bool) { return schedule::to_string(p.state); }
Json show_ir(const Program& p, bool) { return ir::to_string(lower_program(p)); }
Json show_llvm(const Program& p, bool) { return emit_text(p, Emit::kLlvmIr); }
Json show_llvm_opt(const Program& p, bool) { return emit_text(p, Emit::kOptimizedIr); }
Json show_asm(const Program& p, bool) { return emit_text(p, Emit::kAssembly); }

void check_is_gpu(const Program& p, const char* name) {
  if (!p.state.target().is_cpu()) return;
  throw UserError(fmt::format("--show {}: target '{}' is no GPU", name, p.state.target().name),
                  "its code is --show asm");
}
Json show_ptx(const Program& p, bool) {
  check_is_gpu(p, "ptx");
  return launches_as_comments(emit_text(p, Emit::kObject), p.state.target()) +
         emit_text(p, Emit::kAssembly);
}
Json show_launches(const Program& p, bool) {
  check_is_gpu(p, "launches");
  return describe_launches(emit_text(p, Emit::kObject), p.state.target());
}
Json show_sass(const Program& p, bool) {
  check_is_gpu(p, "sass");
  const std::string module = emit_text(p, Emit::kObject);
  return launches_as_comments(module, p.state.target()) + disassemble(module);
}

struct Section {
  std::string_view name;
  Json (*show)(const Program& program, bool json);
};

constexpr Section kSections[] = {
    {"te", show_te},   {"trace", show_trace},     {"loops", show_loops},
    {"ir", show_ir},   {"llvm", show_llvm},       {"llvm-opt", show_llvm_opt},
    {"asm", show_asm}, {"summary", show_summary}, {"accuracy", show_accuracy},
    {"ptx", show_ptx}, {"sass", show_sass},       {"launches", show_launches},
};
constexpr std::string_view kSectionNames =
    "te, trace, loops, ir, pass:NAME, llvm, llvm-opt, asm, ptx, sass, launches, summary, accuracy";
constexpr std::string_view kPassPrefix = "pass:";
constexpr const char* kStdout = "-";
constexpr std::string_view kLayouts = "layouts";  // of a whole model, not of a task

const Section* find_section(const std::string& name) {
  const auto* const found = std::find_if(std::begin(kSections), std::end(kSections),
                                         [&](const Section& s) { return s.name == name; });
  return found == std::end(kSections) ? nullptr : found;
}

// Before anything is read or compiled, so that a wrong name is not passed over where tasks are only listed.
void check_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool pass = name.starts_with(kPassPrefix) && name.size() > kPassPrefix.size();
    if (pass || name == kLayouts || find_section(name) != nullptr) continue;
    throw UserError(
        fmt::format("--show: there is nothing called '{}'", name),
        fmt::format("it is one of {}, or of a whole model {}", kSectionNames, kLayouts));
  }
}

Json show_section(const Program& program, const std::string& name, bool json) {
  if (const Section* section = find_section(name)) return section->show(program, json);
  lower::RunOptions options;
  options.stop_after = name.substr(kPassPrefix.size());
  return ir::to_string(lower_program(program, options));
}

Json list_json(const TaskList& list) {
  Json tasks = Json::array();
  for (const TaskText& t : list.tasks) {
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
std::string list_text(const TaskList& list) {
  std::string text =
      fmt::format("{:<24} {:<16}  {:>5}  {:>9}  {:<22} {:<10} {:>8}  {}\n", "kernel", "task",
                  "calls", "MFLOP", "schedule", "algorithm", "error", "first node of the model");
  for (const TaskText& t : list.tasks) {
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
  check_names(options.show);
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
  const TaskList list = load_tasks(options.model, console);
  if (options.task.empty()) {
    console.answer(console.json() ? tools::to_text(list_json(list)) : list_text(list));
    return kExitOk;
  }
  const TaskText& task = find_task(list, options.task);
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
