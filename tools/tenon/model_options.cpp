// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/model_options.h"

#include <fmt/format.h>

namespace tenon::tools {
namespace {

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
      ->type_name("NAME[SHAPE]");
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

void add_optimize_option(CLI::App& command, ModelOptions& options) {
  command
      .add_option("--optimize", options.optimize,
                  "speed, or memory: no algorithm that stores more weights than the model has "
                  "parameters")
      ->check(CLI::IsMember({"speed", "memory"}))
      ->capture_default_str()
      ->type_name("WHAT");
}

void add_compile_options(CLI::App& command, ModelOptions& options) {
  add_build_options(command, options);
  add_optimize_option(command, options);
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

}  // namespace tenon::tools
