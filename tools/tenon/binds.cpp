// SPDX-License-Identifier: Apache-2.0
#include "tools/tenon/binds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "files/array_files.h"
#include "onnx/bound_value.h"
#include "support/nearest.h"

namespace tenon::tools {
namespace {

ir::Array read_bound(const std::string& file) {
  return file.ends_with(".pb") ? onnx::read_tensor_file(file) : files::read_npy(file);
}

onnx::StatedInput stated(const std::string& name, const std::string& whole,
                         const onnx::Source& source) {
  if (auto input = source.input(name)) return *std::move(input);
  std::vector<std::string> names;
  for (const onnx::StatedInput& in : source.inputs()) names.push_back(in.name);
  throw onnx::RequestError(
      fmt::format("'{}': the model has no input '{}'", whole, name),
      did_you_mean(name, names, fmt::format("inputs: {}", fmt::join(names, ", "))));
}

}  // namespace

std::map<std::string, ir::Array> parse_binds(const std::vector<std::string>& texts,
                                             const onnx::Source& source) {
  std::map<std::string, ir::Array> bound;
  for (const std::string& text : texts) {
    const size_t file = text.find("=@");
    const size_t equals = file != std::string::npos ? file : text.find('=');
    const std::string whole = "--bind " + text;
    if (equals == std::string::npos || equals == 0) {
      throw UserError(fmt::format("'{}': NAME=VALUE or NAME=@FILE.npy expected", whole));
    }
    const std::string name = text.substr(0, equals);
    const onnx::StatedInput input = stated(name, whole, source);
    if (bound.count(name)) throw UserError(fmt::format("'{}': it is bound twice", whole));
    bound[name] = file != std::string::npos
                      ? read_bound(text.substr(file + 2))
                      : onnx::parse_bound(input, text.substr(equals + 1), whole);
  }
  return bound;
}

}  // namespace tenon::tools
