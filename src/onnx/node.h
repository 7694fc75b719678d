// SPDX-License-Identifier: Apache-2.0
// A node of the file as converters see it.
#pragma once

#include <string>
#include <vector>

#include "onnx/converter.h"
#include "onnx/importer.h"

namespace tenon::onnx {

class NodeConvert final : public Convert {
 public:
  NodeConvert(Importer& importer, const proto::NodeProto& node, std::string name, int64_t opset,
              const Names& names, const Place& place);

  const std::string& op() const override { return node_.op_type(); }
  int64_t opset() const override { return opset_; }
  size_t num_inputs() const override { return static_cast<size_t>(node_.input_size()); }
  size_t num_outputs() const override { return static_cast<size_t>(node_.output_size()); }
  bool has_input(size_t i) const override;
  bool has_output(size_t i) const override;
  bool is_read(size_t output) const override;
  ValueId input(size_t i) const override;
  ValueId any_input(size_t i) const override;
  Sequences& sequences() override { return importer_.sequences(); }

  bool has(const std::string& attribute) const override;
  int64_t int_or(const std::string& attribute, int64_t otherwise) const override;
  double float_or(const std::string& attribute, double otherwise) const override;
  std::string string_or(const std::string& attribute, const std::string& otherwise) const override;
  std::vector<int64_t> ints_or(const std::string& attribute,
                               std::vector<int64_t> otherwise) const override;
  std::vector<double> floats_or(const std::string& attribute,
                                std::vector<double> otherwise) const override;
  std::vector<std::string> strings_or(const std::string& attribute) const override;
  std::optional<ir::Array> tensor(const std::string& attribute) const override;
  std::vector<ValueId> subgraph(const std::string& attribute,
                                const std::vector<ValueId>& arguments) override;

 protected:
  size_t problem_count() const override { return importer_.problems().size(); }
  void keep_problems(size_t count) override { importer_.keep_problems(count); }

 private:
  // Unsupported if it is known only when the model runs how many rows the value has.
  void require_whole(ValueId v) const;
  // Null if absent; Unsupported if it is not of this type.
  const proto::AttributeProto* find(const std::string& attribute,
                                    proto::AttributeProto::AttributeType type) const;

  Importer& importer_;
  const proto::NodeProto& node_;
  std::string name_;
  int64_t opset_;
  const Names& names_;
  const Place& place_;
  Attributes attributes_;
};

}  // namespace tenon::onnx
