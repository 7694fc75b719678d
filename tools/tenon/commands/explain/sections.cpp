// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/commands/explain/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "backend/backend.h"
#include "ir/print.h"
#include "plan/accuracy.h"
#include "report/program/assembly.h"
#include "report/program/gpu_code.h"
#include "report/program/summary.h"
#include "support/check.h"
#include "te/text.h"

namespace tenon::tools {
namespace {

using backend::Emit;

std::string emit_text(const Program& program, Emit kind) {
  return backend::emit(lower_program(program), program.state.target(), kind).bytes;
}

Json to_json(const report::CodeCounts& counts) {
  return {{"instructions", counts.instructions},
          {"multiply_adds", counts.multiply_adds},
          {"spills", counts.spills},
          {"reloads", counts.reloads}};
}

Json to_json(const report::StageSummary& stage) {
  Json loops = Json::array();
  for (const report::LoopSummary& loop : stage.loops) {
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
  const std::vector<report::StageSummary> stages = report::summarize_stages(program.state);
  const report::CodeSummary code = report::summarize_assembly(emit_text(program, Emit::kAssembly));
  if (!json) {
    return report::to_text(stages, code);
  }
  Json list = Json::array();
  for (const report::StageSummary& stage : stages) {
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
  return report::launches_as_comments(emit_text(p, Emit::kObject), p.state.target()) +
         emit_text(p, Emit::kAssembly);
}
Json show_launches(const Program& p, bool) {
  check_is_gpu(p, "launches");
  return report::describe_launches(emit_text(p, Emit::kObject), p.state.target());
}
Json show_sass(const Program& p, bool) {
  check_is_gpu(p, "sass");
  const std::string module = emit_text(p, Emit::kObject);
  return report::launches_as_comments(module, p.state.target()) + report::disassemble(module);
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
constexpr std::string_view kPassPrefix = "pass:";

const Section* find_section(const std::string& name) {
  const auto* const found = std::find_if(std::begin(kSections), std::end(kSections),
                                         [&](const Section& s) { return s.name == name; });
  return found == std::end(kSections) ? nullptr : found;
}

}  // namespace

void check_sections(const std::vector<std::string>& names) {
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

}  // namespace tenon::tools
