// SPDX-License-Identifier: Apache-2.0
#include "graph_fuzz/case_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "onnx/import.h"
#include "support/check.h"

namespace tenon::graph_fuzz {
namespace {

namespace fs = std::filesystem;

void write_message(const std::string& path, const google::protobuf::MessageLite& m) {
  std::ofstream(path, std::ios::binary) << m.SerializeAsString();
}

std::string data_file(const std::string& folder, const char* kind, int i) {
  return fmt::format("{}/test_data_set_0/{}_{}.pb", folder, kind, i);
}

// Inputs that have no value in the file, in order.
Names inputs_of(const proto::ModelProto& m) {
  std::set<std::string> constants;
  for (const auto& t : m.graph().initializer()) constants.insert(t.name());
  Names names;
  for (const auto& i : m.graph().input()) {
    if (!constants.contains(i.name())) names.push_back(i.name());
  }
  return names;
}

}  // namespace

void write_case(const std::string& folder, const Case& c) {
  fs::remove_all(folder);
  fs::create_directories(folder + "/test_data_set_0");
  write_message(folder + "/model.onnx", c.model);
  int i = 0;
  for (const std::string& name : inputs_of(c.model)) {
    write_message(data_file(folder, "input", i++), make_tensor(name, c.inputs.at(name)));
  }
  try {
    const Arrays want = evaluate(c.model, c.inputs, nullptr);
    i = 0;
    for (const auto& o : c.model.graph().output()) {
      write_message(data_file(folder, "output", i++), make_tensor(o.name(), want.at(o.name())));
    }
  } catch (const std::exception&) {
    // A model that the oracle cannot take is worth keeping too.
  }
}

void write_case_with_values(const std::string& folder, const Case& c) {
  Case stated = c;
  state_values(stated.model, evaluate(c.model, c.inputs, nullptr));
  write_case(folder, stated);
  const Arrays values = evaluate(c.model, c.inputs, nullptr);
  for (int i = 0; i < stated.model.graph().value_info_size(); ++i) {
    const std::string& name = stated.model.graph().value_info(i).name();
    write_message(data_file(folder, "value", i), make_tensor(name, values.at(name)));
  }
}

Case read_case(const std::string& folder) {
  Case c;
  std::ostringstream bytes;
  bytes << std::ifstream(folder + "/model.onnx", std::ios::binary).rdbuf();
  if (bytes.str().empty() || !c.model.ParseFromString(bytes.str())) {
    throw UserError(folder + "/model.onnx is no model");
  }
  int i = 0;
  for (const std::string& name : inputs_of(c.model)) {
    c.inputs.emplace(name, onnx::read_tensor_file(data_file(folder, "input", i++)));
  }
  return c;
}

}  // namespace tenon::graph_fuzz
