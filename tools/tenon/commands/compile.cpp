// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <sstream>

#include "artifact/levels.h"
#include "artifact/sizes_text.h"
#include "artifact/write.h"
#include "measure/measure.h"
#include "runtime/cpus.h"
#include "tools/tenon/command.h"
#include "tools/tenon/db_source.h"
#include "tools/tenon/given_plan.h"
#include "tools/tenon/json.h"
#include "tools/tenon/model_program.h"
#include "tools/tenon/model_source.h"
#include "tools/tenon/text.h"
#include "tune/best_schedules.h"

namespace tenon::tools {
namespace {

struct CompileOptions {
  ModelOptions model;
  std::string output;
  std::string name;
  std::string emit = "so,h";
  std::string db;
  int threads = 0;
};

// What the last run kept of this model, or the best verified records, of this target and number of threads.
tune::BestRecords recorded(const CompileOptions& options) {
  const target::Target target = target_of(options.model);
  task::Protocol protocol;
  // The cores of the machine around it are nothing to a GPU.
  protocol.threads = !target.is_cpu()      ? 1
                     : options.threads > 0 ? options.threads
                                           : runtime::default_threads();
  return tune::records_for(*open_db_to_read({options.db}), target,
                           {model_name(options.model, options.name),
                            measure::measured_target(target), task::to_string(protocol)},
                           options.model.frozen);
}

// How many tasks each origin gave a program: "template conv" 20, "lock" 3. A task of one size is one kernel.
std::map<std::string, int> origins(const artifact::Program& program) {
  std::map<std::string, int> counts;
  for (const plan::TaskPlan& task : program.plan.tasks) {
    ++counts[task.origin];
  }
  return counts;
}

double total_flops(const artifact::Program& program) {
  double flops = 0;
  for (const artifact::Step& step : program.steps) {
    flops += program.kernels[static_cast<size_t>(step.kernel)].flops;
  }
  return flops;
}

Json sizes_json(const artifact::Program& program) {
  Json list = Json::array();
  for (const artifact::Dim& d : program.dims) {
    list.push_back({{"name", d.name}, {"values", d.values}, {"compiled", d.compiled}});
  }
  return list;
}

Json to_json(const Compiled& c, const artifact::Written& w,
             const std::vector<std::string>& targets) {
  Json tensors = Json::object();
  for (const auto& [key, list] :
       {std::pair{"inputs", &c.program.inputs}, {"outputs", &c.program.outputs}}) {
    tensors[key] = Json::array();
    for (const artifact::TensorInfo& t : *list) {
      tensors[key].push_back(
          {{"name", t.name}, {"dtype", ir::to_string(t.dtype)}, {"shape", t.shape}});
    }
  }
  return {{"schema", "tenon.compile/1"},
          {"name", c.program.name},
          {"target", c.program.target.fingerprint()},
          {"targets", targets},
          {"directory", w.directory.string()},
          {"files", w.files},
          {"inputs", tensors["inputs"]},
          {"outputs", tensors["outputs"]},
          {"nodes", c.info.nodes},
          {"parameters", c.info.parameters},
          {"steps", c.program.steps.size()},
          {"kernels", c.program.kernels.size()},
          {"sizes", sizes_json(c.program)},
          {"origins", origins(c.program)},
          {"flops", total_flops(c.program)},
          {"parameter_bytes", c.info.parameter_bytes},
          {"weights_bytes", c.program.weights_bytes},
          {"arena_bytes", c.program.arena_bytes},
          {"time_s",
           {{"import", c.import_s},
            {"schedule", c.compile_s},
            {"code", w.compile_s},
            {"weights", w.weights_s},
            {"link", w.link_s}}}};
}

// "sizes    batch 1..8, seq 16..512:16: 256 in 31 kernels"
std::string sizes_text(const artifact::Program& program) {
  if (program.dims.empty()) {
    return "";
  }
  std::vector<std::string> parts;
  for (const artifact::Dim& d : program.dims) {
    parts.push_back(fmt::format("{} {}", escaped(d.name), artifact::values_text(d.values)));
    if (d.compiled != d.values) {
      parts.back() += fmt::format(" ({} {})", d.padded ? "padded to" : "put together of",
                                  fmt::join(d.compiled, ", "));
    }
  }
  return fmt::format("sizes    {}; {} compiled\n", fmt::join(parts, ", "), program.variants.size());
}

std::string to_text(const Compiled& c, const artifact::Written& w,
                    const std::vector<std::string>& targets) {
  std::vector<std::string> from;
  for (const auto& [origin, count] : origins(c.program)) {
    from.push_back(fmt::format("{} {}", count, origin));
  }
  std::string text =
      fmt::format("{}{}  {}  {}  {:.3g} GFLOP\n", c.program.name, opset_text(c.info),
                  counted(c.info.nodes, "node"), counted(c.info.parameters, "parameter"),
                  total_flops(c.program) * 1e-9);
  text += fmt::format(
      "kernels  {} for {}{}{}\n", c.program.kernels.size(), counted(c.program.steps.size(), "step"),
      c.program.dims.empty()
          ? ""
          : fmt::format(" of each size; {}", counted(c.program.plan.tasks.size(), "task")),
      from.empty() ? "" : fmt::format(": {}", fmt::join(from, ", ")));
  text += sizes_text(c.program);
  if (targets.size() > 1) {
    text +=
        fmt::format("targets  {}; what is said here is of the last\n", fmt::join(targets, ", "));
  }
  text += fmt::format("memory   weights {} of {} parameters, arena {}\n",
                      bytes_text(static_cast<double>(c.program.weights_bytes)),
                      bytes_text(static_cast<double>(c.info.parameter_bytes)),
                      bytes_text(static_cast<double>(c.program.arena_bytes)));
  text += fmt::format("time     import {}, schedule {}, code {}, weights {}, link {}\n",
                      time_text(c.import_s), time_text(c.compile_s), time_text(w.compile_s),
                      time_text(w.weights_s), time_text(w.link_s));
  return text +
         fmt::format("wrote    {}: {}\n", escaped(w.directory.string()), fmt::join(w.files, " "));
}

// "x86-64-v2,x86-64-v3": a library for each of them, in one.
std::vector<std::string> targets_of(const CompileOptions& options) {
  std::vector<std::string> targets;
  std::istringstream in(options.model.target);
  for (std::string t; std::getline(in, t, ',');) targets.push_back(t);
  return targets;
}

void take_records(CompileOptions& options, const Console& console) {
  tune::BestRecords best = recorded(options);
  if (!best.run.empty()) {
    console.note(fmt::format("records  {}what run {} kept at its end", target_prefix(options.model),
                             best.run));
  }
  options.model.judged = std::move(best.judged);
  options.model.records = std::move(best.plan);
  options.model.records_from = options.db;
  options.model.layout_times = std::move(best.layout_times);
}

int compile_command(CompileOptions& options, const Console& console) {
  const artifact::Outputs outputs = artifact::parse_outputs(options.emit);
  if (options.model.schedules == "db" && options.db.empty()) options.db = default_db_file();
  const std::vector<std::string> targets = targets_of(options);
  tell_name(options.model, options.name, console);
  std::vector<artifact::Program> levels;
  Compiled compiled;
  options.model.targets = targets;
  for (const std::string& target : targets) {
    options.model.target = target;
    options.model.batch =
        target_of(options.model).is_cpu() ? onnx::parse_sizes("1..8", "") : onnx::Sizes{1};
    if (!options.db.empty()) take_records(options, console);
    compiled = compile_model(options.model, options.name, console);
    options.model.sizes_told = true;
    levels.push_back(compiled.program);
  }
  const std::string folder =
      options.output.empty() ? compiled.program.name + ".tenon" : options.output;
  levels = artifact::join_levels(std::move(levels));
  const artifact::Written written =
      artifact::write(levels, {folder, outputs, options.model.compile_threads});
  compiled.program = std::move(levels.back());
  console.answer(console.json() ? tools::to_text(to_json(compiled, written, targets))
                                : to_text(compiled, written, targets));
  return kExitOk;
}

}  // namespace

Run add_compile(CLI::App& command, Console& console) {
  const auto options = std::make_shared<CompileOptions>();
  add_import_options(command, options->model, Takes::kModel);
  command.add_option("-o,--output", options->output, "Folder to write (default: NAME.tenon)")
      ->type_name("DIR");
  command
      .add_option("--name", options->name,
                  "Prefix of files and C functions (default: from the file)")
      ->type_name("NAME");
  command
      .add_option("--emit", options->emit,
                  "Any of so, a, h, o, ll, asm, and embed: the weights inside the library")
      ->capture_default_str()
      ->type_name("KIND,...");
  add_compile_options(command, options->model);
  command
      .add_option("--db", options->db,
                  "Use the best verified records of a database, without measuring")
      ->type_name("FILE");
  command
      .add_option("--threads", options->threads,
                  "Number of threads whose records --db gives (default: all cores)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  return [options, &console] { return compile_command(*options, console); };
}

}  // namespace tenon::tools
