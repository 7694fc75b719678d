// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/model_source.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "artifact/manifest.h"
#include "artifact/write.h"
#include "files/array_files.h"
#include "files/file.h"
#include "plan/text.h"
#include "tools/tenon/command.h"

namespace tenon::tools {
namespace {

namespace fs = std::filesystem;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// At commas outside of brackets.
std::vector<std::string> split_list(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (const std::string& text : texts) {
    std::string part;
    int depth = 0;
    for (const char c : text) {
      depth += c == '[' ? 1 : c == ']' ? -1 : 0;
      if (c == ',' && depth == 0) {
        parts.push_back(std::move(part));
        part.clear();
      } else {
        part.push_back(c);
      }
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

int64_t parse_extent(const std::string& text, const std::string& whole) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty() || value < 0) {
    throw UserError(fmt::format("'{}': '{}' is no size", whole, text));
  }
  return value;
}

graph::Shape parse_extents(const std::string& text, char separator, const std::string& whole) {
  graph::Shape shape;
  size_t begin = 0;
  while (!text.empty()) {
    const size_t end = text.find(separator, begin);
    shape.push_back(parse_extent(text.substr(begin, end - begin), whole));
    if (end == std::string::npos) {
      break;
    }
    begin = end + 1;
  }
  return shape;
}

void check_readable(const std::string& path) {
  std::error_code error;
  if (path != "-" && !fs::exists(path, error)) {
    throw UserError(path, 0, 0, "there is no such file");
  }
}

}  // namespace

CLI::Option* add_import_options(CLI::App& command, ModelOptions& options) {
  CLI::Option* model = command
                           .add_option("model,-m,--model", options.path,
                                       "ONNX file ('-': standard input) or artifact")
                           ->required()
                           ->type_name("FILE");
  add_shape_options(command, options);
  return model;
}

void add_shape_options(CLI::App& command, ModelOptions& options) {
  command.add_option("--dims", options.dims, "Sizes of named dimensions, such as batch=1,seq=128")
      ->allow_extra_args(false)
      ->type_name("NAME=N,...");
  command
      .add_option("--shape", options.shapes,
                  "Shapes of inputs, such as x:1x3x224x224 or x[1,3,224,224]")
      ->allow_extra_args(false)
      ->type_name("NAME:SHAPE");
  command
      .add_option("--bind", options.binds, "Inputs that become constants, such as axes=@axes.npy")
      ->allow_extra_args(false)
      ->type_name("NAME=@FILE");
}

void add_build_options(CLI::App& command, ModelOptions& options) {
  command
      .add_option("--target", options.target,
                  "host, x86-64-v3, aarch64, ... [key=value ...]; GPUs: cuda, cuda sm_90, ...")
      ->capture_default_str()
      ->type_name("TARGET");
  command.add_option("--lock", options.lock, "Take schedules from a lock file or an artifact")
      ->type_name("PATH");
  command.add_flag("--no-fuse", options.no_fuse, "One kernel per node, for finding faults");
  command
      .add_option("--accuracy", options.accuracy,
                  "default, strict: no algorithm that rounds 4 times worse than the definition, or "
                  "fast: bfloat16 too")
      ->check(CLI::IsMember({"strict", "default", "fast"}))
      ->capture_default_str()
      ->type_name("HOW");
  command
      .add_option("--compile-threads", options.compile_threads,
                  "Threads to compile with (default: all cores)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
}

void add_compile_options(CLI::App& command, ModelOptions& options) {
  add_build_options(command, options);
  command.add_flag("--frozen", options.frozen, "Fail if a schedule that is needed is not there");
}

std::map<std::string, int64_t> parse_dims(const std::vector<std::string>& texts) {
  std::map<std::string, int64_t> dims;
  for (const std::string& part : split_list(texts)) {
    const size_t equals = part.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      throw UserError(fmt::format("--dims '{}': NAME=N expected", part));
    }
    dims[part.substr(0, equals)] = parse_extent(part.substr(equals + 1), "--dims " + part);
  }
  return dims;
}

std::map<std::string, graph::Shape> parse_shapes(const std::vector<std::string>& texts) {
  std::map<std::string, graph::Shape> shapes;
  for (const std::string& part : split_list(texts)) {
    const size_t bracket = part.rfind('[');
    const size_t colon = part.rfind(':');
    const std::string whole = "--shape " + part;
    if (bracket != std::string::npos && bracket > 0 && part.back() == ']') {
      const std::string extents = part.substr(bracket + 1, part.size() - bracket - 2);
      shapes[part.substr(0, bracket)] = parse_extents(extents, ',', whole);
    } else if (colon != std::string::npos && colon > 0) {
      shapes[part.substr(0, colon)] = parse_extents(part.substr(colon + 1), 'x', whole);
    } else {
      throw UserError(fmt::format("'{}': NAME:1x3x224x224 or NAME[1,3,224,224] expected", whole));
    }
  }
  return shapes;
}

onnx::ImportOptions import_options(const ModelOptions& options) {
  onnx::ImportOptions import;
  import.dims = parse_dims(options.dims);
  import.shapes = parse_shapes(options.shapes);
  for (const std::string& text : options.binds) {
    const size_t at = text.find("=@");
    if (at == std::string::npos || at == 0) {
      throw UserError(fmt::format("--bind '{}': NAME=@FILE.npy expected", text));
    }
    const std::string file = text.substr(at + 2);
    import.bound[text.substr(0, at)] =
        file.ends_with(".pb") ? onnx::read_tensor_file(file) : files::read_npy(file);
  }
  return import;
}

bool is_artifact(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) || path.ends_with(".json");
}

void print_problems(const std::vector<onnx::Problem>& problems, const Console& console) {
  for (const onnx::Problem& p : problems) {
    console.note(fmt::format("missing  {}{} (opset {}) \"{}\": {}{}", p.op,
                             p.domain.empty() ? "" : " of " + p.domain, p.opset, p.node, p.reason,
                             p.hint.empty() ? "" : "  hint: " + p.hint));
  }
}

onnx::Imported import_quietly(const ModelOptions& options) {
  check_readable(options.path);
  const onnx::ImportOptions import = import_options(options);
  try {
    return options.path == "-" ? onnx::import_bytes(files::read_file("-"), ".", import)
                               : onnx::import_file(options.path, import);
  } catch (const onnx::ImportError&) {
    throw;
  } catch (const UserError& error) {
    throw CommandError(kExitImport, error.what());
  }
}

onnx::Imported import_model(const ModelOptions& options, const Console& console) {
  try {
    return import_quietly(options);
  } catch (const onnx::ImportError& error) {
    const size_t count = error.problems().size();
    print_problems(error.problems(), console);
    throw CommandError(
        kExitImport, fmt::format("{}: {} node{} cannot be imported",
                                 files::display_name(options.path), count, count == 1 ? "" : "s"));
  }
}

std::string model_name(const ModelOptions& options, const std::string& name) {
  if (!name.empty()) {
    if (compile::identifier(name) != name) {
      throw UserError(fmt::format("--name '{}' is no C identifier", name),
                      fmt::format("'{}' would be one", compile::identifier(name)));
    }
    return name;
  }
  return options.path == "-" ? "model"
                             : compile::identifier(fs::path(options.path).stem().string());
}

std::vector<std::pair<std::string, std::string>> provenance(const ModelOptions& options,
                                                            const onnx::ModelInfo& info) {
  std::vector<std::pair<std::string, std::string>> rows;
  if (options.path != "-") {
    const fs::path path(options.path);
    const artifact::FileEntry file =
        artifact::describe_file(path.parent_path(), path.filename().string());
    rows = {{"model", file.name}, {"sha256", file.sha256}};
  }
  rows.emplace_back("opset", fmt::format("{}", info.opset));
  rows.emplace_back("producer", info.producer);
  return rows;
}

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
  how.threads = options.compile_threads;
  how.warn = [&](const std::string& text) { console.warn(text); };
  if (!options.lock.empty()) {
    how.plan = plan::read_lock(options.lock);
  } else {
    how.layout_times = options.layout_times;
  }
  how.plan.add(options.records);
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
  target::Target t = target::parse_target(options.target);
  return options.accuracy == "fast" ? target::with_bfloat16(std::move(t)) : t;
}

Planned plan_model(const ModelOptions& options, const std::string& name, const Console& console) {
  Planned result;
  result.options = options_for(options, console);
  const std::string full_name = model_name(options, name);
  auto start = std::chrono::steady_clock::now();
  onnx::Imported imported = import_model(options, console);
  result.import_s = seconds_since(start);
  result.info = imported.info;
  Progress progress(console, "planning");
  compile::Options how = result.options;
  how.progress = shown_on(progress);
  start = std::chrono::steady_clock::now();
  try {
    result.network = decide_recorded(imported.graph, full_name, how);
  } catch (const compile::MissingSchedule& error) {
    throw CommandError(kExitFrozen, error.what());
  }
  result.decide_s = seconds_since(start);
  return result;
}

Compiled compile_model(const ModelOptions& options, const std::string& name,
                       const Console& console) {
  Planned planned = plan_model(options, name, console);
  Progress progress(console, "compiling");
  planned.options.progress = shown_on(progress);
  const auto start = std::chrono::steady_clock::now();
  Compiled result{compile::build(planned.network, planned.options), planned.info, planned.import_s,
                  0};
  result.compile_s = planned.decide_s + seconds_since(start);
  result.program.provenance = provenance(options, result.info);
  return result;
}

compile::TaskList load_tasks(const ModelOptions& options, const Console& console) {
  if (is_artifact(options.path)) return compile::list_tasks(artifact::Model::load(options.path));
  const Planned planned = plan_model(options, "", console);
  return compile::list_tasks(planned.network, planned.options.target);
}

LoadedModel::LoadedModel(const ModelOptions& options, const Console& console) {
  check_readable(options.path);
  if (is_artifact(options.path)) {
    model_ = std::make_unique<artifact::Model>(artifact::Model::load(options.path));
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
