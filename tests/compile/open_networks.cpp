// SPDX-License-Identifier: Apache-2.0
#include "compile/open_networks.h"

#include <cstring>

#include "onnx/proto.h"
#include "support/check.h"
#include "zoo/zoo.h"

namespace tenon::compile {
namespace {

namespace proto = onnx::proto;

void open(proto::ValueInfoProto& value, bool sequences) {
  auto* shape = value.mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(0)->set_dim_param("batch");
  if (sequences && shape->dim_size() != 1 && value.name() != "pooler_output") {
    shape->mutable_dim(1)->set_dim_param("seq");
  }
}

proto::TensorProto ints(const std::string& name, int64_t value) {
  proto::TensorProto t;
  t.set_name(name);
  t.set_data_type(7);
  t.add_dims(1);
  t.add_int64_data(value);
  return t;
}

proto::TensorProto* find(proto::GraphProto& g, const std::string& name) {
  for (proto::TensorProto& t : *g.mutable_initializer()) {
    if (t.name() == name) return &t;
  }
  return nullptr;
}

// Reshape to 0, 0, ..: as the first two axes are.
void copy_open_axes(proto::GraphProto& g) {
  for (const proto::NodeProto& n : g.node()) {
    if (n.op_type() != "Reshape") continue;
    proto::TensorProto* shape = find(g, n.input(1));
    TENON_CHECK(shape != nullptr);
    if (shape->has_raw_data()) {
      std::memset(shape->mutable_raw_data()->data(), 0, 2 * sizeof(int64_t));
    } else {
      shape->set_int64_data(0, 0);
      shape->set_int64_data(1, 0);
    }
  }
}

proto::NodeProto node(const std::string& op, std::initializer_list<std::string> inputs,
                      const std::string& output) {
  proto::NodeProto n;
  n.set_op_type(op);
  n.set_name(output);
  for (const std::string& i : inputs) n.add_input(i);
  n.add_output(output);
  return n;
}

// position_ids[0 : number of ids]
void cut_positions(proto::GraphProto& g) {
  const std::string positions = "embeddings.position_ids";
  TENON_CHECK(find(g, positions) != nullptr);
  for (proto::NodeProto& n : *g.mutable_node()) {
    for (std::string& input : *n.mutable_input()) {
      if (input == positions) input = "positions.now";
    }
  }
  *g.add_initializer() = ints("positions.zero", 0);
  *g.add_initializer() = ints("positions.one", 1);
  google::protobuf::RepeatedPtrField<proto::NodeProto> rest;
  rest.Swap(g.mutable_node());
  *g.add_node() = node("Shape", {"input_ids"}, "positions.shape");
  *g.add_node() = node("Gather", {"positions.shape", "positions.one"}, "positions.seq");
  *g.add_node() = node("Slice", {positions, "positions.zero", "positions.seq", "positions.zero"},
                       "positions.now");
  g.mutable_node()->MergeFrom(rest);
}

}  // namespace

std::string open_network(const std::string& name, int64_t image) {
  const bool sequences = name.starts_with("bert");
  const zoo::Architecture& a = zoo::find(name);
  proto::ModelProto m;
  TENON_CHECK(m.ParseFromString(
      zoo::model_bytes(a, {.batch = 1, .image = image, .tokens = a.tokens.most})));
  proto::GraphProto& g = *m.mutable_graph();
  for (auto& v : *g.mutable_input()) open(v, sequences);
  for (auto& v : *g.mutable_output()) open(v, sequences);
  g.clear_value_info();
  if (sequences) {
    copy_open_axes(g);
    cut_positions(g);
  }
  return m.SerializePartialAsString();
}

}  // namespace tenon::compile
