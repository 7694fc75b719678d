// SPDX-License-Identifier: Apache-2.0
#include "onnx_suite/cases.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "onnx/proto.h"
#include "support/check.h"

namespace tenon::onnx_suite {
namespace {

namespace fs = std::filesystem;

bool is_integer(int32_t type) {
  switch (type) {
    case ::onnx::TensorProto::UINT8:
    case ::onnx::TensorProto::INT8:
    case ::onnx::TensorProto::UINT16:
    case ::onnx::TensorProto::INT16:
    case ::onnx::TensorProto::INT32:
    case ::onnx::TensorProto::INT64:
    case ::onnx::TensorProto::UINT32:
    case ::onnx::TensorProto::UINT64:
    case ::onnx::TensorProto::BOOL:
      return true;
    default:
      return false;
  }
}

ModelInput describe(const ::onnx::ValueInfoProto& input) {
  const auto& type = input.type().tensor_type();
  ModelInput in;
  in.name = input.name();
  in.tensor = input.type().has_tensor_type() && type.elem_type() != ::onnx::TensorProto::STRING;
  in.sequence = input.type().has_sequence_type();
  in.integer = in.tensor && is_integer(type.elem_type());
  in.bf16 = in.tensor && type.elem_type() == ::onnx::TensorProto::BFLOAT16;
  for (const auto& d : type.shape().dim())
    in.shape.push_back(d.has_dim_value() ? d.dim_value() : 0);
  if (std::find(in.shape.begin(), in.shape.end(), 0) != in.shape.end()) in.shape.clear();
  return in;
}

::onnx::ModelProto parse(const std::string& model) {
  ::onnx::ModelProto proto;
  std::ifstream in(model, std::ios::binary);
  if (!proto.ParseFromIstream(&in)) {
    throw UserError(model + " is not an ONNX model");
  }
  return proto;
}

}  // namespace

std::vector<Case> find_cases(const std::string& root, const std::string& filter) {
  std::vector<Case> cases;
  for (const fs::directory_entry& kind : fs::directory_iterator(root)) {
    if (!kind.is_directory()) continue;
    for (const fs::directory_entry& folder : fs::directory_iterator(kind.path())) {
      Case c{kind.path().filename().string() + "/" + folder.path().filename().string(),
             folder.path().string()};
      if (c.name.find(filter) != std::string::npos && fs::exists(c.model())) {
        cases.push_back(std::move(c));
      }
    }
  }
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

ModelSummary summarize(const std::string& model) {
  const ::onnx::ModelProto proto = parse(model);
  std::set<std::string> valued;
  for (const auto& tensor : proto.graph().initializer()) valued.insert(tensor.name());
  ModelSummary s;
  for (const auto& input : proto.graph().input()) {
    if (!valued.contains(input.name())) s.inputs.push_back(describe(input));
  }
  for (const auto& output : proto.graph().output()) {
    s.sequence_outputs.push_back(output.type().has_sequence_type());
  }
  std::set<std::string> ops;
  for (const auto& node : proto.graph().node()) ops.insert(node.domain() + ":" + node.op_type());
  s.ops.assign(ops.begin(), ops.end());
  return s;
}

// Debian packages no schema of sequences, from which a program that carries all libraries could have the message, so it is
// read by the numbers of its fields.
std::vector<std::string> tensors_of_sequence(const std::string& file) {
  constexpr int kTensors = 3;
  std::ifstream in(file, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  google::protobuf::UnknownFieldSet fields;
  if (!in || !fields.ParseFromString(bytes)) throw UserError(file + " is not a sequence");
  std::vector<std::string> tensors;
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& f = fields.field(i);
    if (f.number() != kTensors) continue;
    if (f.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      throw UserError(file + " is not a sequence");
    tensors.push_back(f.length_delimited());
  }
  return tensors;
}

std::vector<std::string> data_files(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> files;
  for (;;) {
    const std::string path = folder + "/" + prefix + "_" + std::to_string(files.size()) + ".pb";
    if (!fs::exists(path)) return files;
    files.push_back(path);
  }
}

std::vector<std::string> data_sets(const Case& c) {
  std::vector<std::string> sets;
  for (const fs::directory_entry& e : fs::directory_iterator(c.folder)) {
    if (e.is_directory()) sets.push_back(e.path().string());
  }
  std::sort(sets.begin(), sets.end());
  return sets;
}

}  // namespace tenon::onnx_suite
