// SPDX-License-Identifier: Apache-2.0
// tenon explain: what becomes of a tensor expression under a schedule, at any stage of the way.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "backend/backend.h"
#include "compile/accuracy.h"
#include "ir/print.h"
#include "te/text.h"
#include "tools/tenon/command.h"
#include "tools/tenon/json.h"
#include "tools/tenon/program.h"
#include "tools/tenon/summary.h"
#include "tools/tenon/tasks.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

using backend::llvm_cpu::Emit;

struct ExplainOptions {
  ProgramOptions program;
  ModelOptions model;
  std::string task;
  std::vector<std::string> show = {"loops", "summary", "accuracy"};
};

std::string emit_text(const Program& program, Emit kind) {
  return backend::llvm_cpu::emit(lower_program(program), program.state.target(), kind).bytes;
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
  compile::Errors errors;
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

struct Section {
  std::string_view name;
  Json (*show)(const Program& program, bool json);
};

constexpr Section kSections[] = {
    {"te", show_te},   {"trace", show_trace},     {"loops", show_loops},
    {"ir", show_ir},   {"llvm", show_llvm},       {"llvm-opt", show_llvm_opt},
    {"asm", show_asm}, {"summary", show_summary}, {"accuracy", show_accuracy},
};
constexpr std::string_view kSectionNames =
    "te, trace, loops, ir, pass:NAME, llvm, llvm-opt, asm, summary, accuracy";
constexpr std::string_view kPassPrefix = "pass:";

Json show_section(const Program& program, const std::string& name, bool json) {
  for (const Section& section : kSections) {
    if (section.name == name) {
      return section.show(program, json);
    }
  }
  if (name.starts_with(kPassPrefix)) {
    lower::RunOptions options;
    options.stop_after = name.substr(kPassPrefix.size());
    if (!options.stop_after.empty()) {
      return ir::to_string(lower_program(program, options));
    }
  }
  throw UserError(fmt::format("--show: there is nothing called '{}'", name),
                  fmt::format("it is one of {}", kSectionNames));
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
    text += fmt::format("{:<24} {:<16}  {:>5}  {:>9.2f}  {:<22} {:<10} {:>8}  {}\n", t.kernel,
                        t.task, t.calls, t.flops * 1e-6, t.origin, t.algorithm,
                        t.algorithm.empty() ? "" : fmt::format("{:.1e}", t.error),
                        t.nodes.empty() ? "" : t.nodes.front());
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

int explain(ExplainOptions& options, const Console& console) {
  const bool te = !options.program.te_file.empty();
  if (te == !options.model.path.empty()) {
    throw UserError("give either a model (or an artifact) or --te",
                    "tenon explain -h shows its use");
  }
  if (te) {
    options.program.target = options.model.target;
    return explain_program(load_program(options.program), options, console);
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
  command.add_option("--show", options->show, fmt::format("Any of {}", kSectionNames))
      ->delimiter(',')
      ->type_name("WHAT,...")
      ->capture_default_str();
  add_compile_options(command, options->model);
  add_te_options(command, options->program);
  return [options, &console] { return explain(*options, console); };
}

}  // namespace tenon::tools
