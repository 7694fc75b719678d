// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/model_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "artifact/manifest.h"
#include "compile/names.h"
#include "files/file.h"
#include "tools/tenon/binds.h"
#include "tools/tenon/command.h"

namespace tenon::tools {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

void check_readable(const std::string& path) {
  std::error_code error;
  if (path != "-" && !fs::exists(path, error)) {
    throw UserError(path, 0, 0, "there is no such file");
  }
}

onnx::ImportOptions sole_sizes(const onnx::OpenSizes& sizes) {
  if (!sizes.dims.empty()) {
    throw UserError(fmt::format("one size of '{}' is wanted here, not {}", sizes.dims[0].name,
                                sizes.dims[0].sizes.size()),
                    "tenon compile makes libraries for several");
  }
  return sizes.at({});
}

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

void end_import(const onnx::ImportError& error, const ModelOptions& options, const Console& console,
                const std::string& where) {
  const std::vector<onnx::Problem>& problems = error.problems();
  print_problems(problems, console);
  // Sizes that are missing are missing whatever the others are.
  const bool sizes_missing = std::any_of(problems.begin(), problems.end(),
                                         [](const onnx::Problem& p) { return p.needs_sizes; });
  throw CommandError(kExitImport,
                     fmt::format("{}: {}{}", files::display_name(options.path),
                                 onnx::refusal_text(problems), sizes_missing ? "" : where));
}

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

}  // namespace tenon::tools
