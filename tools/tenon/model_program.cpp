// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/model_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>

#include "artifact/library.h"
#include "artifact/write.h"
#include "compile/sizes.h"
#include "tools/tenon/calibration.h"
#include "tools/tenon/command.h"
#include "tools/tenon/given_plan.h"
#include "tools/tenon/helper_tools.h"
#include "tools/tenon/misses.h"
#include "tools/tenon/model_source.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

namespace fs = std::filesystem;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// " at batch=8,seq=600"
std::string sizes_text(const onnx::OpenSizes& open, const std::vector<int64_t>& sizes) {
  std::vector<std::string> parts;
  for (size_t d = 0; d < sizes.size(); ++d) {
    parts.push_back(fmt::format("{}={}", open.dims[d].name, sizes[d]));
  }
  return fmt::format(" at {}", fmt::join(parts, ","));
}

}  // namespace

templates::Accuracy accuracy_of(const ModelOptions& options) {
  return options.accuracy == "strict" ? templates::Accuracy::kStrict
         : options.accuracy == "fast" ? templates::Accuracy::kFast
                                      : templates::Accuracy::kDefault;
}

namespace {

// Layouts that records speak for may need steps that no record has; frozen, the first layouts will
// do.
plan::Network decide_recorded(const graph::Graph& g, const std::string& name,
                              compile::Options how) {
  if (how.frozen && !how.layout_times.empty()) {
    try {
      return compile::decide(g, name, how);
    } catch (const compile::MissingSchedule&) {
      how.layout_times = {};
    }
  }
  return compile::decide(g, name, how);
}

compile::Options options_for(const ModelOptions& options, const Console& console) {
  compile::Options how;
  how.accuracy = accuracy_of(options);
  how.target = target_of(options);
  how.fuse = !options.no_fuse;
  how.frozen = options.frozen;
  how.lean = options.optimize == "memory";
  how.threads = options.compile_threads;
  how.warn = [&console, prefix = target_prefix(options)](const std::string& text) {
    console.warn(prefix + text);
  };
  how.plan = locked_plan(options);
  if (options.lock.empty()) how.layout_times = options.layout_times;
  how.plan.add(options.records);
  how.known = options.schedules == "instant"
                  ? instant_programs(find_instant(options.instant, how.target, console))
                  : shipped_programs(how.target);
  return how;
}

std::function<void(const std::string&, size_t, size_t)> shown_on(Progress& progress) {
  return [&](const std::string& phase, size_t done, size_t total) {
    progress.at(total == 0 ? 0 : static_cast<double>(done) / static_cast<double>(total),
                fmt::format("{} {} of {}", phase, done, total));
  };
}

}  // namespace

target::Target target_of(const ModelOptions& options) {
  target::Target t = with_calibration(target::parse_target(options.target));
  return options.accuracy == "fast" ? target::with_bfloat16(std::move(t)) : t;
}

namespace {

void tell_taken(const Opened& opened, const ModelOptions& options, const Console& console) {
  if (!options.sizes_told && !opened.sizes.taken.empty()) {
    console.note(
        fmt::format("sizes    {} (--dims says otherwise)", fmt::join(opened.sizes.taken, ",")));
  }
}

onnx::Imported import_sole(const Opened& opened, const ModelOptions& options,
                           const Console& console) {
  try {
    return import_sizes(opened, sole_sizes(opened.sizes));
  } catch (const onnx::ImportError& error) {
    end_import(error, options, console);
  }
}

void tell_plan(const Planned& p, const Console& console) {
  console.info(
      fmt::format("import   {} in {}", counted(p.info.nodes, "node"), time_text(p.import_s)));
  console.info(fmt::format("plan     {} of {} in {}, for {}",
                           counted(p.network.task_of.size(), "step"),
                           counted(p.network.tasks.size(), "task"), time_text(p.decide_s),
                           p.options.target.fingerprint()));
}

Planned plan_opened(const Opened& opened, const ModelOptions& options, const std::string& name,
                    const Console& console) {
  Planned result;
  result.options = options_for(options, console);
  const std::string full_name = model_name(options, name);
  auto start = std::chrono::steady_clock::now();
  const onnx::Imported imported = import_sole(opened, options, console);
  result.import_s = seconds_since(start);
  result.info = imported.info;
  Progress progress(console, "planning");
  compile::Options how = result.options;
  how.progress = shown_on(progress);
  start = std::chrono::steady_clock::now();
  try {
    result.network = decide_recorded(imported.graph, full_name, how);
  } catch (const compile::MissingSchedule& error) {
    throw CommandError(kExitFrozen, target_prefix(options) + error.what());
  }
  result.decide_s = seconds_since(start);
  tell_plan(result, console);
  tell_misses(options, result.network.plan, console);
  return result;
}

// With -v a line per kernel, with -vv the nodes of each of its calls too.
void tell_kernels(const artifact::Program& program, const Console& console) {
  std::vector<int> calls(program.kernels.size());
  for (const artifact::Step& step : program.steps) ++calls[static_cast<size_t>(step.kernel)];
  for (size_t k = 0; k < program.kernels.size(); ++k) {
    const artifact::Kernel& kernel = program.kernels[k];
    const plan::TaskPlan* task = program.plan.find(kernel.task);
    console.info(fmt::format("kernel   {}  {}  {}  {:.2f} MFLOP", kernel.name,
                             task != nullptr ? task->origin : "", counted(calls[k], "call"),
                             kernel.flops * 1e-6));
    for (const artifact::Step& step : program.steps) {
      if (static_cast<size_t>(step.kernel) != k) continue;
      console.debug(fmt::format("  nodes  {}", fmt::join(step.nodes, ", ")));
    }
  }
}

// The same sentence of several sizes is told once.
std::function<void(const std::string&)> told_once(std::function<void(const std::string&)> tell) {
  return [tell = std::move(tell),
          told = std::make_shared<std::set<std::string>>()](const std::string& text) {
    if (told->insert(text).second) tell(text);
  };
}

// Several sizes are imported side by side, so the error itself says which of them it is about.
class ImportErrorAt : public onnx::ImportError {
 public:
  ImportErrorAt(const onnx::ImportError& error, std::string where)
      : ImportError(error), where_(std::move(where)) {}
  const std::string& where() const { return where_; }

 private:
  std::string where_;
};

// The model at several sizes, for several threads. What the file says of itself and how long that took is told of the
// first, which is imported before there are threads.
compile::OpenModel open_form(const Opened& opened, Compiled& first) {
  compile::OpenModel model;
  for (const onnx::OpenSizes::Dim& d : opened.sizes.dims) model.dims.push_back({d.name, d.sizes});
  model.input_dims = opened.sizes.input_dims;
  model.input_sums = opened.sizes.input_sums;
  model.at = [&opened, &first,
              once = std::make_shared<std::once_flag>()](const std::vector<int64_t>& sizes) {
    const auto start = std::chrono::steady_clock::now();
    try {
      onnx::Imported imported = import_sizes(opened, opened.sizes.at(sizes));
      std::call_once(*once, [&] {
        first.import_s = seconds_since(start);
        first.info = imported.info;
      });
      return std::move(imported.graph);
    } catch (const onnx::ImportError& error) {
      throw ImportErrorAt(error, sizes_text(opened.sizes, sizes));
    }
  };
  return model;
}

Compiled compile_opened(const Opened& opened, const ModelOptions& options, const std::string& name,
                        const Console& console) {
  Compiled result;
  compile::Options how = options_for(options, console);
  how.warn = told_once(how.warn);
  Progress progress(console, "compiling");
  how.progress = shown_on(progress);
  const auto start = std::chrono::steady_clock::now();
  try {
    result.program =
        compile::compile_sizes(open_form(opened, result), model_name(options, name), how);
  } catch (const ImportErrorAt& error) {
    end_import(error, options, console, error.where());
  } catch (const compile::MissingSchedule& error) {
    throw CommandError(kExitFrozen, target_prefix(options) + error.what());
  }
  result.compile_s = seconds_since(start) - result.import_s;
  tell_misses(options, result.program.plan, console);
  return result;
}

}  // namespace

Planned plan_model(const ModelOptions& options, const std::string& name, const Console& console) {
  const Opened opened = open_model(options);
  tell_taken(opened, options, console);
  return plan_opened(opened, options, name, console);
}

Compiled compile_model(const ModelOptions& options, const std::string& name,
                       const Console& console) {
  const Opened opened = open_model(options);
  tell_taken(opened, options, console);
  if (!opened.sizes.dims.empty()) {
    Compiled result = compile_opened(opened, options, name, console);
    result.program.provenance = provenance(options, result.info);
    tell_kernels(result.program, console);
    return result;
  }
  Planned planned = plan_opened(opened, options, name, console);
  Progress progress(console, "compiling");
  planned.options.progress = shown_on(progress);
  const auto start = std::chrono::steady_clock::now();
  Compiled result{compile::build(planned.network, planned.options), planned.info, planned.import_s,
                  0};
  result.compile_s = planned.decide_s + seconds_since(start);
  result.program.provenance = provenance(options, result.info);
  tell_kernels(result.program, console);
  return result;
}

compile::TaskList load_tasks(const ModelOptions& options, const Console& console) {
  // What is for another machine can be told too, by its manifest alone.
  if (is_artifact(options.path)) return compile::list_tasks(artifact::read_artifact(options.path));
  const Planned planned = plan_model(options, "", console);
  return compile::list_tasks(planned.network, planned.options.target);
}

LoadedModel::LoadedModel(const ModelOptions& options, const Console& console) {
  check_readable(options.path);
  if (is_artifact(options.path)) {
    model_ = std::make_unique<artifact::Model>(artifact::Model::load(options.path));
    console.info(fmt::format("artifact {}: {} for {}, weights {}, workspace {}",
                             model_->directory().string(), model_->name(), model_->target(),
                             bytes_text(static_cast<double>(model_->weights_bytes())),
                             bytes_text(static_cast<double>(model_->workspace_bytes()))));
    return;
  }
  const target::Target target = target::parse_target(options.target);
  if (!target::runs_here(target)) {
    throw UserError(fmt::format("target '{}' does not run on this machine", target.name),
                    "tenon compile builds for it");
  }
  folder_.emplace(PrivateFolder::temporary("model"));  // before the work: there may be no place
  const Compiled compiled = compile_model(options, "", console);
  const fs::path folder = folder_->path() / "artifact";
  artifact::write(compiled.program,
                  {.directory = folder, .outputs = {}, .threads = options.compile_threads});
  model_ = std::make_unique<artifact::Model>(artifact::Model::load(folder));
}

}  // namespace tenon::tools
