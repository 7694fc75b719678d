// SPDX-License-Identifier: Apache-2.0
// The cases of ONNX's backend suite: a model, and folders with recorded inputs and outputs.
#pragma once

#include <string>
#include <vector>

namespace tenon::onnx_suite {

struct Case {
  std::string name;    // "node/test_abs"
  std::string folder;  // where model.onnx lies
  std::string model() const { return folder + "/model.onnx"; }
};

// Those under `root` whose name contains `filter`, sorted by name. Folders without a model are left out.
std::vector<Case> find_cases(const std::string& root, const std::string& filter);

// What the runner must know of a model before it is imported.
struct ModelInput {
  std::string name;
  bool tensor = false;   // of numbers
  bool integer = false;  // of integers or bools
  bool bf16 = false;
  bool sequence = false;
  std::vector<int64_t> shape;  // empty if it is not fixed
};
struct ModelSummary {
  std::vector<bool> sequence_outputs;  // by output: whether it is a sequence of tensors
  std::vector<ModelInput> inputs;      // without those that have an initial value, in order
  std::vector<std::string> ops;        // "domain:op" of the nodes of the main graph, each once
};
ModelSummary summarize(const std::string& model);

// The files prefix_0.pb, prefix_1.pb, ... of a data set.
std::vector<std::string> data_files(const std::string& folder, const std::string& prefix);
// The tensors of a recorded sequence, as bytes of messages.
std::vector<std::string> tensors_of_sequence(const std::string& file);
// The test_data_set_* folders of a case.
std::vector<std::string> data_sets(const Case& c);

}  // namespace tenon::onnx_suite
