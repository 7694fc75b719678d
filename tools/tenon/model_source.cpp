// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/model_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include "artifact/library.h"
#include "artifact/manifest.h"
#include "artifact/write.h"
#include "compile/names.h"
#include "compile/sizes.h"
#include "files/array_files.h"
#include "files/file.h"
#include "plan/text.h"
#include "tools/tenon/binds.h"
#include "tools/tenon/calibration.h"
#include "tools/tenon/command.h"
#include "tools/tenon/helper_tools.h"
#include "tools/tenon/misses.h"
#include "tools/tenon/text.h"

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

std::vector<onnx::Sizes> parse_extents(const std::string& text, char separator,
                                       const std::string& whole) {
  std::vector<onnx::Sizes> shape;
  size_t begin = 0;
  while (!text.empty()) {
    const size_t end = text.find(separator, begin);
    shape.push_back(onnx::parse_sizes(text.substr(begin, end - begin), whole));
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

CLI::Option* add_import_options(CLI::App& command, ModelOptions& options, Takes takes) {
  CLI::Option* model =
      command
          .add_option("model,-m,--model", options.path,
                      takes == Takes::kModel ? "ONNX file ('-': standard input)"
                                             : "ONNX file ('-': standard input) or artifact")
          ->required()
          ->type_name("FILE");
  add_shape_options(command, options);
  return model;
}

void add_shape_options(CLI::App& command, ModelOptions& options) {
  command
      .add_option("--dims", options.dims,
                  "Sizes of named dimensions, such as batch=1,seq=128; several that one library "
                  "serves: batch=1..8,seq=16..512:16 or seq=32,64,128")
      ->allow_extra_args(false)
      ->type_name("NAME=N,...");
  command
      .add_option("--shape", options.shapes,
                  "Shapes of inputs, such as x:1x3x224x224 or x[1..8,3,224,224]")
      ->allow_extra_args(false)
      ->type_name("NAME:SHAPE");
  command
      .add_option("--bind", options.binds,
                  "Inputs that become constants, such as sr=16000, sizes=1,2,3 or axes=@axes.npy")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
}

void add_build_options(CLI::App& command, ModelOptions& options) {
  command
      .add_option("--target", options.target,
                  "host, x86-64-v3, aarch64, ... [key=value ...]; GPUs: cuda, cuda sm_90, ...; "
                  "tenon targets lists them")
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
  command
      .add_option("--optimize", options.optimize,
                  "speed, or memory: no algorithm that stores more weights than the model has "
                  "parameters")
      ->check(CLI::IsMember({"speed", "memory"}))
      ->capture_default_str()
      ->type_name("WHAT");
  command
      .add_option("--schedules", options.schedules,
                  "Of tasks without a record or an entry in the lock: template, instant: by the "
                  "value function where it knows better, or db: as --db of the default database")
      ->check(CLI::IsMember({"template", "instant", "db"}))
      ->capture_default_str()
      ->type_name("HOW");
  command
      .add_option("--value", options.instant.file,
                  "The value function of --schedules instant (default: the one that ships)")
      ->type_name("FILE");
  command.add_option("--beam", options.instant.width)->check(CLI::Range(1, 1024))->group("");
  command.add_option("--instant-space", options.instant.space)->group("");
  command.add_flag("--frozen", options.frozen, "Fail if a schedule that is needed is not there");
}

std::map<std::string, onnx::Sizes> parse_dims(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> lists, written;
  std::string last;
  for (const std::string& part : split_list(texts)) {
    const size_t equals = part.rfind('=');
    if (equals != std::string::npos && equals > 0) {
      last = part.substr(0, equals);
      lists[last] = part.substr(equals + 1);
      written[last] = part;
    } else if (!last.empty() && !part.empty() && equals == std::string::npos) {
      lists[last] += "|" + part;
      written[last] += "," + part;
    } else {
      throw UserError(
          fmt::format("--dims '{}': NAME=N expected (or NAME=N..N, or NAME=N,N)", part));
    }
  }
  std::map<std::string, onnx::Sizes> dims;
  for (const auto& [name, list] : lists) {
    dims[name] = onnx::parse_sizes(list, "--dims " + written[name]);
  }
  return dims;
}

std::map<std::string, std::vector<onnx::Sizes>> parse_shapes(
    const std::vector<std::string>& texts) {
  std::map<std::string, std::vector<onnx::Sizes>> shapes;
  for (const std::string& part : split_list(texts)) {
    const size_t bracket = part.rfind('[');
    const std::string whole = "--shape " + part;
    // A colon may stand in a range too: x:16..512:16.
    size_t colon = part.rfind(':');
    if (colon != std::string::npos && colon > 0) {
      const size_t dots = part.rfind("..", colon);
      const size_t before = dots == std::string::npos ? dots : part.rfind(':', dots);
      if (before != std::string::npos && part.find('x', dots) > colon) {
        colon = before;
      }
    }
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

namespace {

onnx::SizeRequest size_request(const ModelOptions& options) {
  onnx::SizeRequest request;
  request.batch = options.batch;
  request.dims = parse_dims(options.dims);
  request.shapes = parse_shapes(options.shapes);
  return request;
}

onnx::Source read_model(const std::string& path) {
  try {
    return path == "-" ? onnx::Source::from_bytes(files::read_file("-"), ".")
                       : onnx::Source::from_file(path);
  } catch (const UserError& error) {
    throw CommandError(kExitImport, error.what());
  }
}

// One size of each dimension, or a sentence.
onnx::ImportOptions sole_sizes(const onnx::OpenSizes& sizes) {
  if (!sizes.dims.empty()) {
    throw UserError(fmt::format("one size of '{}' is wanted here, not {}", sizes.dims[0].name,
                                sizes.dims[0].sizes.size()),
                    "tenon compile makes libraries for several");
  }
  return sizes.at({});
}

}  // namespace

Opened open_model(const ModelOptions& options) {
  check_readable(options.path);
  if (is_artifact(options.path)) {
    throw UserError(options.path, 0, 0, "this is a folder or a manifest; an ONNX file is wanted");
  }
  onnx::SizeRequest request = size_request(options);
  onnx::Source source = read_model(options.path);
  request.bound = parse_binds(options.binds, source);
  onnx::OpenSizes sizes = onnx::open_sizes(source, request);
  return {std::move(source), std::move(sizes)};
}

bool is_artifact(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) || path.ends_with(".json");
}

std::string opset_text(const onnx::ModelInfo& info) {
  return info.opset == 0 ? "" : fmt::format("  opset {}", info.opset);
}

// A hint that the next line has too is told there.
void print_problems(const std::vector<onnx::Problem>& problems, const Console& console) {
  for (size_t i = 0; i < problems.size(); ++i) {
    const onnx::Problem& p = problems[i];
    const bool told_next = i + 1 < problems.size() && problems[i + 1].hint == p.hint;
    console.note(fmt::format("missing  {}{}{} \"{}\": {}{}", p.op,
                             p.domain.empty() ? "" : " of " + p.domain,
                             p.opset == 0 ? "" : fmt::format(" (opset {})", p.opset), p.node,
                             p.reason, p.hint.empty() || told_next ? "" : "  hint: " + p.hint));
  }
}

namespace {

onnx::Imported import_sizes(const Opened& opened, const onnx::ImportOptions& sizes) {
  try {
    return opened.source.import(sizes);
  } catch (const onnx::ImportError&) {
    throw;
  } catch (const onnx::RequestError&) {
    throw;  // a mistake in what was asked, not in the model
  } catch (const UserError& error) {
    throw CommandError(kExitImport, error.what());
  }
}

// `where` is the sizes that it was imported at, if there are several: " at seq=600".
[[noreturn]] void end_import(const onnx::ImportError& error, const ModelOptions& options,
                             const Console& console, const std::string& where = "") {
  print_problems(error.problems(), console);
  throw CommandError(kExitImport, fmt::format("{}: {}{}", files::display_name(options.path),
                                              onnx::refusal_text(error.problems()), where));
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

onnx::Imported import_quietly(const ModelOptions& options) {
  const Opened opened = open_model(options);
  return import_sizes(opened, sole_sizes(opened.sizes));
}

onnx::Imported import_model(const ModelOptions& options, const Console& console) {
  try {
    return import_quietly(options);
  } catch (const onnx::ImportError& error) {
    end_import(error, options, console);
  }
}

std::vector<artifact::TensorInfo> inputs_at(const artifact::Model& model,
                                            const ModelOptions& options) {
  if (!is_artifact(options.path)) return model.inputs();
  std::map<std::string, int64_t> sizes;
  const auto set = [&](const std::string& name, const onnx::Sizes& wanted) {
    if (wanted.size() != 1) {
      throw UserError(fmt::format("one size of '{}' is wanted here", name));
    }
    sizes[name] = wanted[0];
  };
  for (const auto& [name, wanted] : parse_dims(options.dims)) set(name, wanted);
  for (const auto& [name, shape] : parse_shapes(options.shapes)) {
    const auto in = std::find_if(model.inputs().begin(), model.inputs().end(),
                                 [&, &n = name](const auto& t) { return t.name == n; });
    if (in == model.inputs().end() || in->shape.size() != shape.size()) {
      throw UserError(fmt::format("--shape {}: {} has no such input of {} dimensions", name,
                                  model.name(), shape.size()));
    }
    for (size_t a = 0; a < shape.size(); ++a) {
      const int32_t dim = in->dims.empty() ? -1 : in->dims[a];
      if (dim >= 0) {
        set(model.dims()[static_cast<size_t>(dim)].name, shape[a]);
      } else if (shape[a] != onnx::Sizes{in->shape[a]}) {
        throw UserError(fmt::format("--shape {}: axis {} has size {}", name, a, in->shape[a]));
      }
    }
  }
  return model.inputs_at(sizes);
}

namespace {

std::string file_stem(const ModelOptions& options) {
  return options.path == "-" ? "model" : fs::path(options.path).stem().string();
}

}  // namespace

std::string model_name(const ModelOptions& options, const std::string& name) {
  if (!name.empty()) {
    if (compile::identifier(name) != name) {
      throw UserError(fmt::format("--name '{}' is no C identifier", name),
                      fmt::format("'{}' would be one", compile::library_name(name)));
    }
    if (const std::string why = compile::why_no_name(name); !why.empty()) {
      throw UserError(fmt::format("--name '{}' cannot be: {}", name, why),
                      fmt::format("'{}' can", compile::library_name(name)));
    }
    return name;
  }
  return compile::library_name(file_stem(options));
}

void tell_name(const ModelOptions& options, const std::string& name, const Console& console) {
  const std::string plain = compile::identifier(file_stem(options));
  const std::string why = name.empty() ? compile::why_no_name(plain) : "";
  if (!why.empty()) {
    console.note(
        fmt::format("name     {}: {} (--name says otherwise)", model_name(options, name), why));
  }
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
  how.lean = options.optimize == "memory";
  how.threads = options.compile_threads;
  how.warn = [&](const std::string& text) { console.warn(text); };
  if (!options.lock.empty()) {
    how.plan = plan::read_lock(options.lock);
  } else {
    how.layout_times = options.layout_times;
  }
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

Planned plan_opened(const Opened& opened, const ModelOptions& options, const std::string& name,
                    const Console& console) {
  Planned result;
  result.options = options_for(options, console);
  const std::string full_name = model_name(options, name);
  auto start = std::chrono::steady_clock::now();
  onnx::Imported imported = [&] {
    try {
      return import_sizes(opened, sole_sizes(opened.sizes));
    } catch (const onnx::ImportError& error) {
      end_import(error, options, console);
    }
  }();
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
  console.info(fmt::format("import   {} in {}", counted(result.info.nodes, "node"),
                           time_text(result.import_s)));
  console.info(fmt::format("plan     {} of {} in {}, for {}",
                           counted(result.network.task_of.size(), "step"),
                           counted(result.network.tasks.size(), "task"), time_text(result.decide_s),
                           result.options.target.fingerprint()));
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

Compiled compile_opened(const Opened& opened, const ModelOptions& options, const std::string& name,
                        const Console& console) {
  Compiled result;
  compile::Options how = options_for(options, console);
  how.warn = told_once(how.warn);
  Progress progress(console, "compiling");
  how.progress = shown_on(progress);
  compile::OpenModel model;
  for (const onnx::OpenSizes::Dim& d : opened.sizes.dims) model.dims.push_back({d.name, d.sizes});
  model.input_dims = opened.sizes.input_dims;
  model.input_sums = opened.sizes.input_sums;
  std::string where;
  model.at = [&](const std::vector<int64_t>& sizes) {
    const auto start = std::chrono::steady_clock::now();
    where = sizes_text(opened.sizes, sizes);
    onnx::Imported imported = import_sizes(opened, opened.sizes.at(sizes));
    result.import_s += seconds_since(start);
    result.info = imported.info;
    return std::move(imported.graph);
  };
  const auto start = std::chrono::steady_clock::now();
  try {
    result.program = compile::compile_sizes(model, model_name(options, name), how);
  } catch (const onnx::ImportError& error) {
    end_import(error, options, console, where);
  } catch (const compile::MissingSchedule& error) {
    throw CommandError(kExitFrozen, error.what());
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
