// SPDX-License-Identifier: Apache-2.0
// Parts of ONNX models out of arrays and numbers.
//
//   proto::NodeProto n = make_node("Concat", {"a", "b"}, {"c"}, {{"axis", int64_t{1}}});
#pragma once

#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/interp.h"
#include "onnx/proto.h"

namespace tenon::graph_fuzz {

namespace proto = onnx::proto;

using Ints = std::vector<int64_t>;
using Attribute = std::variant<int64_t, float, std::string, Ints, std::vector<float>,
                               std::vector<std::string>, ir::Array, proto::GraphProto>;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

proto::TensorProto make_tensor(const std::string& name, const ir::Array& a);
proto::ValueInfoProto make_info(const std::string& name, const ir::Array& like);
proto::NodeProto make_node(const std::string& op, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs, const Attributes& attributes,
                           const std::string& domain = "");

// Names that a node reads, those that its subgraphs take from outside among them.
std::set<std::string> names_read(const proto::NodeProto& node);

// The opset that a model imports for ONNX's own operators.
int64_t opset_of(const proto::ModelProto& m);

}  // namespace tenon::graph_fuzz
