// SPDX-License-Identifier: Apache-2.0
#include "onnx/text_model.h"

#include <fmt/format.h>
#include <google/protobuf/text_format.h>

#include <sstream>

#include "onnx/proto.h"

namespace tenon::onnx::testing {
namespace {

std::string fields(const std::string& field, const std::string& list) {
  std::istringstream words(list);
  std::string text, word;
  while (words >> word) text += fmt::format(" {}: \"{}\"", field, word == "-" ? "" : word);
  return text;
}

}  // namespace

std::string model_bytes(const std::string& text) {
  proto::ModelProto m;
  TENON_CHECK(google::protobuf::TextFormat::ParseFromString(text, &m)) << text;
  if (!m.has_ir_version()) m.set_ir_version(8);
  if (m.opset_import_size() == 0) m.add_opset_import()->set_version(17);
  return m.SerializePartialAsString();
}

Imported import_text(const std::string& text, const ImportOptions& options) {
  return import_bytes(model_bytes(text), "", options);
}

std::string refusal(const std::string& text, const ImportOptions& options) {
  try {
    import_text(text, options).graph.verify();
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

std::string value(const std::string& field, const std::string& name, const std::string& dims,
                  int type) {
  std::istringstream words(dims);
  std::string shape, word;
  while (words >> word) {
    const bool number = word.find_first_not_of("-0123456789") == std::string::npos;
    shape += number        ? fmt::format(" dim {{ dim_value: {} }}", word)
             : word == "?" ? std::string(" dim {}")
                           : fmt::format(" dim {{ dim_param: \"{}\" }}", word);
  }
  return fmt::format(
      "{} {{ name: \"{}\" type {{ tensor_type {{ elem_type: {} shape {{{} }} }} }} }}\n", field,
      name, type, shape);
}

std::string node(const std::string& op, const std::string& inputs, const std::string& outputs,
                 const std::string& more) {
  return fmt::format("node {{ op_type: \"{}\"{}{} {} }}\n", op, fields("input", inputs),
                     fields("output", outputs), more);
}

}  // namespace tenon::onnx::testing
