// SPDX-License-Identifier: Apache-2.0
#include "graph_fuzz/message.h"

#include "graph_fuzz/types.h"

namespace tenon::graph_fuzz {
namespace {

using Kind = proto::AttributeProto;

void set_attribute(proto::AttributeProto& a, int64_t v) {
  a.set_type(Kind::INT);
  a.set_i(v);
}
void set_attribute(proto::AttributeProto& a, float v) {
  a.set_type(Kind::FLOAT);
  a.set_f(v);
}
void set_attribute(proto::AttributeProto& a, const std::string& v) {
  a.set_type(Kind::STRING);
  a.set_s(v);
}
void set_attribute(proto::AttributeProto& a, const Ints& v) {
  a.set_type(Kind::INTS);
  for (const int64_t i : v) a.add_ints(i);
}
void set_attribute(proto::AttributeProto& a, const std::vector<float>& v) {
  a.set_type(Kind::FLOATS);
  for (const float f : v) a.add_floats(f);
}
void set_attribute(proto::AttributeProto& a, const std::vector<std::string>& v) {
  a.set_type(Kind::STRINGS);
  for (const std::string& s : v) a.add_strings(s);
}
void set_attribute(proto::AttributeProto& a, const ir::Array& v) {
  a.set_type(Kind::TENSOR);
  *a.mutable_t() = make_tensor("value", v);
}
void set_attribute(proto::AttributeProto& a, const proto::GraphProto& v) {
  a.set_type(Kind::GRAPH);
  *a.mutable_g() = v;
}

// What a subgraph reads of the graph around it.
std::set<std::string> names_from_outside(const proto::GraphProto& g) {
  std::set<std::string> inside, outside;
  for (const auto& i : g.input()) inside.insert(i.name());
  for (const auto& i : g.initializer()) inside.insert(i.name());
  const auto read = [&](const std::string& name) {
    if (!inside.contains(name)) outside.insert(name);
  };
  for (const auto& n : g.node()) {
    for (const std::string& name : names_read(n)) read(name);
    inside.insert(n.output().begin(), n.output().end());
  }
  for (const auto& o : g.output()) read(o.name());
  return outside;
}

}  // namespace

proto::TensorProto make_tensor(const std::string& name, const ir::Array& a) {
  proto::TensorProto t;
  t.set_name(name);
  t.set_data_type(onnx_number(a.dtype()));
  for (const int64_t e : a.shape()) t.add_dims(e);
  t.set_raw_data(a.data(), static_cast<size_t>(a.bytes()));
  return t;
}

proto::ValueInfoProto make_info(const std::string& name, const ir::Array& like) {
  proto::ValueInfoProto info;
  info.set_name(name);
  auto* type = info.mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx_number(like.dtype()));
  type->mutable_shape();
  for (const int64_t e : like.shape()) type->mutable_shape()->add_dim()->set_dim_value(e);
  return info;
}

proto::NodeProto make_node(const std::string& op, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs, const Attributes& attributes,
                           const std::string& domain) {
  proto::NodeProto n;
  n.set_op_type(op);
  n.set_domain(domain);
  for (const std::string& i : inputs) n.add_input(i);
  for (const std::string& o : outputs) n.add_output(o);
  for (const auto& [name, value] : attributes) {
    proto::AttributeProto* a = n.add_attribute();
    a->set_name(name);
    std::visit([&](const auto& v) { set_attribute(*a, v); }, value);
  }
  return n;
}

std::set<std::string> names_read(const proto::NodeProto& node) {
  std::set<std::string> names(node.input().begin(), node.input().end());
  for (const auto& a : node.attribute()) {
    if (a.has_g()) names.merge(names_from_outside(a.g()));
  }
  names.erase("");
  return names;
}

int64_t opset_of(const proto::ModelProto& m) {
  for (const auto& o : m.opset_import()) {
    if (o.domain().empty()) return o.version();
  }
  return 0;
}

}  // namespace tenon::graph_fuzz
