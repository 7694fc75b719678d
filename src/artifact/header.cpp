// SPDX-License-Identifier: Apache-2.0
#include "artifact/header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

#include "artifact/embedded.h"
#include "artifact/sizes_text.h"
#include "ir/print.h"
#include "support/check.h"

namespace tenon::artifact {
namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string upper(std::string s) {
  for (char& c : s) {
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return s;
}

// Replaces each character that may not stand inside a C comment.
std::string plain(const std::string& s) {
  std::string text;
  for (const char c : s) {
    text += std::isprint(static_cast<unsigned char>(c)) != 0 && c != '*' && c != '\\' ? c : '?';
  }
  return text;
}

std::string tensor_table(const char* list, const Program& program,
                         const std::vector<TensorInfo>& tensors) {
  std::string text;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorInfo& t = tensors[i];
    text += fmt::format(" *   {}[{}]  {}  {} {}, {}{} bytes\n", list, i, plain(t.name),
                        ir::to_string(t.dtype), plain(shape_text(t, program.dims)),
                        program.dims.empty() ? "" : "at most ", t.bytes());
  }
  return text;
}

std::string dim_table(const std::vector<Dim>& dims) {
  std::string text;
  for (const Dim& d : dims) {
    text += fmt::format(" *   {}: {}\n", plain(d.name), values_text(d.values));
  }
  return text;
}

// The part of tenon/runtime.h that headers of models carry, with its guard.
std::string runtime_types() {
  const std::string all(runtime_header());
  const std::string end = "#endif /* TENON_RUNTIME_TYPES */\n";
  const size_t from = all.find("#ifndef TENON_RUNTIME_TYPES");
  const size_t to = all.find(end);
  TENON_CHECK(from != std::string::npos && to != std::string::npos);
  return all.substr(from, to + end.size() - from);
}

// The lines between the marks of device_api.h declare what only libraries for GPUs have.
std::string device_part() {
  const std::string all(device_api_header());
  const std::string begin = "/* begin */\n";
  const size_t from = all.find(begin);
  const size_t to = all.find("/* end */\n");
  TENON_CHECK(from != std::string::npos && to != std::string::npos);
  return all.substr(from + begin.size(), to - from - begin.size()) + "\n";
}

}  // namespace

std::string c_header(const Program& program) {
  std::string text(model_api_header());
  const std::string include = "#include \"tenon/runtime.h\"\n\n";
  const std::string open = "extern \"C\" {\n#endif\n\n";
  const std::string end_of_comment = "\n */\n#ifndef TENON_MODEL_H";
  TENON_CHECK(text.find(include) != std::string::npos && text.find(open) != std::string::npos &&
              text.find(end_of_comment) != std::string::npos);
  text.erase(text.find(include), include.size());
  text.insert(text.find(open) + open.size(), runtime_types() + "\n");
  if (!program.target.is_cpu()) {
    const size_t close = text.rfind("#ifdef __cplusplus\n}\n");
    TENON_CHECK(close != std::string::npos);
    text.insert(close, device_part());
  }
  const size_t table_at = text.find(end_of_comment) + 1;
  std::string rest = text.substr(table_at);
  text.resize(table_at);
  for (std::string* part : {&text, &rest}) {
    replace_all(*part, "tenon_model", program.name);
    replace_all(*part, "TENON_MODEL", "TENON_LIBRARY_" + upper(program.name));
  }
  // Tensors may have any names, also such as were just replaced.
  return text + " *\n" + tensor_table("inputs", program, program.inputs) +
         tensor_table("outputs", program, program.outputs) + dim_table(program.dims) + rest;
}

std::string cpp_header(const Program& program) {
  std::string text(model_api_cpp_header());
  replace_all(text, "tenon_model", program.name);
  replace_all(text, "TENON_MODEL", "TENON_LIBRARY_" + upper(program.name));
  return text;
}

}  // namespace tenon::artifact
