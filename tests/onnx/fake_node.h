// SPDX-License-Identifier: Apache-2.0
// A node without a model file around it: converters are called with inputs and attributes given in C++.
//
//   graph::Graph g; graph::GraphBuilder b(g);
//   FakeNode node(b, "Elu", 6, {b.input("x", ir::kF32, {2})});
//   node.floats["alpha"] = {0.5};
//   ValueId y = node.convert().at(0);
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "onnx/converter.h"
#include "onnx/table.h"

namespace tenon::onnx {

inline constexpr ValueId kAbsent = -1;

class FakeNode : public Convert {
 public:
  FakeNode(graph::GraphBuilder& b, std::string op, int64_t opset, std::vector<ValueId> inputs,
           size_t outputs = 1)
      : Convert(b),
        op_(std::move(op)),
        opset_(opset),
        inputs_(std::move(inputs)),
        outputs_(outputs) {}

  std::map<std::string, std::vector<int64_t>> ints;
  std::map<std::string, std::vector<double>> floats;
  std::map<std::string, std::vector<std::string>> strings;
  std::string domain;

  std::vector<ValueId> convert() {
    const Lookup found = find_row(domain, op_, opset_);
    if (!found.row) throw Unsupported("no row for " + op_);
    return found.row->convert(*this);
  }

  const std::string& op() const override { return op_; }
  int64_t opset() const override { return opset_; }
  size_t num_inputs() const override { return inputs_.size(); }
  size_t num_outputs() const override { return outputs_; }
  bool has_input(size_t i) const override { return i < inputs_.size() && inputs_[i] != kAbsent; }
  bool has_output(size_t i) const override { return i < outputs_; }
  ValueId input(size_t i) const override {
    if (!has_input(i)) throw Unsupported("an input is absent");
    return inputs_[i];
  }

  bool has(const std::string& a) const override {
    return ints.count(a) + floats.count(a) + strings.count(a) > 0;
  }
  int64_t int_or(const std::string& a, int64_t otherwise) const override {
    return ints.count(a) ? ints.at(a).at(0) : otherwise;
  }
  double float_or(const std::string& a, double otherwise) const override {
    return floats.count(a) ? floats.at(a).at(0) : otherwise;
  }
  std::string string_or(const std::string& a, const std::string& otherwise) const override {
    return strings.count(a) ? strings.at(a).at(0) : otherwise;
  }
  std::vector<int64_t> ints_or(const std::string& a,
                               std::vector<int64_t> otherwise) const override {
    return ints.count(a) ? ints.at(a) : otherwise;
  }
  std::vector<double> floats_or(const std::string& a,
                                std::vector<double> otherwise) const override {
    return floats.count(a) ? floats.at(a) : otherwise;
  }
  std::vector<std::string> strings_or(const std::string& a) const override {
    return strings.count(a) ? strings.at(a) : std::vector<std::string>{};
  }
  std::optional<ir::Array> tensor(const std::string&) const override { return std::nullopt; }
  std::vector<ValueId> subgraph(const std::string&, const std::vector<ValueId>&) override {
    throw Unsupported("no subgraphs here");
  }

 private:
  std::string op_;
  int64_t opset_;
  std::vector<ValueId> inputs_;
  size_t outputs_;
};

}  // namespace tenon::onnx
